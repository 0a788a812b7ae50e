// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <unistd.h>

#include <aftertouch/postgres.hpp>

/// \file
/// A PostgreSQL server of one test alone, which may restart it, copy it, and so on.

namespace test {

/// Started by tests/support/postgres; ended and removed with this object.
class OwnServer {
public:
    /// A new one. `name` keeps it apart from others of this process.
    explicit OwnServer(const std::string& name) : OwnServer{name, nullptr} { run("start"); }
    OwnServer(const OwnServer&) = delete;
    OwnServer& operator=(const OwnServer&) = delete;
    ~OwnServer() {
        try {
            run("stop");
        } catch (const std::exception&) {
            // It is gone already.
        }
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    /// Ends it in a mode of pg_ctl ("fast", "immediate") and starts it again.
    void restart(const std::string& mode) { run("restart", mode); }
    /// Sets its next transaction number back.
    void reset_xid(int by) { run("reset_xid", std::to_string(by)); }
    /// Makes a standby a server of its own.
    void promote() { run("promote"); }

    /// One with a copy of its files, as they are after a crash.
    [[nodiscard]] OwnServer copy(const std::string& name) { return OwnServer{name, this, "copy"}; }
    /// A standby of it.
    [[nodiscard]] OwnServer standby(const std::string& name) {
        return OwnServer{name, this, "standby"};
    }

    [[nodiscard]] aftertouch::postgres::Parameters parameters(
        const std::string& database = "postgres") const {
        std::ifstream in{folder_ + "/postgres.socket"};
        std::string host;
        std::getline(in, host);
        return {{"host", host}, {"user", "postgres"}, {"dbname", database}};
    }

private:
    OwnServer(const std::string& name, std::nullptr_t)
        : folder_{std::filesystem::absolute(name + '-' + std::to_string(getpid())).string()} {}
    OwnServer(const std::string& name, OwnServer* from, const std::string& how)
        : OwnServer{name, nullptr} {
        from->run(how, folder_);
    }

    void run(const std::string& action, const std::string& argument = {}) const {
        const std::string command = "'" AFTERTOUCH_SOURCE_DIR "/tests/support/postgres' " + action +
                                    " '" + folder_ + "' '" + argument + "'";
        if (std::system(command.c_str()) != 0) { // NOLINT: words of this file alone
            throw std::runtime_error{"failed: " + command};
        }
    }

    std::string folder_;
};

} // namespace test
