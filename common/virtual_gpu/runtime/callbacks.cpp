// Streams are lazy: their work runs when the program waits for it. A program may also wait for a host
// function by means of its own, such as a flag or a condition variable. So a thread of the library waits for
// the function's stream once the program has made no call for a while; the function then runs on that thread,
// as it runs on a thread of the driver's on a GPU machine.
#include "callbacks.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <system_error>
#include <thread>

#include "capture.h"
#include "connection.h"

namespace vgpu {
namespace {

constexpr std::chrono::milliseconds kLook{10};
constexpr int kQuietLooks = 10;  // without a call of the program's, before its streams run

class CallbackThread {
 public:
  // Never destroyed: the thread ends with the process.
  static CallbackThread& get() {
    static auto* const one = new CallbackThread;
    return *one;
  }

  void expect(uint64_t stream) {
    const std::lock_guard<std::mutex> lock(mutex_);
    try {
      if (!started_) std::thread([this] { run(); }).detach();
    } catch (const std::system_error&) {
      return;  // behind walls that allow no thread, the function runs when the program waits for its stream
    }
    started_ = true;
    streams_.insert(stream);
    wanted_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      wanted_.wait(lock, [this] { return !streams_.empty(); });
      lock.unlock();
      wait_until_quiet();
      lock.lock();
      std::set<uint64_t> streams;
      streams.swap(streams_);
      lock.unlock();
      for (const uint64_t stream : streams)
        Connection::get().ask(wire::Request::kStreamSync, wire::Id{stream});
    }
  }

  // A wait during a capture would spoil it.
  static void wait_until_quiet() {
    uint64_t calls = Connection::get().calls();
    for (int quiet = 0; quiet < kQuietLooks; ++quiet) {
      std::this_thread::sleep_for(kLook);
      if (Connection::get().calls() != calls || is_any_capturing()) {
        calls = Connection::get().calls();
        quiet = -1;
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_;
  std::set<uint64_t> streams_;
  bool started_ = false;
};

std::atomic<bool> graphs_call_back{false};

}  // namespace

void expect_callback(uint64_t stream) {
  CallbackThread::get().expect(stream);
}

void note_captured_callback() {
  graphs_call_back = true;
}

void expect_graph_callbacks(uint64_t stream) {
  if (graphs_call_back) CallbackThread::get().expect(stream);
}

}  // namespace vgpu
