// Memory that host and device both use, and copies that are queued: mapped host memory read in place, managed
// variables, symbols written on a stream, and a captured chain of fill, copies and a kernel.
#include "expect.cuh"

constexpr int kCount = 64;

__managed__ int step = 5;
__managed__ float table[kCount] = {1, 2, 3};
__device__ int scale = 3;
__constant__ int factors[4];

__global__ void advance() {
  if (threadIdx.x == 0) step += 1;
  table[threadIdx.x] += 1.0f;
}

__global__ void add(int* values, int amount) {
  values[threadIdx.x] += amount;
}

__global__ void multiply(int* out) {
  out[threadIdx.x] = factors[threadIdx.x] * scale;
}

namespace {

void managed_variables() {
  HOLDS(step == 5 && table[2] == 3.0f && table[3] == 0.0f);
  step = 10;
  advance<<<1, kCount>>>();
  OK(cudaDeviceSynchronize());
  HOLDS(step == 11 && table[0] == 2.0f && table[kCount - 1] == 1.0f);
  const int given = 77;
  OK(cudaMemcpyToSymbol(step, &given, sizeof given));
  HOLDS(step == 77);
  cudaPointerAttributes attributes{};
  OK(cudaPointerGetAttributes(&attributes, &step));
  HOLDS(attributes.type == cudaMemoryTypeManaged);
}

void mapped_memory() {
  int *host = nullptr, *device = nullptr;
  OK(cudaHostAlloc(&host, kCount * sizeof(int), cudaHostAllocMapped));
  for (int i = 0; i < kCount; ++i) host[i] = i;
  OK(cudaHostGetDevicePointer(&device, host, 0));
  add<<<1, kCount>>>(device, 100);
  OK(cudaDeviceSynchronize());
  HOLDS(host[0] == 100 && host[kCount - 1] == 100 + kCount - 1);
  OK(cudaFreeHost(host));
}

void symbols_on_a_stream(cudaStream_t stream) {
  const int given[4] = {1, 2, 3, 4}, two = 2;
  int *out = nullptr, back[4] = {}, scale_now = 0;
  OK(cudaMalloc(&out, sizeof back));
  OK(cudaMemcpyToSymbolAsync(factors, given, sizeof given, 0, cudaMemcpyHostToDevice, stream));
  OK(cudaMemcpyToSymbolAsync(scale, &two, sizeof two, 0, cudaMemcpyHostToDevice, stream));
  multiply<<<1, 4, 0, stream>>>(out);
  OK(cudaMemcpyAsync(back, out, sizeof back, cudaMemcpyDeviceToHost, stream));
  OK(cudaMemcpyFromSymbolAsync(&scale_now, scale, sizeof scale_now, 0, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  HOLDS(back[0] == 2 && back[3] == 8 && scale_now == 2);
  OK(cudaFree(out));
}

void graph_of_fill_copies_and_kernel(cudaStream_t stream) {
  int *in = nullptr, *out = nullptr, *work = nullptr, factors_now[4] = {};
  OK(cudaMallocHost(&in, kCount * sizeof(int)));
  OK(cudaMallocHost(&out, kCount * sizeof(int)));
  OK(cudaMalloc(&work, kCount * sizeof(int)));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaMemsetAsync(work, 0, kCount * sizeof(int), stream));
  OK(cudaMemcpyAsync(work, in, kCount / 2 * sizeof(int), cudaMemcpyHostToDevice, stream));
  add<<<1, kCount, 0, stream>>>(work, 5);
  OK(cudaMemcpyAsync(out, work, kCount * sizeof(int), cudaMemcpyDeviceToHost, stream));
  OK(cudaMemcpyToSymbolAsync(factors, work, sizeof factors, 0, cudaMemcpyDeviceToDevice, stream));
  cudaGraph_t graph = nullptr;
  OK(cudaStreamEndCapture(stream, &graph));
  size_t nodes = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &nodes));
  HOLDS(nodes == 5);
  cudaGraphExec_t executable = nullptr;
  OK(cudaGraphInstantiate(&executable, graph));
  for (int round = 1; round <= 3; ++round) {
    for (int i = 0; i < kCount; ++i) in[i] = i * round;
    OK(cudaGraphLaunch(executable, stream));
    OK(cudaStreamSynchronize(stream));
    HOLDS(out[kCount / 2 - 1] == (kCount / 2 - 1) * round + 5 && out[kCount / 2] == 5);
  }
  OK(cudaMemcpyFromSymbol(factors_now, factors, sizeof factors_now));
  HOLDS(factors_now[3] == 3 * 3 + 5);
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
  OK(cudaFreeHost(in));
  OK(cudaFreeHost(out));
  OK(cudaFree(work));
}

}  // namespace

int main() {
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  managed_variables();
  mapped_memory();
  symbols_on_a_stream(stream);
  graph_of_fill_copies_and_kernel(stream);
  OK(cudaStreamDestroy(stream));
  return finish();
}
