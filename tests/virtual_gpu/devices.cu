// Two devices: numbers, whose memory is whose, copies between them, and which may reach which.
#include "api/expect.cuh"

__global__ void add(int* to, const int* from) {
  to[threadIdx.x] += from[threadIdx.x];
}

int main() {
  int count = 0, device = -1, can = 0;
  OK(cudaGetDeviceCount(&count));
  HOLDS(count == 2);
  OK(cudaGetDevice(&device));
  HOLDS(device == 0);
  GIVES(cudaErrorInvalidDevice, cudaSetDevice(2));
  OK(cudaDeviceCanAccessPeer(&can, 0, 1));
  HOLDS(can == 1);
  OK(cudaDeviceCanAccessPeer(&can, 1, 1));
  HOLDS(can == 0);

  int *first, *second, host[32];
  for (int i = 0; i < 32; ++i) host[i] = i;
  OK(cudaMalloc(&first, sizeof host));
  OK(cudaSetDevice(1));
  OK(cudaGetDevice(&device));
  HOLDS(device == 1);
  OK(cudaMalloc(&second, sizeof host));
  cudaPointerAttributes about{};
  OK(cudaPointerGetAttributes(&about, second + 3));
  HOLDS(about.device == 1);
  OK(cudaPointerGetAttributes(&about, first));
  HOLDS(about.device == 0);

  OK(cudaMemcpy(second, host, sizeof host, cudaMemcpyHostToDevice));
  OK(cudaMemcpyPeer(first, 0, second, 1, sizeof host));
  GIVES(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(0));
  OK(cudaDeviceEnablePeerAccess(0, 0));
  GIVES(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(0, 0));
  add<<<1, 32>>>(second, first);
  OK(cudaMemcpyPeerAsync(first, 0, second, 1, sizeof host, nullptr));
  OK(cudaMemcpy(host, first, sizeof host, cudaMemcpyDefault));
  for (int i = 0; i < 32; ++i) HOLDS(host[i] == 2 * i);
  GIVES(cudaErrorInvalidDevice, cudaMemcpyPeer(first, 0, second, 2, sizeof host));
  OK(cudaDeviceDisablePeerAccess(0));
  char name[32];
  OK(cudaDeviceGetPCIBusId(name, sizeof name, 1));
  OK(cudaDeviceGetByPCIBusId(&device, name));
  HOLDS(device == 1);
  OK(cudaFree(first));
  OK(cudaFree(second));
  return finish();
}
