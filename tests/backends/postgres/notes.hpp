// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <support/catch.hpp>

#include "server.hpp"

/// \file
/// What is captured of a table `item`, as short texts: `I1+a` says that the row 1 was inserted,
/// with the name a.

namespace captured {

struct Item {
    std::int64_t id = 0;
    std::string name;
    std::optional<double> price;
    friend bool operator==(const Item&, const Item&) = default;
};

} // namespace captured

namespace test {

using captured::Item;
using Texts = std::vector<std::string>;

/// A database with the table item, and a pipeline that notes what is captured.
template <class Source>
struct Notes {
    Texts told;
    at::Pipeline<Source, std::function<void(const at::Batch<Item>&, Tx&)>, Database> pipeline;

    Notes(Database& database, Source source, std::string name)
        : pipeline{std::move(source),
              [this](const at::Batch<Item>& batch, Tx&) {
                  for (const at::Change<Item>& change : batch.changes()) {
                      std::string text{static_cast<char>(change.operation())};
                      text += std::to_string(change.key());
                      if (change.before() != nullptr) { text += '-' + change.before()->name; }
                      if (change.after() != nullptr) { text += '+' + change.after()->name; }
                      told.push_back(text);
                  }
              },
              database, named(std::move(name))} {}

    /// What was captured since the last call.
    Texts take() {
        told.clear();
        pipeline.drain();
        return told;
    }
};

struct Captured {
    Shop shop;
    Database& database = shop.database;
    Notes<at::Source<Item>> touches{database, at::source<Item>(), "touches"};
    Notes<at::Source<Item, at::CaptureMode::images>> images{
        database, at::source<Item>().images(), "images"};

    explicit Captured(const std::string& table =
                          "CREATE TABLE item (id bigint PRIMARY KEY, name text, price float8)") {
        database.execute(table);
        touches.take();
        images.take();
    }
    void check(const std::string& sql, const Texts& touched, const Texts& imaged) {
        INFO(sql);
        database.execute(sql);
        CHECK(touches.take() == touched);
        CHECK(images.take() == imaged);
    }
};

} // namespace test
