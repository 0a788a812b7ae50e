// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// \file
/// What a connection is made with, and what of it may be told. No client library.

namespace aftertouch::postgres {

/// How a database is reached: keywords and values of libpq ("host", "dbname", "user", ...), each
/// value taken as it is.
using Parameters = std::vector<std::pair<std::string, std::string>>;

/// How a database is used.
struct Options {
    /// How long a call waits for a lock that somebody else holds before it fails as `busy`.
    std::chrono::milliseconds lock_timeout{5000};
    /// Keeps statements prepared and settings in the session. That is off by itself behind a
    /// pooler that is seen to be one (PgBouncer is): it may give each transaction another session.
    bool prepare = true;
};

namespace detail {

[[nodiscard]] inline std::string value_of(const Parameters& parameters, std::string_view keyword) {
    std::string found;
    for (const auto& [name, value] : parameters) {
        if (name == keyword) { found = value; }
    }
    return found;
}

/// Whether a host is on another machine, so that its name must be proved.
[[nodiscard]] inline bool is_remote(std::string_view host) noexcept {
    return !host.empty() && host.front() != '/' && host.front() != '@' && host != "localhost" &&
           host != "::1" && !host.starts_with("127.");
}

/// `text` without the secrets of a connection.
[[nodiscard]] inline std::string redacted(std::string text, const Parameters& parameters) {
    for (const std::string_view keyword : {"password", "sslpassword"}) {
        const std::string secret = value_of(parameters, keyword);
        std::size_t at = 0;
        while (!secret.empty() && (at = text.find(secret, at)) != std::string::npos) {
            text.replace(at, secret.size(), "...");
            at += 3;
        }
    }
    while (text.ends_with('\n')) { text.pop_back(); }
    return text;
}

} // namespace detail

} // namespace aftertouch::postgres
