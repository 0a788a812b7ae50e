// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

/// \file
/// Dates and times as ISO 8601 text and back, in UTC and the proleptic Gregorian calendar.

namespace aftertouch {

namespace detail {

inline constexpr std::int64_t us_per_second = 1'000'000;
inline constexpr std::int64_t us_per_day = 86'400 * us_per_second;

struct Civil {
    std::int64_t year = 1970;
    std::int64_t month = 1;
    std::int64_t day = 1;
};

[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
    return a / b - (a % b < 0 ? 1 : 0);
}

/// What floor_div() leaves, from 0 to below `b`.
[[nodiscard]] constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) noexcept {
    return a % b + (a % b < 0 ? b : 0);
}

/// Days since 1970-01-01. Years begin in March here, so that the leap day comes last.
[[nodiscard]] constexpr std::int64_t days_from(Civil civil) noexcept {
    const std::int64_t year = civil.year - (civil.month <= 2 ? 1 : 0);
    const std::int64_t era = floor_div(year, 400);
    const std::int64_t year_of_era = year - era * 400;
    const std::int64_t month = (civil.month + 9) % 12;
    const std::int64_t day_of_year = (153 * month + 2) / 5 + civil.day - 1;
    const std::int64_t leap_days = year_of_era / 4 - year_of_era / 100;
    return era * 146'097 + year_of_era * 365 + leap_days + day_of_year - 719'468;
}

[[nodiscard]] constexpr Civil civil_from(std::int64_t days) noexcept {
    days += 719'468;
    const std::int64_t era = floor_div(days, 146'097);
    const std::int64_t day = days - era * 146'097;
    const std::int64_t year = (day - day / 1'460 + day / 36'524 - day / 146'096) / 365;
    const std::int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
    const std::int64_t march_month = (5 * day_of_year + 2) / 153;
    const std::int64_t month = march_month < 10 ? march_month + 3 : march_month - 9;
    return {year + era * 400 + (month <= 2 ? 1 : 0), month,
        day_of_year - (153 * march_month + 2) / 5 + 1};
}

inline void append_padded(std::string& out, std::int64_t number, std::size_t width) {
    const std::string digits = std::to_string(number);
    out.append(digits.size() < width ? width - digits.size() : 0, '0').append(digits);
}

inline void append_date(std::string& out, std::int64_t days) {
    const Civil civil = civil_from(days);
    const bool signed_year = civil.year < 0 || civil.year > 9999;
    out.append(signed_year ? (civil.year < 0 ? "-" : "+") : "");
    append_padded(out, civil.year < 0 ? -civil.year : civil.year, 4);
    out += '-';
    append_padded(out, civil.month, 2);
    out += '-';
    append_padded(out, civil.day, 2);
}

/// Takes text off the front of a view; after the first thing that doesn't fit, nothing fits.
class TimeReader {
public:
    explicit constexpr TimeReader(std::string_view text) noexcept : rest_{text} {}

    [[nodiscard]] constexpr bool done() const noexcept { return good_ && rest_.empty(); }
    [[nodiscard]] constexpr bool good() const noexcept { return good_; }
    constexpr void refuse() noexcept { good_ = false; }

    [[nodiscard]] constexpr char peek() const noexcept { return rest_.empty() ? '\0' : rest_[0]; }

    [[nodiscard]] constexpr bool take(char c) noexcept {
        if (!good_ || peek() != c || rest_.empty()) { return false; }
        rest_.remove_prefix(1);
        return true;
    }

    constexpr void expect(char c) noexcept { good_ = take(c); }

    /// Between `least` and `most` digits.
    constexpr std::int64_t digits(std::size_t least, std::size_t most) noexcept {
        std::int64_t number = 0;
        std::size_t taken = 0;
        for (; taken < most && peek() >= '0' && peek() <= '9'; ++taken) {
            number = number * 10 + (peek() - '0');
            rest_.remove_prefix(1);
        }
        good_ = good_ && taken >= least;
        return number;
    }

    constexpr std::int64_t two_digits(std::int64_t least, std::int64_t most) noexcept {
        const std::int64_t number = digits(2, 2);
        good_ = good_ && number >= least && number <= most;
        return number;
    }

private:
    std::string_view rest_;
    bool good_ = true;
};

/// YYYY-MM-DD, the year with a sign when it needs more than four digits or is before year 0.
constexpr std::int64_t read_date(TimeReader& reader) noexcept {
    const bool minus = reader.take('-');
    const bool signed_year = minus || reader.take('+');
    Civil civil;
    civil.year = reader.digits(4, signed_year ? 7 : 4) * (minus ? -1 : 1);
    reader.expect('-');
    civil.month = reader.two_digits(1, 12);
    reader.expect('-');
    civil.day = reader.two_digits(1, 31);
    const std::int64_t days = days_from(civil);
    if (civil_from(days).day != civil.day) { // the 30th of February
        reader.refuse();
    }
    return days;
}

/// The digits behind the point, in microseconds; those behind the sixth are refused if not zero.
constexpr std::int64_t read_fraction(TimeReader& reader) noexcept {
    std::int64_t unit = us_per_second / 10;
    std::int64_t fraction = unit * reader.digits(1, 1);
    while ((unit /= 10) > 0) { fraction += unit * reader.digits(0, 1); }
    while (reader.take('0')) {}
    return fraction;
}

/// HH:MM[:SS[.f..]], in microseconds.
constexpr std::int64_t read_time(TimeReader& reader) noexcept {
    std::int64_t seconds = reader.two_digits(0, 23) * 3600;
    reader.expect(':');
    seconds += reader.two_digits(0, 59) * 60;
    std::int64_t fraction = 0;
    if (reader.take(':')) {
        seconds += reader.two_digits(0, 59);
        if (reader.take('.')) { fraction = read_fraction(reader); }
    }
    return seconds * us_per_second + fraction;
}

/// Nothing, Z, +hh or +hh:mm, in microseconds to be subtracted.
constexpr std::int64_t read_offset(TimeReader& reader) noexcept {
    if (reader.take('Z')) { return 0; }
    const bool minus = reader.take('-');
    if (!minus && !reader.take('+')) { return 0; }
    std::int64_t minutes = reader.two_digits(0, 23) * 60;
    if (reader.take(':')) { minutes += reader.two_digits(0, 59); }
    return minutes * 60 * us_per_second * (minus ? -1 : 1);
}

/// days * us_per_day + us, nothing if that is beyond 64 bits.
[[nodiscard]] constexpr std::optional<std::int64_t> microseconds(
    std::int64_t days, std::int64_t us) noexcept {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
    days += floor_div(us, us_per_day);
    us = floor_mod(us, us_per_day);
    if (days < 0) { // the day's end is nearer to zero than its beginning
        const std::int64_t back = us - us_per_day;
        const bool fits = days + 1 >= (least - back) / us_per_day;
        return fits ? std::optional{(days + 1) * us_per_day + back} : std::nullopt;
    }
    const bool fits = days <= (most - us) / us_per_day;
    return fits ? std::optional{days * us_per_day + us} : std::nullopt;
}

} // namespace detail

/// "YYYY-MM-DD" for days since 1970-01-01; "+12345-01-01" and "-0044-03-15" beyond four digits.
[[nodiscard]] inline std::string iso_date(std::int32_t days) {
    std::string out;
    detail::append_date(out, days);
    return out;
}

/// "YYYY-MM-DD HH:MM:SS.ffffff" for microseconds since 1970-01-01 00:00 UTC.
[[nodiscard]] inline std::string iso_timestamp(std::int64_t us) {
    const std::int64_t seconds = detail::floor_mod(us, detail::us_per_day) / detail::us_per_second;
    std::string out;
    detail::append_date(out, detail::floor_div(us, detail::us_per_day));
    out += ' ';
    detail::append_padded(out, seconds / 3600, 2);
    out += ':';
    detail::append_padded(out, seconds / 60 % 60, 2);
    out += ':';
    detail::append_padded(out, seconds % 60, 2);
    out += '.';
    detail::append_padded(out, detail::floor_mod(us, detail::us_per_second), 6);
    return out;
}

/// Days since 1970-01-01 of "YYYY-MM-DD", nothing for any other text or a date beyond 32 bits.
[[nodiscard]] constexpr std::optional<std::int32_t> date_from(std::string_view text) noexcept {
    detail::TimeReader reader{text};
    const std::int64_t days = detail::read_date(reader);
    const auto narrow = static_cast<std::int32_t>(days);
    return reader.done() && narrow == days ? std::optional{narrow} : std::nullopt;
}

/// Microseconds since 1970-01-01 00:00 UTC of "YYYY-MM-DD[ T]HH:MM[:SS[.f..]][Z|+hh|+hh:mm]";
/// without an offset it is UTC. Nothing for any other text, or for what microseconds in 64 bits
/// can't hold.
[[nodiscard]] constexpr std::optional<std::int64_t> timestamp_from(std::string_view text) noexcept {
    detail::TimeReader reader{text};
    const std::int64_t days = detail::read_date(reader);
    if (!reader.take('T')) { reader.expect(' '); }
    const std::int64_t of_day = detail::read_time(reader);
    const std::int64_t offset = detail::read_offset(reader);
    return reader.done() ? detail::microseconds(days, of_day - offset) : std::nullopt;
}

} // namespace aftertouch
