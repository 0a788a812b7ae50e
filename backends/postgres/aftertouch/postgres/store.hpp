// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <aftertouch/checkpoint.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/lane.hpp>
#include <aftertouch/postgres/dialect.hpp>
#include <aftertouch/postgres/position.hpp>
#include <aftertouch/postgres/prepared.hpp>
#include <aftertouch/postgres/statement.hpp>
#include <aftertouch/value.hpp>

/// \file
/// Keeps the checkpoint of one pipeline, and the marks that its reads begin at.

namespace aftertouch::postgres {

/// The checkpoint row of one pipeline.
class CheckpointStore {
public:
    CheckpointStore(Connection& connection, std::string pipeline)
        : connection_{&connection}, pipeline_{std::move(pipeline)} {}

    /// `marks` becomes what was stored beside it: right for the log that the text names.
    [[nodiscard]] std::optional<StoredCheckpoint> load(Marks& marks) {
        marks.clear();
        values_.assign({name()});
        const Answer answer = connection_->ask(dialect::load_checkpoint, values_);
        if (answer.rows() == 0) { return std::nullopt; }
        marks = Marks::from(answer.text(0, 3));
        return StoredCheckpoint{
            std::string{answer.text(0, 0)}, answer.number(0, 1), answer.number(0, 2)};
    }

    /// Writes the text over the row that still has `version`, or the first row if `version` is 0,
    /// and this transaction's own mark if `seen` was the log's last number before it wrote; and
    /// commits. Answers that mark.
    ///
    /// *Throws* `Error` (`fenced`) where another process was faster: then the server has skipped
    /// the COMMIT.
    std::optional<Mark> store_and_commit(std::string_view text, std::int64_t version,
        const Marks& marks, std::optional<std::int64_t> seen) {
        values_.assign({name(), Value{Cell::text(text)}});
        if (version != 0) { values_.emplace_back(Cell::integer(version)); }
        values_.emplace_back(Cell::text(marks.text()));
        if (seen) {
            values_.emplace_back(Cell::integer(*seen));
        } else {
            values_.emplace_back();
        }
        const Answer answer = version == 0
                                  ? commit_unless_outrun(dialect::create_checkpoint, "23505")
                                  : commit_unless_outrun(dialect::store_checkpoint, "22012");
        if (!seen) { return std::nullopt; }
        return Mark{static_cast<std::uint64_t>(answer.number(0, 1)), *seen};
    }

    /// Makes sure of a lane's part, first in its transaction; false where it is another one's, or
    /// handled. *Throws* as `store_and_commit`.
    [[nodiscard]] bool claim_lane(const LaneShare& share) {
        set_values(share);
        if (share.claim == Claim::if_free) {
            return connection_->ask(dialect::claim_lane, values_).rows() != 0;
        }
        return unless_outrun("22012", [&] {
            return connection_->ask(dialect::await_lane, values_);
        }).number(0, 0) != 0;
    }
    /// Notes that a lane has handled its part, and commits. *Throws* as `store_and_commit`.
    void finish_lane_and_commit(const LaneShare& share) {
        set_values(share);
        static_cast<void>(commit_unless_outrun(dialect::finish_lane, "22012"));
    }
    /// The lanes that have handled their part of a deal.
    [[nodiscard]] std::vector<std::size_t> finished_lanes(std::int64_t deal) {
        values_.assign({name(), Value{Cell::integer(deal)}});
        const Answer answer = connection_->ask(dialect::finished_lanes, values_);
        std::vector<std::size_t> lanes;
        lanes.reserve(answer.rows());
        for (std::size_t i = 0; i < answer.rows(); ++i) {
            lanes.push_back(static_cast<std::size_t>(answer.number(i, 0)));
        }
        return lanes;
    }

    /// Notes that this transaction is the pipeline's own, if it has written behind the log's number
    /// `last`.
    void mark_own_changes(std::int64_t last) {
        values_.assign({name(), Value{Cell::integer(last)}});
        connection_->run(dialect::mark_own, values_);
    }

    /// Notes how often the batch behind the checkpoint with this version has failed.
    void count_attempt(std::int64_t version, std::int64_t attempts) {
        values_.assign({name(), Value{Cell::integer(version)}, Value{Cell::integer(attempts)}});
        connection_->run(dialect::count_attempt, values_);
    }

private:
    [[nodiscard]] Answer commit_unless_outrun(std::string_view sql, std::string_view faster) {
        return unless_outrun(faster, [&] { return connection_->ask_and_commit(sql, values_); });
    }
    // `faster` is what the statement says where another process was. What the COMMIT itself says is
    // another thing: a constraint that was deferred, say.
    template <class Ask>
    [[nodiscard]] Answer unless_outrun(std::string_view faster, Ask ask) {
        try {
            return ask();
        } catch (const Error& error) {
            if (error.native_code() != detail::packed(faster) || error.statement() == "COMMIT") {
                throw;
            }
        }
        throw Error{Errc::fenced, "pipeline " + pipeline_ +
                                      " was moved on by another process over the same database: "
                                      "run it in one process, give each its own name, or set "
                                      "Options::lease in all of them"};
    }

    void set_values(const LaneShare& share) {
        values_.assign({name(), Value{Cell::integer(share.version)},
            Value{Cell::integer(static_cast<std::int64_t>(share.lane))},
            Value{Cell::integer(share.deal)}});
    }
    [[nodiscard]] Value name() const { return Value{Cell::text(pipeline_)}; }

    Connection* connection_;
    std::string pipeline_;
    std::vector<Value> values_;
};

} // namespace aftertouch::postgres
