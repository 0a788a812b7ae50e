// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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
        connection_->each(load_, std::array{name()}, [&](const Statement& row) {
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
        if (version == 0) {
            try {
                connection_->run(create_, std::array{name(), Cell::text(text)});
            } catch (const Error& error) {
                if (error.code() != Errc::constraint) { throw; }
                refuse();
            }
            return;
        }
        const std::array values{name(), Cell::text(text), Cell::integer(version)};
        if (connection_->run(store_, values) != 1) { refuse(); }
    }

    /// Counts one more failure of the batch behind the checkpoint with this version.
    void count_attempt(std::int64_t version, std::int64_t attempts) {
        connection_->run(
            count_attempt_, std::array{name(), Cell::integer(version), Cell::integer(attempts)});
    }

private:
    [[nodiscard]] Cell name() const noexcept { return Cell::text(pipeline_); }

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
};

} // namespace aftertouch::sqlite
