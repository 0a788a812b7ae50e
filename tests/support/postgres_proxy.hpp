// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/// \file
/// A PostgreSQL server's door that can be slammed: forwards the messages of the protocol over Unix
/// sockets, and cuts a connection in front of, in the middle of, or behind any one of them.

namespace test {

/// Where in a message a connection is cut.
enum class Cut { before, inside, after };

/// Forwards between clients of `folder()` and a server's socket, on a thread of its own.
class PostgresProxy {
public:
    /// `server` is the folder of the server's socket.
    explicit PostgresProxy(const std::string& server)
        : server_{server + socket_name}, folder_{new_folder()}, listener_{listen_at(folder_)} {
        if (pipe(stop_) != 0) { throw std::runtime_error{"no pipe"}; }
        thread_ = std::thread{[this] { forward(); }};
    }
    PostgresProxy(const PostgresProxy&) = delete;
    PostgresProxy& operator=(const PostgresProxy&) = delete;
    ~PostgresProxy() {
        static_cast<void>(!write(stop_[1], "", 1));
        thread_.join();
        for (Pair& pair : pairs_) { pair.close_both(); }
        for (const int descriptor : {listener_, stop_[0], stop_[1]}) { close(descriptor); }
        std::filesystem::remove_all(folder_);
    }

    /// The "host" of a connection through this.
    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

    /// Cuts a connection at the n-th message from now, in whichever direction it goes.
    void arm(int n, Cut cut) {
        cut_ = cut;
        left_ = n;
    }
    void disarm() { left_ = 0; }
    /// Whether a connection was cut since.
    [[nodiscard]] bool has_cut() const noexcept { return left_ < 0; }

private:
    static constexpr const char* socket_name = "/.s.PGSQL.5432";

    // Bytes that one side sent, up to the end of a message.
    struct Stream {
        int from = -1;
        int to = -1;
        bool typed = true; // a client's first message has no type
        std::string bytes{};

        // The length of the first message; 0 while it isn't known.
        [[nodiscard]] std::size_t message() const {
            const std::size_t head = typed ? 5 : 4;
            if (bytes.size() < head) { return 0; }
            std::uint32_t length = 0;
            for (std::size_t i = head - 4; i < head; ++i) {
                length = length << 8U | static_cast<unsigned char>(bytes[i]);
            }
            return length + (typed ? 1U : 0U);
        }
        [[nodiscard]] bool whole() const { return message() != 0 && bytes.size() >= message(); }
    };
    struct Pair {
        Stream client;
        Stream server;
        bool open = true;

        void close_both() {
            if (open) {
                close(client.from);
                close(server.from);
            }
            open = false;
        }
    };

    [[nodiscard]] static std::string new_folder() {
        std::string name = "/tmp/aftertouch-proxy.XXXXXX";
        if (mkdtemp(name.data()) == nullptr) { throw std::runtime_error{"no temporary folder"}; }
        return name;
    }
    [[nodiscard]] static sockaddr_un address(const std::string& path) {
        sockaddr_un all{};
        all.sun_family = AF_UNIX;
        if (path.size() >= sizeof all.sun_path) { throw std::runtime_error{path + " is too long"}; }
        path.copy(all.sun_path, path.size());
        return all;
    }
    [[nodiscard]] static int new_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }
    [[nodiscard]] static int listen_at(const std::string& folder) {
        const int descriptor = new_socket();
        const sockaddr_un at = address(folder + socket_name);
        if (bind(descriptor, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
            listen(descriptor, 16) != 0) {
            throw std::runtime_error{folder + ": can't listen there"};
        }
        // A pooler is another user.
        std::filesystem::permissions(folder, std::filesystem::perms{0755});
        std::filesystem::permissions(at.sun_path, std::filesystem::perms{0777});
        return descriptor;
    }

    void forward() {
        for (;;) {
            std::vector<pollfd> waiting{{stop_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
            std::vector<std::pair<Pair*, Stream*>> streams;
            for (Pair& pair : pairs_) {
                for (Stream* stream : {&pair.client, &pair.server}) {
                    waiting.push_back({stream->from, POLLIN, 0});
                    streams.emplace_back(&pair, stream);
                }
            }
            poll(waiting.data(), waiting.size(), -1);
            if (waiting[0].revents != 0) { return; }
            for (std::size_t i = 0; i < streams.size(); ++i) {
                auto& [pair, stream] = streams[i];
                if (waiting[i + 2].revents != 0 && pair->open) { receive(*pair, *stream); }
            }
            pairs_.remove_if([](const Pair& pair) { return !pair.open; });
            if (waiting[1].revents != 0) { accept_one(); }
        }
    }

    void accept_one() {
        const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (client < 0) { return; }
        const int server = new_socket();
        const sockaddr_un at = address(server_);
        if (connect(server, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
            close(server);
            close(client);
            return;
        }
        pairs_.push_back({{client, server, false}, {server, client}});
    }

    void receive(Pair& pair, Stream& stream) {
        char buffer[16384];
        const ssize_t got = read(stream.from, buffer, sizeof buffer);
        if (got <= 0) { return pair.close_both(); }
        stream.bytes.append(buffer, static_cast<std::size_t>(got));
        while (stream.whole()) {
            const std::string message = stream.bytes.substr(0, stream.message());
            stream.bytes.erase(0, message.size());
            stream.typed = true;
            if (left_ > 0 && left_.fetch_sub(1) == 1) { return cut(pair, stream, message); }
            send_all(stream.to, message);
        }
    }

    void cut(Pair& pair, const Stream& stream, std::string_view message) {
        const std::size_t part = cut_ == Cut::before   ? 0
                                 : cut_ == Cut::inside ? message.size() / 2
                                                       : message.size();
        send_all(stream.to, message.substr(0, part));
        pair.close_both();
        left_ = -1;
    }

    static void send_all(int to, std::string_view bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno == EINTR) { continue; }
            if (sent <= 0) { return; } // gone: that is read next
            bytes.remove_prefix(static_cast<std::size_t>(sent));
        }
    }

    std::string server_;
    std::string folder_;
    int listener_;
    int stop_[2]{};
    std::list<Pair> pairs_; // of the thread
    std::atomic<Cut> cut_{Cut::before};
    std::atomic<int> left_{0}; // messages until the cut; below zero: it is done
    std::thread thread_;
};

} // namespace test
