// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <support/soak.hpp>

/// \file
/// What one course of the soak is, what it came to, and a program that takes part in it.

namespace soak {

/// `AFTERTOUCH_SOAK`: `night`, or how many changes.
[[nodiscard]] inline std::int64_t wanted_changes() {
    const char* text = std::getenv("AFTERTOUCH_SOAK");
    if (text == nullptr) { return 200'000; }
    return test::is_night() ? 10'000'000 : std::max(1'000LL, std::atoll(text));
}

struct Course {
    bool wal = true;
    std::int64_t changes = 0;
    int writers = 3;
    std::vector<std::string> follower{}; ///< words for the follower
    std::string sabotage{};   ///< SQL behind the library's back, before the writers begin
    bool drop_guards = false; ///< the triggers against REPLACE are taken off
    std::uint64_t seed = test::chosen_seed();
};

struct Verdict {
    std::uint64_t seed = 0;
    std::int64_t changes = 0;
    std::int64_t handled = 0;
    int kills = 0;
    std::int64_t pruned = 0;
    std::int64_t log_rows_at_end = 0;
    std::int64_t peak_kilobytes = 0; ///< of a follower's memory
    std::chrono::milliseconds drained_in{};
    std::vector<std::string> faults{};

    [[nodiscard]] std::string text() const {
        std::string all = "AFTERTOUCH_SEED=" + std::to_string(seed) + ": " +
                          std::to_string(changes) + " changes, " + std::to_string(handled) +
                          " entries, " + std::to_string(kills) + " kills, " +
                          std::to_string(pruned) + " prunings, drained in " +
                          std::to_string(drained_in.count()) + " ms, peak " +
                          std::to_string(peak_kilobytes) + " kB";
        for (std::size_t i = 0; i < faults.size() && i < 5; ++i) { all += "; " + faults[i]; }
        return all;
    }
};

/// A program of the soak. Killed, if it runs, when this object ends.
class Program {
public:
    Program(const std::string& name, std::vector<std::string> words) {
        std::string path = AFTERTOUCH_PROGRAMS "/";
        path += name;
        std::vector<char*> pointers{path.data()};
        for (std::string& word : words) { pointers.push_back(word.data()); }
        pointers.push_back(nullptr);
        id_ = fork();
        if (id_ == 0) {
            execv(pointers[0], pointers.data());
            _exit(127);
        }
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() { kill(); }

    /// Whether it ended by itself.
    [[nodiscard]] bool ended() {
        if (id_ > 0 && waitpid(id_, &status_, WNOHANG) == id_) { id_ = 0; }
        return id_ == 0;
    }
    /// Waits for its end; its exit code, or -1 for a signal.
    int wait() {
        if (id_ > 0) {
            waitpid(id_, &status_, 0);
            id_ = 0;
        }
        return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
    }
    void kill() {
        if (id_ <= 0) { return; }
        ::kill(id_, SIGKILL);
        wait();
    }
    /// The most memory that it ever held.
    [[nodiscard]] std::int64_t peak_kilobytes() const {
        std::ifstream file{"/proc/" + std::to_string(id_) + "/status"};
        for (std::string line; std::getline(file, line);) {
            if (line.starts_with("VmHWM:")) { return std::atoll(line.c_str() + 6); }
        }
        return 0;
    }

private:
    pid_t id_ = 0;
    int status_ = 0;
};

} // namespace soak
