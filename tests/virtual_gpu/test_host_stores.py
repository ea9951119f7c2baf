"""Stores to memory that the host sees as well are counted apart, lane by lane."""

from __future__ import annotations

from tests.virtual_gpu.small_programs import build_text, run

PROGRAM = """
__global__ void all(int* to) { to[threadIdx.x] = 1; }
__global__ void every_second(int* to, int* other) { (threadIdx.x % 2 ? to : other)[threadIdx.x * 3] = 1; }
__global__ void add(int* to) { atomicAdd(to, 1); }
__global__ void read(int* to, const int* from) { to[threadIdx.x] = from[threadIdx.x]; }

int main() {
  int *device, *pinned, *managed;
  cudaMalloc(&device, 4096);
  cudaMallocHost(&pinned, 4096);
  cudaMallocManaged(&managed, 4096);
  for (int i = 0; i < 1024; ++i) pinned[i] = 0;
  all<<<1, 64>>>(device);
  all<<<1, 64>>>(pinned);
  all<<<1, 64>>>(managed);
  every_second<<<1, 64>>>(pinned, device);
  add<<<1, 64>>>(pinned);
  read<<<1, 64>>>(device, pinned);
  return cudaDeviceSynchronize();
}
"""


def test_what_kernels_store_where_the_host_sees_it():
    report = run(build_text(PROGRAM)).report
    stored = [launch.counters.host_store_bytes for launch in report.launches]
    assert stored == [0, 256, 256, 128, 256, 0]
