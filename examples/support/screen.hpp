// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <iostream>
#include <string>

#include <unistd.h>

#include <aftertouch/status.hpp>

/// \file
/// Output for a person: on a terminal progress stays in its line, elsewhere a line comes once a
/// second.

namespace support {

/// 200000 as 200,000
std::string grouped(std::integral auto number) {
    std::string text = std::to_string(number);
    for (std::size_t i = text.size(); i > 3; i -= 3) { text.insert(i - 3, ","); }
    return text;
}

/// `totals: following, 12 behind`
inline std::string progress_of(const aftertouch::Status& status) {
    std::string text = status.name + ": ";
    if (status.rebuild) {
        return text + grouped(status.rebuild->done) + " of " + grouped(status.rebuild->total);
    }
    text += name(status.state);
    if (status.state == aftertouch::State::rebuilding || !status.lag) { return text; }
    return text + ", " + grouped(status.lag->records) + " behind";
}

inline bool on_terminal() { return isatty(STDOUT_FILENO) == 1; }

/// Ends a line of progress that another process left open.
inline void end_of_progress() {
    if (on_terminal()) { std::cout << '\n'; }
}

class Progress {
public:
    /// Shows `line` in place of the one before; once a second where there is no terminal.
    void show(const std::string& line) {
        if (on_terminal()) {
            std::cout << "\r\33[K   " << line << std::flush;
        } else if (const auto now = Clock::now(); now - shown_ >= std::chrono::seconds{1}) {
            shown_ = now;
            std::cout << "   " << line << std::endl;
        }
    }

    /// Shows the last line.
    void end(const std::string& line) const {
        std::cout << (on_terminal() ? "\r\33[K   " : "   ") << line << std::endl;
    }

private:
    using Clock = std::chrono::steady_clock;
    Clock::time_point shown_{};
};

} // namespace support
