// What stream_buffer.cuh promises: memory in the order of a stream, that goes with its one owner.
#include <type_traits>
#include <utility>

#include "captured_graph.cuh"
#include "expect.cuh"
#include "stream_buffer.cuh"

using Numbers = StreamBuffer<int>;
static_assert(!std::is_copy_constructible<Numbers>::value && !std::is_copy_assignable<Numbers>::value,
              "two owners would free the same memory");

cudaStream_t stream;

void memory_can_be_used_on_its_stream_at_once() {
  Numbers numbers(32, stream);
  EXPECT(numbers.error() == cudaSuccess && numbers.get() != nullptr);
  EXPECT(cudaMemsetAsync(numbers.get(), 0, 32 * sizeof(int), stream) == cudaSuccess);
  add<<<1, 32, 0, stream>>>(numbers.get(), 5);
  EXPECT(first_of(numbers.get(), stream) == 5);
}

void work_before_the_end_of_its_owner_still_has_it() {
  int* kept = nullptr;
  EXPECT(cudaMalloc(&kept, sizeof(int)) == cudaSuccess);
  {
    Numbers numbers(1, stream);
    cudaMemsetAsync(numbers.get(), 0, sizeof(int), stream);
    add<<<1, 1, 0, stream>>>(numbers.get(), 7);
    cudaMemcpyAsync(kept, numbers.get(), sizeof(int), cudaMemcpyDeviceToDevice, stream);
  }
  EXPECT(first_of(kept, stream) == 7);
  cudaFree(kept);
}

// Not a promise: memory goes with its owner, and whoever keeps the pointer is on his own.
void used_after_its_owner() {
  int* gone = nullptr;
  {
    Numbers numbers(1, stream);
    gone = numbers.get();
    cudaMemsetAsync(gone, 0, sizeof(int), stream);
  }
  add<<<1, 1, 0, stream>>>(gone, 1);
  cudaStreamSynchronize(stream);
  std::puts("stream_buffer: used after its owner");
}

void nothing_is_no_memory_and_no_error() {
  Numbers none, empty(0, stream);
  EXPECT(none.get() == nullptr && empty.get() == nullptr);
  EXPECT(none.error() == cudaSuccess && empty.error() == cudaSuccess);
}

void more_than_there_is_is_an_error_and_no_memory() {
  StreamBuffer<double> numbers(size_t{1} << 45, stream);
  EXPECT(numbers.error() == cudaErrorMemoryAllocation);
  EXPECT(numbers.get() == nullptr);
  EXPECT(cudaGetLastError() == cudaErrorMemoryAllocation);  // and the runtime goes on
  EXPECT(Numbers(1, stream).error() == cudaSuccess);
}

void one_owner_at_a_time() {
  Numbers first(8, stream), second(8, stream);
  int* const memory = first.get();
  Numbers third(std::move(first));
  EXPECT(third.get() == memory && first.get() == nullptr);
  second = std::move(third);  // what it had is freed, and nothing twice
  EXPECT(second.get() == memory && third.get() == nullptr);
  Numbers& same = second;
  second = std::move(same);
  EXPECT(second.get() == memory);
}

void inside_a_capture_both_ends_are_nodes() {
  int* sum = nullptr;
  EXPECT(cudaMalloc(&sum, sizeof(int)) == cudaSuccess);
  EXPECT(cudaMemsetAsync(sum, 0, sizeof(int), stream) == cudaSuccess);
  CapturedGraph graph;
  const cudaError_t captured = graph.capture(stream, [&](cudaStream_t on) {
    Numbers numbers(1, on);
    if (numbers.error() != cudaSuccess) return numbers.error();
    cudaMemsetAsync(numbers.get(), 0, sizeof(int), on);
    add<<<1, 1, 0, on>>>(numbers.get(), 3);
    add<<<1, 1, 0, on>>>(sum, 1);
    return cudaGetLastError();
  });
  EXPECT(captured == cudaSuccess);
  EXPECT(graph.nodes() == 5);  // allocation, fill, two kernels, free
  for (int i = 0; i < 3; ++i) EXPECT(graph.replay(stream) == cudaSuccess);
  EXPECT(first_of(sum, stream) == 3);
  cudaFree(sum);
}

int main(int count, char**) {
  EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  if (count > 1) {
    used_after_its_owner();
    return 0;
  }
  memory_can_be_used_on_its_stream_at_once();
  work_before_the_end_of_its_owner_still_has_it();
  nothing_is_no_memory_and_no_error();
  more_than_there_is_is_an_error_and_no_memory();
  one_owner_at_a_time();
  inside_a_capture_both_ends_are_nodes();
  EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
  cudaStreamDestroy(stream);
  std::puts("stream_buffer: ok");
}
