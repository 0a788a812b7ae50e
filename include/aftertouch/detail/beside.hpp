// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

/// \file
/// Runs work beside other work, on threads that are kept for the next time: to make one costs more
/// than a lane's commit.

namespace aftertouch::detail {

/// *Threads*: one at a time.
class Crew {
public:
    Crew() = default;
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;
    ~Crew() { dismiss(); }

    /// Calls `work(i)`, which throws nothing, for each i below `count`, beside each other: the
    /// first on this thread, and what no thread can be had for behind it.
    template <class Work>
    void run(std::size_t count, const Work& work) {
        if (count == 0) { return; }
        std::unique_lock lock{mutex_};
        work_ = &work;
        call_ = [](const void* what, std::size_t i) { (*static_cast<const Work*>(what))(i); };
        next_ = 1;
        count_ = count;
        hire(count - 1);
        lock.unlock();
        begins_.notify_all();
        work(std::size_t{0});
        lock.lock();
        while (next_ < count_) { take(lock); }
        ended_.wait(lock, [&] { return busy_ == 0; });
    }

    /// Ends its threads.
    void dismiss() noexcept {
        {
            const std::lock_guard lock{mutex_};
            dismissed_ = true;
        }
        begins_.notify_all();
        for (std::thread& thread : threads_) { thread.join(); }
        threads_.clear();
        dismissed_ = false;
    }

private:
    void hire(std::size_t wanted) noexcept {
        try {
            while (threads_.size() < wanted) {
                threads_.emplace_back([this] { follow(); });
            }
        } catch (...) {
            // No thread, or no memory for one: those that are there do more.
        }
    }

    void follow() {
        std::unique_lock lock{mutex_};
        for (;;) {
            begins_.wait(lock, [&] { return dismissed_ || next_ < count_; });
            if (dismissed_) { return; }
            take(lock);
        }
    }

    void take(std::unique_lock<std::mutex>& lock) {
        const std::size_t mine = next_++;
        ++busy_;
        lock.unlock();
        call_(work_, mine);
        lock.lock();
        if (--busy_ == 0) { ended_.notify_all(); }
    }

    std::mutex mutex_; // of all below, but for the threads themselves
    std::condition_variable begins_;
    std::condition_variable ended_;
    const void* work_ = nullptr;
    void (*call_)(const void*, std::size_t) = nullptr;
    std::size_t next_ = 0; // that nobody has begun
    std::size_t count_ = 0;
    std::size_t busy_ = 0; // threads, without the one that calls run
    bool dismissed_ = false;
    std::vector<std::thread> threads_;
};

} // namespace aftertouch::detail
