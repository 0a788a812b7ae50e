// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

/// \file
/// A program that takes part in a soak.

namespace soak {

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
    /// Holds it where it stands, and lets it go on.
    void freeze() const { signal(SIGSTOP); }
    void thaw() const { signal(SIGCONT); }
    /// Asks it to end in order.
    void ask_to_end() const { signal(SIGTERM); }

    /// The most memory that it ever held.
    [[nodiscard]] std::int64_t peak_kilobytes() const {
        std::ifstream file{"/proc/" + std::to_string(id_) + "/status"};
        for (std::string line; std::getline(file, line);) {
            if (line.starts_with("VmHWM:")) { return std::atoll(line.c_str() + 6); }
        }
        return 0;
    }

private:
    void signal(int number) const {
        if (id_ > 0) { ::kill(id_, number); }
    }

    pid_t id_ = 0;
    int status_ = 0;
};

} // namespace soak
