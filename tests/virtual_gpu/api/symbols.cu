// Variables of device code: __constant__, __device__ and __managed__, by copies, by address and from the
// host.
#include "expect.cuh"

__constant__ int weights[4];
__device__ int totals[4] = {1, 2, 3, 4};
__managed__ int shared_count = 7;
__device__ float scale = 2.5f;
int not_a_symbol = 0;

__global__ void use(int* out) {
  const int i = threadIdx.x;
  out[i] = weights[i] * 10 + totals[i];
  if (i == 0) shared_count += 1;
}

int main() {
  int host[4] = {5, 6, 7, 8}, back[4] = {};
  int* out = nullptr;
  OK(cudaMalloc(&out, sizeof back));
  OK(cudaMemcpyToSymbol(weights, host, sizeof host));
  OK(cudaMemcpyToSymbol(totals, host, 8, 8));  // the last two
  HOLDS(shared_count == 7);
  use<<<1, 4>>>(out);
  OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
  HOLDS(back[0] == 51 && back[1] == 62 && back[2] == 75 && back[3] == 86);
  HOLDS(shared_count == 8);
  shared_count = 20;
  use<<<1, 4>>>(out);
  OK(cudaDeviceSynchronize());
  HOLDS(shared_count == 21);

  float from_device = 0;
  OK(cudaMemcpyFromSymbol(&from_device, scale, sizeof from_device));
  HOLDS(from_device == 2.5f);
  OK(cudaMemcpyFromSymbolAsync(back, totals, 4, 4));
  OK(cudaDeviceSynchronize());
  HOLDS(back[0] == 2);

  void* address = nullptr;
  size_t bytes = 0;
  OK(cudaGetSymbolAddress(&address, totals));
  OK(cudaGetSymbolSize(&bytes, totals));
  HOLDS(bytes == sizeof totals);
  OK(cudaMemcpy(back, address, sizeof back, cudaMemcpyDeviceToHost));
  HOLDS(back[0] == 1 && back[3] == 6);
  OK(cudaGetSymbolAddress(&address, shared_count));
  HOLDS(address == &shared_count);

  GIVES(cudaErrorInvalidValue, cudaMemcpyToSymbol(weights, host, 17));
  GIVES(cudaErrorInvalidValue, cudaMemcpyToSymbol(weights, host, 8, 12));
  GIVES(cudaErrorInvalidValue, cudaMemcpyToSymbol(weights, nullptr, 4));
  GIVES(cudaErrorInvalidSymbol, cudaMemcpyToSymbol(not_a_symbol, host, 4));
  GIVES(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&address, not_a_symbol));
  GIVES(cudaErrorInvalidSymbol, cudaGetSymbolSize(&bytes, not_a_symbol));
  GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpyToSymbol(weights, host, 4, 0, cudaMemcpyDeviceToHost));
  GIVES(cudaErrorInvalidMemcpyDirection, cudaMemcpyFromSymbol(host, weights, 4, 0, cudaMemcpyHostToDevice));
  OK(cudaMemcpyToSymbol(weights, host, 0));
  OK(cudaFree(out));

  OK(cudaDeviceReset());
  shared_count = 3;  // still the host's to use
  HOLDS(shared_count == 3);
  return finish();
}
