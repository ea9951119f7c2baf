// What captured_graph.cuh promises: work captured once and replayed, and no graph that would do nothing.
#include <type_traits>
#include <utility>

#include "captured_graph.cuh"
#include "expect.cuh"

static_assert(!std::is_copy_constructible<CapturedGraph>::value, "two owners would destroy the same graph");

cudaStream_t stream;
int* sum;

auto adding(int amount) {
  return [amount](cudaStream_t on) {
    add<<<1, 1, 0, on>>>(sum, amount);
    return cudaGetLastError();
  };
}

void clear() {
  EXPECT(cudaMemsetAsync(sum, 0, sizeof(int), stream) == cudaSuccess);
}

// The stream is as it was: not capturing, and ready for work.
void expect_usable() {
  cudaStreamCaptureStatus status;
  EXPECT(cudaStreamIsCapturing(stream, &status) == cudaSuccess);
  EXPECT(status == cudaStreamCaptureStatusNone);
  clear();
  EXPECT(adding(1)(stream) == cudaSuccess);
  EXPECT(first_of(sum, stream) == 1);
}

void capturing_does_nothing_and_every_replay_does_it_once() {
  clear();
  CapturedGraph graph;
  EXPECT(graph.capture(stream, adding(2)) == cudaSuccess);
  EXPECT(graph.nodes() == 1);
  EXPECT(first_of(sum, stream) == 0);
  for (int i = 0; i < 3; ++i) EXPECT(graph.replay(stream) == cudaSuccess);
  EXPECT(first_of(sum, stream) == 6);
}

void without_a_graph_there_is_no_replay() {
  CapturedGraph graph;
  EXPECT(graph.nodes() == 0);
  EXPECT(graph.replay(stream) == cudaErrorInvalidResourceHandle);
}

void nothing_captured_is_refused() {
  CapturedGraph graph;
  EXPECT(graph.capture(stream, [](cudaStream_t) { return cudaSuccess; }) == cudaErrorStreamCaptureUnmatched);
  EXPECT(graph.nodes() == 0);
  EXPECT(graph.replay(stream) == cudaErrorInvalidResourceHandle);
  expect_usable();
}

void what_the_work_answers_is_passed_on() {
  CapturedGraph graph;
  const auto failing = [](cudaStream_t on) {
    adding(1)(on);
    return cudaErrorInvalidConfiguration;
  };
  EXPECT(graph.capture(stream, failing) == cudaErrorInvalidConfiguration);
  EXPECT(graph.replay(stream) == cudaErrorInvalidResourceHandle);
  expect_usable();
}

void work_that_waits_cannot_be_captured() {
  CapturedGraph graph;
  const auto waiting = [](cudaStream_t on) {
    adding(1)(on);
    cudaStreamSynchronize(on);
    return cudaSuccess;
  };
  EXPECT(graph.capture(stream, waiting) == cudaErrorStreamCaptureInvalidated);
  EXPECT(cudaGetLastError() != cudaSuccess);
  expect_usable();
}

void a_stream_that_is_captured_already_stays_so() {
  CapturedGraph outer, inner;
  cudaError_t refused = cudaSuccess;
  const auto nested = [&](cudaStream_t on) {
    refused = inner.capture(on, adding(4));
    return cudaSuccess;
  };
  outer.capture(stream, nested);
  EXPECT(refused == cudaErrorIllegalState);
  EXPECT(cudaGetLastError() != cudaSuccess);
  EXPECT(inner.nodes() == 0);
  expect_usable();
}

void a_new_capture_takes_the_place_of_the_old() {
  clear();
  CapturedGraph graph;
  EXPECT(graph.capture(stream, adding(1)) == cudaSuccess);
  EXPECT(graph.capture(stream, adding(10)) == cudaSuccess);
  EXPECT(graph.replay(stream) == cudaSuccess);
  EXPECT(first_of(sum, stream) == 10);
  const auto nothing = [](cudaStream_t) { return cudaSuccess; };
  EXPECT(graph.capture(stream, nothing) != cudaSuccess);
  EXPECT(graph.replay(stream) == cudaErrorInvalidResourceHandle);  // the old one would be a surprise
  EXPECT(graph.nodes() == 0);
}

void one_owner_at_a_time() {
  clear();
  CapturedGraph first, second;
  EXPECT(first.capture(stream, adding(1)) == cudaSuccess);
  EXPECT(second.capture(stream, adding(100)) == cudaSuccess);
  second = std::move(first);
  EXPECT(second.nodes() == 1 && first.nodes() == 0);
  EXPECT(first.replay(stream) == cudaErrorInvalidResourceHandle);
  EXPECT(second.replay(stream) == cudaSuccess);
  const CapturedGraph third(std::move(second));
  EXPECT(third.replay(stream) == cudaSuccess);
  EXPECT(first_of(sum, stream) == 2);
}

int main() {
  EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  EXPECT(cudaMalloc(&sum, sizeof(int)) == cudaSuccess);
  capturing_does_nothing_and_every_replay_does_it_once();
  without_a_graph_there_is_no_replay();
  nothing_captured_is_refused();
  what_the_work_answers_is_passed_on();
  work_that_waits_cannot_be_captured();
  a_stream_that_is_captured_already_stays_so();
  a_new_capture_takes_the_place_of_the_old();
  one_owner_at_a_time();
  cudaFree(sum);
  cudaStreamDestroy(stream);
  std::puts("captured_graph: ok");
}
