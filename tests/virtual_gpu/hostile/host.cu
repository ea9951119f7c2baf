// Host code that misbehaves with work queued on the device.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "hostile.cuh"

__global__ void add(int* to, int value) {
  atomicAdd(to, value);
}

__global__ void overrun(int* to) {
  to[64 + threadIdx.x] = 1;
}

int* queue_work() {
  int* memory = nullptr;
  say("malloc", cudaMalloc(&memory, 64 * sizeof(int)));
  cudaMemset(memory, 0, 64 * sizeof(int));
  overrun<<<1, 1>>>(memory);
  cudaDeviceSynchronize();
  add<<<1, 32>>>(memory, 1);
  return memory;
}

// The runtime library holds the only stream socket of this process.
int find_socket() {
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    int type = 0;
    socklen_t length = sizeof type;
    if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM)
      return descriptor;
  }
  return -1;
}

void scribble(int count) {
  const int socket = find_socket();
  std::printf("socket %s\n", socket >= 0 ? "found" : "not found");
  uint32_t state = 12345;
  std::vector<unsigned char> noise(static_cast<size_t>(count));
  for (unsigned char& byte : noise)
    byte = static_cast<unsigned char>((state = state * 1664525u + 1013904223u) >> 24);
  signal(SIGPIPE, SIG_IGN);
  const ssize_t sent = write(socket, noise.data(), noise.size());
  std::printf("sent %s\n", sent > 0 ? "some" : "nothing");
  void* memory = nullptr;
  say("malloc", cudaMalloc(&memory, 64));
  say("sync", cudaDeviceSynchronize());
}

void close_all() {
  queue_work();
  std::fflush(stdout);
  for (int descriptor = 3; descriptor < 1024; ++descriptor) close(descriptor);
  say("sync", cudaDeviceSynchronize());
  void* memory = nullptr;
  say("malloc", cudaMalloc(&memory, 64));
}

void fork_then_call() {
  int* memory = queue_work();
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    void* other = nullptr;
    say("malloc in the child", cudaMalloc(&other, 64));
    say("sync in the child", cudaDeviceSynchronize());
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child ended with %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  say("sync in the parent", cudaDeviceSynchronize());
  int value = 0;
  say("copy in the parent", cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost));
}

void threads() {
  constexpr int kThreads = 8, kLaunches = 50;
  int* memory = nullptr;
  cudaMalloc(&memory, sizeof(int));
  cudaMemset(memory, 0, sizeof(int));
  std::vector<std::thread> all;
  for (int i = 0; i < kThreads; ++i)
    all.emplace_back([memory] {
      cudaStream_t stream;
      cudaStreamCreate(&stream);
      for (int k = 0; k < kLaunches; ++k) {
        add<<<2, 32, 0, stream>>>(memory, 1);
        if (k % 10 == 0) cudaStreamSynchronize(stream);
        void* scratch = nullptr;
        cudaMalloc(&scratch, 100);
        cudaFree(scratch);
      }
      cudaStreamSynchronize(stream);
      cudaStreamDestroy(stream);
    });
  for (std::thread& one : all) one.join();
  int value = 0;
  say("copy", cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost));
  std::printf("sum %d of %d\n", value, kThreads * kLaunches * 64);
  cudaFree(memory);
}

void map_over_device_memory() {
  int* memory = queue_work();
  cudaDeviceSynchronize();
  void* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory) & ~uintptr_t{4095});
  void* mapped = mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  std::printf("mapped %s\n", mapped == page ? "over it" : "elsewhere");
  memory[0] = 1234;
  int value = 0;
  say("copy", cudaMemcpy(&value, memory + 1, sizeof value, cudaMemcpyDeviceToHost));
  std::printf("host sees %d, device has %s\n", memory[0], value == 1234 ? "1234" : "its own");
}

void wild_copies() {
  int* memory = nullptr;
  cudaMalloc(&memory, 64 * sizeof(int));
  int* wild = reinterpret_cast<int*>(uintptr_t{0x1234567000});
  say("from a wild pointer", cudaMemcpy(memory, wild, 64, cudaMemcpyHostToDevice));
}

const Case kCases[] = {
    {"exit",
     [] {
       queue_work();
       std::exit(5);
     }},
    {"_exit",
     [] {
       queue_work();
       _exit(6);
     }},
    {"abort",
     [] {
       queue_work();
       std::abort();
     }},
    {"segfault",
     [] {
       queue_work();
       *reinterpret_cast<volatile int*>(uintptr_t{16}) = 1;
     }},
    {"dereference", [] { std::printf("%d\n", *reinterpret_cast<volatile int*>(queue_work())); }},
    {"close_all", close_all},
    {"fork", fork_then_call},
    {"threads", threads},
    {"noise", [] { scribble(100'000); }},
    {"little_noise", [] { scribble(7); }},
    {"noise_later",
     [] {
       queue_work();
       scribble(1000);
     }},
    {"map_over", map_over_device_memory},
    {"wild_copies", wild_copies},
    {"print_forever",
     [] {
       while (true) std::printf("host output without end, line after line after line\n");
     }},
};

int main(int count, char** arguments) {
  return run_cases(count, arguments, kCases);
}
