// SPDX-License-Identifier: MIT
#pragma once

#include <exception>
#include <utility>

#include <aftertouch/batch.hpp>
#include <aftertouch/batch_writer.hpp>
#include <aftertouch/detail/handler_scope.hpp>
#include <aftertouch/error.hpp>
#include <aftertouch/handler.hpp>
#include <aftertouch/options.hpp>

/// \file
/// Calls a pipeline's handler, in the transaction of a session.

namespace aftertouch::detail {

/// *Threads*: any, where the handler bears it.
template <class S, class H, class B>
class HandlerCaller {
public:
    using T = typename S::Record;

    HandlerCaller(H to_call, const B& database, const Options& options)
        : handler_{std::move(to_call)}, database_{database}, options_{options} {}

    [[nodiscard]] H& handler() noexcept { return handler_; }
    [[nodiscard]] HandlerScope scope() const noexcept { return HandlerScope{&database_}; }

    template <class Transaction>
    void hand_over(const Batch<T>& batch, Transaction& tx) {
        if (batch.changes().empty()) { return; }
        detail::hand_over<S::mode>(handler_, batch, tx);
        if (const auto error = BatchWriter<T>::failed_read(batch)) {
            std::rethrow_exception(error);
        }
    }

    /// Runs `work(transaction)`, which calls the handler. What that does must stay inside the
    /// transaction that was begun for it (K2). `inside` is true until it has come back.
    template <class Session, class Work>
    void run(Session& session, bool& inside, Work work) {
        inside = true;
        try {
            const HandlerScope scope{&database_};
            work(session.transaction());
        } catch (const Error& error) {
            // Said below, where the pipeline is known.
            if (error.code() != Errc::transaction_lost || session.intact()) { throw; }
        }
        if (session.intact()) {
            inside = false;
            return;
        }
        throw Error{Errc::transaction_lost,
            "the handler of pipeline " + options_.name +
                " ended the batch's transaction (a COMMIT, a ROLLBACK, or an "
                "error that made the database roll back): the batch comes again, and the handler "
                "must leave it open"};
    }

private:
    H handler_;
    const B& database_;
    const Options& options_;
};

} // namespace aftertouch::detail
