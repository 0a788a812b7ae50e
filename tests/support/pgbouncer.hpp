// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <csignal>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <aftertouch/postgres.hpp>

/// \file
/// A PgBouncer of a test's own, in front of the tests' server.

namespace test {

namespace at = aftertouch;

/// PgBouncer in transaction mode: each transaction gets another one of a few server connections, in
/// turn. It listens on a socket in a temporary folder, and goes with this object.
class PgBouncer {
public:
    /// The program; empty where it isn't installed.
    [[nodiscard]] static std::string program() {
        for (const char* path :
            {"/usr/sbin/pgbouncer", "/usr/bin/pgbouncer", "/usr/local/bin/pgbouncer"}) {
            if (access(path, X_OK) == 0) { return path; }
        }
        return {};
    }

    /// In front of one database. PgBouncer refuses to run as root: it runs as postgres, or nobody.
    explicit PgBouncer(at::postgres::Parameters server) {
        std::string folder = std::filesystem::temp_directory_path() / "aftertouch-pool.XXXXXX";
        if (mkdtemp(folder.data()) == nullptr) { throw std::runtime_error{"mkdtemp failed"}; }
        folder_ = folder;
        name_ = at::postgres::detail::value_of(server, "dbname");
        const std::string target = "host=" + at::postgres::detail::value_of(server, "host") +
                                   " dbname=" + name_ +
                                   " user=" + at::postgres::detail::value_of(server, "user");
        std::ofstream{folder_ / "ini"} << "[databases]\n"
                                       << name_ << " = " << target
                                       << "\n[pgbouncer]\npool_mode = transaction\nauth_type = "
                                          "any\nlisten_addr =\nlisten_port = 6432\n"
                                          "default_pool_size = 4\nserver_round_robin = 1\n"
                                          "ignore_startup_parameters = extra_float_digits\n"
                                          "unix_socket_dir = "
                                       << folder_.string()
                                       << "\nlogfile = " << (folder_ / "log").string() << '\n';
        start();
    }
    PgBouncer(const PgBouncer&) = delete;
    PgBouncer& operator=(const PgBouncer&) = delete;
    ~PgBouncer() {
        if (child_ > 0) {
            kill(child_, SIGKILL);
            waitpid(child_, nullptr, 0);
        }
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    /// How a program reaches the database through it.
    [[nodiscard]] at::postgres::Parameters parameters() const {
        return {{"host", folder_.string()}, {"port", "6432"}, {"dbname", name_}, {"user", "pool"}};
    }

private:
    void start() {
        const passwd* user = nullptr;
        if (geteuid() == 0) {
            user = getpwnam("postgres");
            if (user == nullptr) { user = getpwnam("nobody"); }
            if (user == nullptr || chown(folder_.c_str(), user->pw_uid, user->pw_gid) != 0) {
                throw std::runtime_error{"there is no user to run pgbouncer as"};
            }
        }
        const std::string path = program();
        const std::string ini = folder_ / "ini";
        child_ = fork();
        if (child_ == 0) {
            const bool fine =
                user == nullptr || (setgid(user->pw_gid) == 0 && setuid(user->pw_uid) == 0);
            std::array<char*, 4> arguments{const_cast<char*>(path.c_str()), const_cast<char*>("-q"),
                const_cast<char*>(ini.c_str()), nullptr};
            if (fine) { execv(path.c_str(), arguments.data()); }
            _exit(127);
        }
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
        while (!answers()) {
            if (waitpid(child_, nullptr, WNOHANG) == child_) { child_ = -1; }
            if (child_ < 0 || std::chrono::steady_clock::now() > deadline) {
                std::ifstream log{folder_ / "log"};
                throw std::runtime_error{"pgbouncer didn't start: " +
                                         std::string{std::istreambuf_iterator<char>{log}, {}}};
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }

    [[nodiscard]] bool answers() const {
        try {
            const at::postgres::Handle handle{parameters()};
            return true;
        } catch (const at::Error&) { return false; }
    }

    std::filesystem::path folder_;
    std::string name_;
    pid_t child_ = -1;
};

} // namespace test
