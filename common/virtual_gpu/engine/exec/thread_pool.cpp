#include "exec/thread_pool.h"

#include <algorithm>

namespace vgpu {

ThreadPool::ThreadPool() : size_(std::max(1, static_cast<int>(std::thread::hardware_concurrency()))) {}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread& t : threads_) t.join();
}

void ThreadPool::run(int n, const std::function<void(int)>& task) {
  if (n <= 1) return task(0);
  while (static_cast<int>(threads_.size()) < n - 1) {
    const int id = static_cast<int>(threads_.size()) + 1;
    threads_.emplace_back([this, id] { serve(id); });
  }
  {
    std::lock_guard lock(mutex_);
    task_ = &task;
    wanted_ = n;
    running_ = n - 1;
    ++round_;
  }
  wake_.notify_all();
  task(0);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return running_ == 0; });
}

void ThreadPool::serve(int id) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return closing_ || (round_ != seen && id < wanted_); });
    if (closing_) return;
    seen = round_;
    const auto* task = task_;
    lock.unlock();
    (*task)(id);
    lock.lock();
    if (--running_ == 0) done_.notify_all();
  }
}

ThreadPool& thread_pool() {
  static ThreadPool pool;
  return pool;
}

}  // namespace vgpu
