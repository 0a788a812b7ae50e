// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/checkpoint.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/sqlite/dialect.hpp>
#include <aftertouch/sqlite/prepared.hpp>
#include <aftertouch/sqlite/statement.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Keeps the checkpoint of one pipeline.

namespace aftertouch::sqlite {

/// The checkpoint row of one pipeline.
class CheckpointStore {
public:
    CheckpointStore(Connection& connection, const std::string& schema, std::string pipeline)
        : connection_{&connection},
          pipeline_{std::move(pipeline)},
          load_{dialect::load_checkpoint(schema)},
          store_{dialect::store_checkpoint(schema)},
          create_{dialect::create_checkpoint(schema)},
          count_attempt_{dialect::count_attempt(schema)} {}

    [[nodiscard]] std::optional<StoredCheckpoint> load() {
        std::optional<StoredCheckpoint> found;
        values_.assign({name()});
        connection_->each(load_, values_, [&](const Statement& row) {
            found = StoredCheckpoint{
                std::string{row[0].bytes()}, row[1].as_integer(), row[2].as_integer()};
            return false;
        });
        return found;
    }

    /// Writes the text over the row that still has `version`, or the first row if `version` is 0.
    ///
    /// *Throws* `Error` (`fenced`) where another process was faster: then nothing of this
    /// transaction may stay.
    void store(std::string_view text, std::int64_t version) {
        values_.assign({name(), Value{Cell::text(text)}});
        if (version == 0) {
            try {
                connection_->run(create_, values_);
            } catch (const Error& error) {
                if (error.code() != Errc::constraint) { throw; }
                refuse();
            }
            return;
        }
        values_.emplace_back(Cell::integer(version));
        if (connection_->run(store_, values_) != 1) { refuse(); }
    }

    /// Counts one more failure of the batch behind the checkpoint with this version.
    void count_attempt(std::int64_t version) {
        values_.assign({name(), Value{Cell::integer(version)}});
        connection_->run(count_attempt_, values_);
    }

private:
    [[nodiscard]] Value name() const { return Value{Cell::text(pipeline_)}; }

    [[noreturn]] void refuse() const {
        throw Error{Errc::fenced, "pipeline " + pipeline_ +
                                      " was moved on by another process over the same database: "
                                      "run it in one process, or "
                                      "give each its own name"};
    }

    Connection* connection_;
    std::string pipeline_;
    std::string load_;
    std::string store_;
    std::string create_;
    std::string count_attempt_;
    std::vector<Value> values_;
};

} // namespace aftertouch::sqlite
