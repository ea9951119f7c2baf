"""Host functions run though the host makes no further CUDA call; captured copies move pageable memory."""

from __future__ import annotations

import pytest

from tests.virtual_gpu.small_programs import build_text, run

WAITS_BY_ITSELF = r"""
#include <atomic>
#include <thread>
__global__ void set(int* p) { *p = 7; }
std::atomic<int> seen{0};
void CUDART_CB function(void* value) { seen = *static_cast<int*>(value); }
void CUDART_CB callback(cudaStream_t, cudaError_t, void* value) { function(value); }
void wait_for(int wanted) {
  while (seen != wanted) std::this_thread::yield();
}
int main() {
  cudaStream_t stream;
  int *device, *host;
  cudaStreamCreate(&stream);
  cudaMalloc(&device, 4);
  cudaMallocHost(&host, 4);
  set<<<1, 1, 0, stream>>>(device);
  cudaMemcpyAsync(host, device, 4, cudaMemcpyDeviceToHost, stream);
  cudaLaunchHostFunc(stream, function, host);
  wait_for(7);
  int other = 8;
  cudaStreamAddCallback(stream, callback, &other, 0);
  wait_for(8);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  int third = 9;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaLaunchHostFunc(stream, function, &third);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphLaunch(executable, stream);
  wait_for(9);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaFree(device);
  cudaFreeHost(host);
  cudaStreamDestroy(stream);
  std::puts("ok");
  return 0;
}
"""

CAPTURES_PAGEABLE_COPIES = r"""
#include <vector>
__global__ void doubled(int* p) { p[threadIdx.x] *= 2; }
int main() {
  constexpr int kCount = 32;
  std::vector<int> in(kCount), out(kCount);
  cudaStream_t stream;
  int* device;
  cudaStreamCreate(&stream);
  cudaMalloc(&device, 4 * kCount);
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  cudaError_t up = cudaMemcpyAsync(device, in.data(), 4 * kCount, cudaMemcpyHostToDevice, stream);
  doubled<<<1, kCount, 0, stream>>>(device);
  cudaError_t down = cudaMemcpyAsync(out.data(), device, 4 * kCount, cudaMemcpyDeviceToHost, stream);
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&executable, graph, 0);
  bool right = up == cudaSuccess && down == cudaSuccess && out[5] == 0;
  for (int round = 1; round < 4; ++round) {  // each launch reads what the memory holds then
    for (int i = 0; i < kCount; ++i) in[i] = round * i;
    cudaGraphLaunch(executable, stream);
    cudaStreamSynchronize(stream);
    for (int i = 0; i < kCount; ++i) right = right && out[i] == 2 * round * i;
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaFree(device);
  cudaStreamDestroy(stream);
  std::puts(right ? "ok" : "wrong");
  return 0;
}
"""


@pytest.mark.parametrize("text", [WAITS_BY_ITSELF, CAPTURES_PAGEABLE_COPIES], ids=["waits", "captures"])
def test_the_host_side_of_a_stream_is_done(text: str) -> None:
    result = run(build_text(text))
    assert (result.status, result.stdout) == (0, "ok\n"), result.stdout + result.stderr
    assert not result.report.findings
    assert not result.report.leaks
