// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <crash/nemesis_judge.hpp>
#include <soak/program.hpp>
#include <support/soak.hpp>

/// \file
/// A course of the nemesis: several processes run one pipeline under a lease, and are killed,
/// frozen, ended in order and cut off, while others write; then they are left alone, and what they
/// kept is compared with what was committed.

namespace nemesis {

struct Verdict {
    std::uint64_t seed = 0;
    int kills = 0;
    int freezes = 0;
    int restarts = 0;
    int cuts = 0; ///< of sessions
    std::int64_t changes = 0;
    std::int64_t tenures = 0; ///< how often the lease was taken
    Milliseconds drained_in{};
    std::vector<std::string> faults{};

    [[nodiscard]] int harm() const { return kills + freezes + restarts; }
    [[nodiscard]] std::string text() const {
        return "AFTERTOUCH_SEED=" + std::to_string(seed) + ": " + std::to_string(kills) +
               " kills, " + std::to_string(freezes) + " freezes, " + std::to_string(restarts) +
               " restarts, " + std::to_string(cuts) + " cuts, " + std::to_string(tenures) +
               " tenures, " + std::to_string(changes) + " changes, drained in " +
               std::to_string(drained_in.count()) + " ms";
    }
};

/// Threads that write all the time.
template <class Ground>
class Writers {
public:
    Writers(Ground& ground, int count) {
        for (int number = 1; number <= count; ++number) {
            threads_.emplace_back([this, &ground, number] { write(ground, number); });
        }
    }
    Writers(const Writers&) = delete;
    Writers& operator=(const Writers&) = delete;
    ~Writers() { end(); }

    void end() {
        ending_ = true;
        for (std::thread& thread : threads_) { thread.join(); }
        threads_.clear();
    }

private:
    void write(Ground& ground, std::int64_t number) const {
        const auto database = ground.open();
        for (std::int64_t i = 0; !ending_; ++i) {
            try {
                write_items(*database, number, i);
            } catch (const at::Error&) {
                // Somebody frozen was in the way: then it isn't written.
            }
            std::this_thread::sleep_for(Milliseconds{10});
        }
    }

    std::atomic<bool> ending_{false};
    std::vector<std::thread> threads_;
};

/// Does harm to instances, then leaves them alone.
template <class Ground>
class Nemesis {
public:
    static constexpr Milliseconds lease{200};

    Nemesis(Ground& ground, int instances, std::uint64_t seed)
        : ground_{ground}, random_{seed + static_cast<unsigned>(instances)} {
        verdict_.seed = seed;
        instances_.resize(static_cast<std::size_t>(instances));
        for (Instance& instance : instances_) { start(instance); }
    }

    [[nodiscard]] Verdict run(int harm) {
        {
            Writers writers{ground_, ground_.writers};
            while (verdict_.harm() < harm) {
                do_harm();
                leave_alone(draw(20, 420));
            }
            calm_down();
        }
        await_end();
        for (Instance& instance : instances_) { end(instance); }
        judge(ground_, verdict_.faults);
        verdict_.changes = number(ground_.database(), "SELECT count(*) FROM truth");
        verdict_.tenures = number(ground_.database(), "SELECT count(*) FROM tenure");
        if (number(ground_.database(), "SELECT count(*) FROM " + std::string{ground_.lease}) != 0) {
            fault("the last one didn't give the lease back");
        }
        return verdict_;
    }

private:
    enum class Is { running, frozen, gone };
    struct Instance {
        std::string name{};
        std::unique_ptr<soak::Program> program{};
        Is state = Is::gone;
        Clock::time_point due{}; // when it goes on, or comes back
    };

    void fault(std::string what) { verdict_.faults.push_back(std::move(what)); }
    [[nodiscard]] Milliseconds draw(int from, int to) {
        return Milliseconds{from + static_cast<int>(random_() % static_cast<unsigned>(to - from))};
    }

    void start(Instance& instance) {
        instance.name = 'i' + std::to_string(++started_);
        instance.program = ground_.start(Words{instance.name, lease, random_() | 1});
        instance.state = Is::running;
    }

    // The one that holds the lease, half of the time.
    Instance& choose() {
        Instance& any = instances_[random_() % instances_.size()];
        if (random_() % 2 == 0) { return any; }
        try {
            for (const std::string& holder : ground_.database().query(
                     at::type<std::string>, "SELECT holder FROM " + std::string{ground_.lease})) {
                for (Instance& one : instances_) {
                    if (holder.starts_with(one.name + ' ')) { return one; }
                }
            }
        } catch (const at::Error&) {
            // A frozen one keeps readers out.
        }
        return any;
    }

    void do_harm() {
        Instance& victim = choose();
        const auto kind = random_() % 8;
        if (victim.state == Is::gone) { return; }
        if (kind < 3) {
            victim.program->kill();
            ++verdict_.kills;
            victim.state = Is::gone;
            victim.due = Clock::now() + draw(0, 300);
        } else if (victim.state == Is::frozen) {
            return;
        } else if (kind < 6) {
            victim.program->freeze();
            ++verdict_.freezes;
            victim.state = Is::frozen;
            victim.due = Clock::now() + draw(20, 3 * static_cast<int>(lease.count()));
        } else if (kind < 7 || !ground_.cuts_off) {
            ++verdict_.restarts;
            end(victim);
            start(victim);
        } else {
            verdict_.cuts += ground_.cut_off(victim.name, random_() % 2 == 0);
        }
    }

    void leave_alone(Milliseconds time) {
        for (const auto until = Clock::now() + time; Clock::now() < until;) {
            look_after();
            std::this_thread::sleep_for(Milliseconds{2});
        }
    }

    // Those whose time has come go on.
    void look_after() {
        for (Instance& instance : instances_) {
            if (instance.state == Is::running && instance.program->ended()) {
                fault(instance.name + " ended by itself");
                start(instance);
            }
            if (instance.state == Is::running || Clock::now() < instance.due) { continue; }
            if (instance.state == Is::gone) { start(instance); }
            instance.program->thaw();
            instance.state = Is::running;
        }
    }

    void calm_down() {
        for (Instance& instance : instances_) { instance.due = Clock::now(); }
        look_after();
    }

    void await_end() {
        const auto began = Clock::now();
        const bool drained = comes_true([&] {
            look_after();
            return is_drained(ground_);
        });
        if (!drained) { fault("it wasn't drained when nothing was in its way any more"); }
        verdict_.drained_in = std::chrono::duration_cast<Milliseconds>(Clock::now() - began);
    }

    // In order; the others are looked after meanwhile, for one may be in its way.
    void end(Instance& instance) {
        instance.program->ask_to_end();
        instance.state = Is::gone;
        instance.due = Clock::now() + std::chrono::hours{1};
        const bool ended = comes_true([&] {
            look_after();
            return instance.program->ended();
        });
        if (!ended || instance.program->wait() != 0) { fault(instance.name + " didn't end well"); }
        instance.program.reset();
    }

    Ground& ground_;
    std::mt19937_64 random_;
    std::vector<Instance> instances_;
    int started_ = 0;
    Verdict verdict_;
};

/// How much harm is done in a course: there are three.
[[nodiscard]] inline int wanted_harm() { return (test::is_night() ? 5'000 : 300) / 3; }

} // namespace nemesis
