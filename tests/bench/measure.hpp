// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <time.h>

/// \file
/// What the benches measure with: CPU time of a thread, two sides round by round, a line a metric.

namespace bench {

/// CPU seconds of the calling thread.
[[nodiscard]] inline double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// CPU seconds that `work()` takes.
template <class Work>
[[nodiscard]] double cpu_of(Work work) {
    const double begin = cpu_seconds();
    work();
    return cpu_seconds() - begin;
}

/// The value below which `share` of the values lie.
[[nodiscard]] inline double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    const auto last = static_cast<double>(values.size() - 1);
    return values.at(static_cast<std::size_t>(share * last + 0.5));
}
[[nodiscard]] inline double median(std::vector<double> values) {
    return quantile(std::move(values), 0.5);
}

struct Target {
    bool at_most = true;
    double value = 0;
};
[[nodiscard]] inline Target at_most(double value) { return {true, value}; }
[[nodiscard]] inline Target at_least(double value) { return {false, value}; }

/// Prints the line of one metric: name, figure, target, met or missed; tabs between.
inline void report(const std::string& name, double figure, Target target) {
    const bool met = target.at_most ? figure <= target.value : figure >= target.value;
    std::printf("%s\t%.3f\t%s%.2f\t%s\n", name.c_str(), figure,
        target.at_most ? "<=" : ">=", target.value, met ? "met" : "missed");
    std::fflush(stdout);
}

/// Two sides that do the same job: what each took, round by round.
///
/// A figure is the median of the rounds' ratios: what else runs on the machine slows both sides of
/// a round, and a round that it slows unevenly is one of many.
class Duel {
public:
    /// Runs both, each first every other time; each answers what it took. The first round is a
    /// warm-up.
    template <class Ours, class Floor>
    void round(Ours ours, Floor floor) {
        const bool ours_first = rounds_ % 2 == 0;
        double took_ours = ours_first ? ours() : 0;
        const double took_floor = floor();
        if (!ours_first) { took_ours = ours(); }
        if (rounds_++ != 0) { costs_.push_back(took_ours / took_floor); }
    }

    /// What ours costs, where the floor costs 1.
    [[nodiscard]] double cost() const { return median(costs_); }
    /// What ours gets done in the time in which the floor gets 1 done.
    [[nodiscard]] double rate() const { return 1 / cost(); }

private:
    int rounds_ = 0;
    std::vector<double> costs_;
};

} // namespace bench
