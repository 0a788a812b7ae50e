// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>

#include <sqlite3.h>

/// \file
/// A disk that breaks on demand: an SQLite VFS over the default one, whose n-th call fails.

namespace test {

/// What a broken call answers; each is counted only where SQLite could get it from a real disk.
enum class Breakage { io_error, full, busy, cannot_open };

struct Fault {
    Breakage breakage = Breakage::io_error;
    bool for_good = false; ///< every call behind the n-th fails too
    bool too_late = false; ///< the call does its work, and says that it failed
};

/// The disk of every connection of this process, once `install` was called. *Threads*: any.
class FaultyDisk {
public:
    using Fault = test::Fault;
    static constexpr bool takes_memory = false;

    static void install() {
        if (base_ != nullptr) { return; }
        base_ = sqlite3_vfs_find(nullptr);
        static sqlite3_vfs vfs = *base_;
        vfs.zName = "faulty";
        vfs.szOsFile = static_cast<int>(sizeof(File)) + base_->szOsFile;
        vfs.pNext = nullptr;
        vfs.xOpen = &open;
        vfs.xDelete = &remove;
        vfs.xAccess = &access;
        vfs.xSleep = [](sqlite3_vfs*, int us) { return armed_ ? us : base_->xSleep(base_, us); };
        sqlite3_vfs_register(&vfs, 1);
    }

    /// From now on the n-th call that `fault` can break fails.
    static void arm(const Fault& fault, int n) {
        fault_ = fault;
        left_ = n;
        broken_ = 0;
        armed_ = true;
    }
    static void lift() { armed_ = false; }
    /// How many calls failed since it was armed.
    [[nodiscard]] static int broken() { return broken_; }

    /// No file grows beyond this; 0 for no bound.
    static void bound(std::int64_t bytes) { bound_ = bytes; }

    /// Works while this lives.
    class Repaired {
    public:
        Repaired() : armed_before_{armed_.exchange(false)} {}
        Repaired(const Repaired&) = delete;
        Repaired& operator=(const Repaired&) = delete;
        ~Repaired() { armed_ = armed_before_; }

    private:
        bool armed_before_;
    };

private:
    struct File {
        sqlite3_file base;
        [[nodiscard]] sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
        [[nodiscard]] static sqlite3_file* real(sqlite3_file* file) {
            return reinterpret_cast<File*>(file)->real();
        }
    };

    // The codes of one kind of call; 0 where such a call can't fail so.
    struct Codes {
        int io_error = 0;
        int full = 0;
        int busy = 0;
        int cannot_open = 0;
    };

    [[nodiscard]] static int breaks(const Codes& codes) {
        if (!armed_) { return SQLITE_OK; }
        const int choices[] = {codes.io_error, codes.full, codes.busy, codes.cannot_open};
        const int code = choices[static_cast<int>(fault_.breakage)];
        if (code == 0) { return SQLITE_OK; }
        const int left = --left_;
        if (left > 0 || (left < 0 && !fault_.for_good)) { return SQLITE_OK; }
        ++broken_;
        return code;
    }

    template <class Work>
    static int call(const Codes& codes, Work work) {
        const int code = breaks(codes);
        if (code == SQLITE_OK) { return work(); }
        if (fault_.too_late) { static_cast<void>(work()); }
        return code;
    }

    static int open(
        sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* out_flags) {
        file->pMethods = nullptr;
        auto* ours = new (file) File{};
        const int broken = breaks({SQLITE_CANTOPEN, SQLITE_CANTOPEN, 0, SQLITE_CANTOPEN});
        if (broken != SQLITE_OK) { return broken; }
        const int code = base_->xOpen(base_, name, ours->real(), flags, out_flags);
        if (ours->real()->pMethods != nullptr) { file->pMethods = methods(); }
        return code;
    }
    static int remove(sqlite3_vfs*, const char* name, int sync) {
        return call({SQLITE_IOERR_DELETE, 0, 0, 0}, [&] {
            static_cast<void>(sync);
            return base_->xDelete(base_, name, 0);
        });
    }
    static int access(sqlite3_vfs*, const char* name, int flags, int* result) {
        return call({SQLITE_IOERR_ACCESS, 0, 0, 0},
            [&] { return base_->xAccess(base_, name, flags, result); });
    }

    // What gives something back (close, unlock, unmap) never fails: systems don't refuse that.
    [[nodiscard]] static const sqlite3_io_methods* methods() {
        static const sqlite3_io_methods all = make_methods();
        return &all;
    }

    [[nodiscard]] static sqlite3_io_methods make_methods() {
        sqlite3_io_methods all{};
        all.iVersion = 2;
        all.xClose = [](sqlite3_file* f) { return File::real(f)->pMethods->xClose(File::real(f)); };
        all.xRead = [](sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
            return call({SQLITE_IOERR_READ, 0, 0, 0},
                [&] { return File::real(f)->pMethods->xRead(File::real(f), to, size, at); });
        };
        all.xWrite = &write;
        all.xTruncate = [](sqlite3_file* f, sqlite3_int64 size) {
            return call({SQLITE_IOERR_TRUNCATE, SQLITE_FULL, 0, 0},
                [&] { return File::real(f)->pMethods->xTruncate(File::real(f), size); });
        };
        all.xSync = [](sqlite3_file*, int) {
            return call({SQLITE_IOERR_FSYNC, SQLITE_FULL, 0, 0}, [] { return SQLITE_OK; });
        };
        all.xFileSize = [](sqlite3_file* f, sqlite3_int64* size) {
            return call({SQLITE_IOERR_FSTAT, 0, 0, 0},
                [&] { return File::real(f)->pMethods->xFileSize(File::real(f), size); });
        };
        all.xLock = [](sqlite3_file* f, int level) {
            return call({SQLITE_IOERR_LOCK, 0, SQLITE_BUSY, 0},
                [&] { return File::real(f)->pMethods->xLock(File::real(f), level); });
        };
        all.xUnlock = [](sqlite3_file* f, int level) {
            return File::real(f)->pMethods->xUnlock(File::real(f), level);
        };
        all.xCheckReservedLock = [](sqlite3_file* f, int* held) {
            return call({SQLITE_IOERR_CHECKRESERVEDLOCK, 0, 0, 0},
                [&] { return File::real(f)->pMethods->xCheckReservedLock(File::real(f), held); });
        };
        all.xFileControl = [](sqlite3_file* f, int what, void* with) {
            return File::real(f)->pMethods->xFileControl(File::real(f), what, with);
        };
        all.xSectorSize = [](sqlite3_file* f) {
            return File::real(f)->pMethods->xSectorSize(File::real(f));
        };
        all.xDeviceCharacteristics = [](sqlite3_file* f) {
            return File::real(f)->pMethods->xDeviceCharacteristics(File::real(f));
        };
        all.xShmMap = [](sqlite3_file* f, int page, int size, int extend, void volatile** at) {
            return call({SQLITE_IOERR_SHMMAP, SQLITE_IOERR_SHMSIZE, 0, SQLITE_CANTOPEN}, [&] {
                return File::real(f)->pMethods->xShmMap(File::real(f), page, size, extend, at);
            });
        };
        all.xShmLock = &shm_lock;
        all.xShmBarrier = [](sqlite3_file* f) {
            File::real(f)->pMethods->xShmBarrier(File::real(f));
        };
        all.xShmUnmap = [](sqlite3_file* f, int deleted) {
            return File::real(f)->pMethods->xShmUnmap(File::real(f), deleted);
        };
        return all;
    }

    static int write(sqlite3_file* f, const void* from, int size, sqlite3_int64 at) {
        const std::int64_t bound = bound_;
        if (bound != 0 && at + size > bound) { return SQLITE_FULL; }
        return call({SQLITE_IOERR_WRITE, SQLITE_FULL, 0, 0},
            [&] { return File::real(f)->pMethods->xWrite(File::real(f), from, size, at); });
    }

    static int shm_lock(sqlite3_file* f, int offset, int n, int flags) {
        const auto work = [&] {
            return File::real(f)->pMethods->xShmLock(File::real(f), offset, n, flags);
        };
        if ((flags & SQLITE_SHM_UNLOCK) != 0) { return work(); }
        // A lock that was had and not told would never be given back.
        const int code = breaks({SQLITE_IOERR_SHMLOCK, 0, SQLITE_BUSY, 0});
        return code == SQLITE_OK ? work() : code;
    }

    static inline sqlite3_vfs* base_ = nullptr;
    static inline Fault fault_{};
    static inline std::atomic<bool> armed_{false};
    static inline std::atomic<int> left_{0};
    static inline std::atomic<int> broken_{0};
    static inline std::atomic<std::int64_t> bound_{0};
};

} // namespace test
