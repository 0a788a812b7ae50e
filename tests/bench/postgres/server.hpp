// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <libpq-fe.h>

#include <measure.hpp>

/// \file
/// A connection by hand, without the library, and what the server's side of connections costs. The
/// environment (PGHOST, PGDATABASE) says where.

namespace bench {

/// What went wrong ends the bench.
[[noreturn]] inline void give_up(const std::string& what) {
    std::fprintf(stderr, "bench: %s\n", what.c_str());
    std::exit(1);
}

/// CPU seconds that a process of the server has had (proc(5), schedstat).
[[nodiscard]] inline double cpu_of_process(int pid) {
    std::ifstream file{"/proc/" + std::to_string(pid) + "/schedstat"};
    double nanoseconds = 0;
    if (!(file >> nanoseconds)) { give_up("the kernel has no schedstat of the server's process"); }
    return nanoseconds * 1e-9;
}

class Plain {
public:
    struct Clear {
        void operator()(PGresult* result) const noexcept { PQclear(result); }
    };
    using Result = std::unique_ptr<PGresult, Clear>;

    explicit Plain(const std::string& name = "bench")
        : connection_{PQconnectdb(("application_name=" + name).c_str())} {
        if (PQstatus(get()) != CONNECTION_OK) { give_up(PQerrorMessage(get())); }
        PQsetNoticeReceiver(get(), [](void*, const PGresult*) {}, nullptr);
    }

    [[nodiscard]] PGconn* get() const noexcept { return connection_.get(); }
    /// CPU seconds of the server's process.
    [[nodiscard]] double cpu() const { return cpu_of_process(PQbackendPID(get())); }

    Result run(const std::string& sql) { return checked(PQexec(get(), sql.c_str())); }
    [[nodiscard]] std::string text(const std::string& sql) {
        const Result result = run(sql);
        return PQntuples(result.get()) == 0 ? std::string{} : PQgetvalue(result.get(), 0, 0);
    }

    void prepare(const char* name, const std::string& sql) {
        checked(PQprepare(get(), name, sql.c_str(), 0, nullptr));
    }

    /// Sends a prepared statement in a pipeline; its rows come in binary.
    void send(const char* name, const std::vector<const char*>& values = {}) {
        if (PQsendQueryPrepared(get(), name, static_cast<int>(values.size()), values.data(),
                nullptr, nullptr, 1) != 1) {
            give_up(PQerrorMessage(get()));
        }
    }
    /// The answer of the next statement of the pipeline.
    Result next() {
        Result result = checked(PQgetResult(get()));
        PQclear(PQgetResult(get()));
        return result;
    }
    void sync() { PQpipelineSync(get()); }
    void synced() { checked(PQgetResult(get())); }

    Result checked(PGresult* raw) const {
        Result result{raw};
        switch (PQresultStatus(raw)) {
            case PGRES_COMMAND_OK:
            case PGRES_TUPLES_OK:
            case PGRES_COPY_IN:
            case PGRES_PIPELINE_SYNC: return result;
            default: give_up(PQerrorMessage(get()));
        }
    }

private:
    struct Finish {
        void operator()(PGconn* connection) const noexcept { PQfinish(connection); }
    };
    std::unique_ptr<PGconn, Finish> connection_;
};

/// CPU seconds of `work()` on this thread and in the server's processes for connections of that
/// name, which must be open before and behind.
template <class Work>
[[nodiscard]] double cpu_with_server(Plain& admin, const std::string& name, Work work) {
    const Plain::Result pids =
        admin.run("SELECT pid FROM pg_stat_activity WHERE application_name = '" + name + "'");
    const auto server = [&] {
        double sum = 0;
        for (int i = 0; i < PQntuples(pids.get()); ++i) {
            sum += cpu_of_process(std::atoi(PQgetvalue(pids.get(), i, 0)));
        }
        return sum;
    };
    const double before = server() + cpu_seconds();
    work();
    return server() + cpu_seconds() - before;
}

/// A big-endian integer of a binary answer.
template <class Integer>
[[nodiscard]] Integer integer(const PGresult* result, int row, int column) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(PQgetvalue(result, row, column));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i) { value = value << 8 | bytes[i]; }
    return static_cast<Integer>(value);
}

} // namespace bench
