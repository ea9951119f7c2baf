// Memory that a graph allocates: cudaMallocAsync and cudaFreeAsync inside a capture, by the rules that CUDA's
// documentation gives for allocation and free nodes. With an argument, one way to break them.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      std::printf("%s:%d: not %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                   \
    }                                                                 \
  } while (false)
#define OK(call) EXPECT((call) == cudaSuccess)

__global__ void add(int* to, int amount) {
  *to += amount;
}
__global__ void add_from(int* to, const int* amount) {
  *to += *amount;
}

cudaStream_t stream;
int* sum;

int read_sum() {
  int found = -1;
  OK(cudaMemcpyAsync(&found, sum, sizeof found, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  return found;
}
void clear_sum() {
  OK(cudaMemsetAsync(sum, 0, sizeof *sum, stream));
}

template <class Work>
cudaGraph_t capture(Work work) {
  cudaGraph_t graph = nullptr;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  work();
  OK(cudaStreamEndCapture(stream, &graph));
  return graph;
}
cudaGraphExec_t instantiate(cudaGraph_t graph, unsigned long long flags = 0) {
  cudaGraphExec_t executable = nullptr;
  OK(cudaGraphInstantiate(&executable, graph, flags));
  return executable;
}
size_t free_memory() {
  size_t free = 0, total = 0;
  OK(cudaMemGetInfo(&free, &total));
  return free;
}

constexpr size_t kBytes = 1 << 20;

int* fresh() {
  int* memory = nullptr;
  OK(cudaMallocAsync(&memory, kBytes, stream));
  EXPECT(memory != nullptr);
  return memory;
}
// Allocates, sets to 3, adds to the sum; what it allocated.
int* make_three() {
  int* memory = fresh();
  OK(cudaMemsetAsync(memory, 0, sizeof *memory, stream));
  add<<<1, 1, 0, stream>>>(memory, 3);
  add_from<<<1, 1, 0, stream>>>(sum, memory);
  return memory;
}

void a_graph_has_memory_for_the_time_of_its_launch() {
  clear_sum();
  const size_t before = free_memory();
  cudaGraph_t graph = capture([] { OK(cudaFreeAsync(make_three(), stream)); });
  size_t nodes = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  EXPECT(nodes == 5);
  cudaGraphExec_t executable = instantiate(graph);
  OK(cudaGraphDestroy(graph));  // what was made of it keeps the address
  for (int i = 0; i < 3; ++i) OK(cudaGraphLaunch(executable, stream));
  EXPECT(read_sum() == 9);
  OK(cudaGraphExecDestroy(executable));
  EXPECT(free_memory() == before);
}

void memory_that_is_not_freed_stays_for_others() {
  clear_sum();
  int* memory = nullptr;
  cudaGraph_t graph = capture([&] { memory = make_three(); });
  cudaGraphExec_t executable = instantiate(graph);
  OK(cudaGraphLaunch(executable, stream));
  add_from<<<1, 1, 0, stream>>>(sum, memory);
  int found = 0;
  OK(cudaMemcpyAsync(&found, memory, sizeof found, cudaMemcpyDeviceToHost, stream));
  EXPECT(read_sum() == 6 && found == 3);
  // Again only once it is free: two allocations cannot have one address.
  EXPECT(cudaGraphLaunch(executable, stream) == cudaErrorInvalidValue);
  OK(cudaFreeAsync(memory, stream));
  OK(cudaGraphLaunch(executable, stream));
  OK(cudaFree(memory));
  OK(cudaGraphLaunch(executable, stream));
  // A graph that is gone leaves what it allocated.
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
  add_from<<<1, 1, 0, stream>>>(sum, memory);
  EXPECT(read_sum() == 15);
  OK(cudaFree(memory));
}

void another_graph_may_free_it() {
  int* memory = nullptr;
  cudaGraph_t makes = capture([&] { memory = make_three(); });
  cudaGraph_t frees = capture([&] { OK(cudaFreeAsync(memory, stream)); });
  cudaGraphExec_t making = instantiate(makes), freeing = instantiate(frees);
  EXPECT(cudaGraphLaunch(freeing, stream) == cudaErrorInvalidValue);  // there is nothing yet
  for (int i = 0; i < 2; ++i) {
    OK(cudaGraphLaunch(making, stream));
    OK(cudaGraphLaunch(freeing, stream));
  }
  OK(cudaStreamSynchronize(stream));
  OK(cudaGraphExecDestroy(making));
  OK(cudaGraphExecDestroy(freeing));
  OK(cudaGraphDestroy(makes));
  OK(cudaGraphDestroy(frees));
}

void a_launch_frees_what_the_last_one_left_if_asked_to() {
  clear_sum();
  int* memory = nullptr;
  cudaGraph_t graph = capture([&] { memory = make_three(); });
  cudaGraphExec_t executable = instantiate(graph, cudaGraphInstantiateFlagAutoFreeOnLaunch);
  for (int i = 0; i < 4; ++i) OK(cudaGraphLaunch(executable, stream));
  EXPECT(read_sum() == 12);
  OK(cudaFreeAsync(memory, stream));
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
}

void such_graphs_stand_alone() {
  cudaGraph_t graph = capture([] { OK(cudaFreeAsync(make_three(), stream)); });
  cudaGraphExec_t executable = instantiate(graph), second = nullptr;
  EXPECT(cudaGraphInstantiate(&second, graph, 0) != cudaSuccess);
  cudaGraphExecUpdateResultInfo result;
  EXPECT(cudaGraphExecUpdate(executable, graph, &result) != cudaSuccess);
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  EXPECT(cudaGraphLaunch(executable, stream) != cudaSuccess);
  cudaGraph_t outer = nullptr;
  EXPECT(cudaStreamEndCapture(stream, &outer) != cudaSuccess);
  OK(cudaGraphExecDestroy(executable));
  second = instantiate(graph);  // one after the other is no harm
  OK(cudaGraphExecDestroy(second));
  OK(cudaGraphDestroy(graph));
}

void a_capture_that_comes_to_nothing_keeps_nothing() {
  const size_t before = free_memory();
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  make_three();
  EXPECT(cudaStreamSynchronize(stream) != cudaSuccess);
  cudaGraph_t graph = nullptr;
  EXPECT(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  int* memory = nullptr;
  EXPECT(cudaMallocAsync(&memory, size_t{1} << 45, stream) == cudaErrorMemoryAllocation);
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphDestroy(graph));
  EXPECT(free_memory() == before);
  cudaGetLastError();
}

// ---- Mistakes

void used_after_the_free() {
  cudaGraph_t graph = capture([] {
    int* memory = make_three();
    OK(cudaFreeAsync(memory, stream));
    add<<<1, 1, 0, stream>>>(memory, 1);  // too late
  });
  OK(cudaGraphLaunch(instantiate(graph), stream));
}
void used_before_the_launch() {
  int* memory = nullptr;
  capture([&] { memory = make_three(); });
  add<<<1, 1, 0, stream>>>(memory, 1);  // too early
}
void filled_before_the_launch() {
  int* memory = nullptr;
  capture([&] { memory = make_three(); });
  cudaMemsetAsync(memory, 0, kBytes, stream);  // too early
}
void freed_twice() {
  capture([] {
    int* memory = make_three();
    OK(cudaFreeAsync(memory, stream));
    EXPECT(cudaFreeAsync(memory, stream) == cudaErrorInvalidValue);  // a second time
  });
}
void freed_before_the_launch() {
  int* memory = nullptr;
  capture([&] { memory = make_three(); });
  EXPECT(cudaFreeAsync(memory, stream) == cudaErrorInvalidValue);  // nothing yet
}
void freed_though_from_outside() {
  capture([] {
    add<<<1, 1, 0, stream>>>(sum, 1);
    EXPECT(cudaFreeAsync(sum, stream) == cudaErrorInvalidValue);  // not the graph's
  });
}
void read_before_it_is_written() {
  cudaGraph_t graph = capture([] {
    int* memory = fresh();
    add_from<<<1, 1, 0, stream>>>(sum, memory);  // of this launch nothing is written
    add<<<1, 1, 0, stream>>>(memory, 1);
    OK(cudaFreeAsync(memory, stream));
  });
  cudaGraphExec_t executable = instantiate(graph);
  for (int i = 0; i < 2; ++i) OK(cudaGraphLaunch(executable, stream));
}
void freed_on_another_stream() {
  int* memory = nullptr;
  cudaGraph_t graph = capture([&] { memory = make_three(); });
  cudaStream_t other;
  OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  OK(cudaGraphLaunch(instantiate(graph), stream));
  OK(cudaFreeAsync(memory, other));  // in no order with the launch
  cudaDeviceSynchronize();
}
void never_freed() {
  cudaGraph_t graph = capture([] { make_three(); });
  OK(cudaGraphLaunch(instantiate(graph), stream));
}

const struct {
  const char* name;
  void (*make)();
} kMistakes[] = {
    {"used_after_the_free", used_after_the_free},
    {"used_before_the_launch", used_before_the_launch},
    {"filled_before_the_launch", filled_before_the_launch},
    {"freed_twice", freed_twice},
    {"freed_before_the_launch", freed_before_the_launch},
    {"freed_though_from_outside", freed_though_from_outside},
    {"read_before_it_is_written", read_before_it_is_written},
    {"freed_on_another_stream", freed_on_another_stream},
    {"never_freed", never_freed},
};

int main(int count, char** arguments) {
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  OK(cudaMalloc(&sum, sizeof *sum));
  clear_sum();
  for (const auto& mistake : kMistakes) {
    if (count > 1 && std::strcmp(arguments[1], mistake.name) == 0) mistake.make();
  }
  if (count == 1) {
    a_graph_has_memory_for_the_time_of_its_launch();
    memory_that_is_not_freed_stays_for_others();
    another_graph_may_free_it();
    a_launch_frees_what_the_last_one_left_if_asked_to();
    such_graphs_stand_alone();
    a_capture_that_comes_to_nothing_keeps_nothing();
  }
  cudaStreamSynchronize(stream);
  cudaFree(sum);
  std::puts("done");
}
