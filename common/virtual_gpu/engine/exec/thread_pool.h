// The engine's CPU threads, started once and kept.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace vgpu {

class ThreadPool {
 public:
  ThreadPool();
  ~ThreadPool();
  int size() const { return size_; }
  // Runs task(0) … task(n-1), the first on the calling thread; returns when all have ended.
  void run(int n, const std::function<void(int)>& task);

 private:
  void serve(int id);
  int size_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int)>* task_ = nullptr;
  int wanted_ = 0, running_ = 0;
  uint64_t round_ = 0;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

ThreadPool& thread_pool();

}  // namespace vgpu
