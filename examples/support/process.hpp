// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <csignal>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

/// \file
/// Another program, started with the parent's output and, if wanted, with a pipe to its input.

namespace support {

class Process {
public:
    explicit Process(std::vector<std::string> command, bool with_input = false) {
        int ends[2] = {-1, -1};
        if (with_input && pipe(ends) != 0) { fail("pipe"); }
        // Other children must not keep the pipe open.
        for (const int end : ends) { fcntl(end, F_SETFD, FD_CLOEXEC); }
        child_ = fork();
        if (child_ < 0) { fail("fork"); }
        if (child_ == 0) {
            if (with_input) { dup2(ends[0], STDIN_FILENO); }
            std::vector<char*> arguments;
            for (std::string& argument : command) { arguments.push_back(argument.data()); }
            arguments.push_back(nullptr);
            execvp(arguments[0], arguments.data());
            _exit(127); // there is no such program
        }
        if (with_input) { close(ends[0]); }
        input_ = ends[1];
    }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process() {
        if (child_ > 0) {
            ::kill(child_, SIGKILL);
            static_cast<void>(wait());
        }
    }

    void send(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t written = write(input_, text.data(), text.size());
            if (written < 0 && errno != EINTR) { fail("write to the other process"); }
            text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
        }
    }

    void kill(int signal) const { ::kill(child_, signal); }

    /// Whether it has not ended by itself.
    [[nodiscard]] bool running() const {
        siginfo_t ended{};
        return waitid(P_PID, static_cast<id_t>(child_), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
               ended.si_pid == 0;
    }

    /// Ends its input, waits for its end; answers its exit status, or -signal.
    [[nodiscard]] int wait() {
        if (input_ >= 0) { close(input_); }
        input_ = -1;
        int status = 0;
        while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {}
        child_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

private:
    [[noreturn]] static void fail(const char* what) {
        throw std::system_error{errno, std::generic_category(), what};
    }

    pid_t child_ = -1;
    int input_ = -1;
};

/// Waits a tenth of a second, or until whoever writes to this program's input has closed it or is
/// gone.
inline bool input_has_ended() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char ignored = 0;
    return poll(&input, 1, 100) > 0 && read(STDIN_FILENO, &ignored, 1) == 0;
}

} // namespace support
