// cudaHostRegister: memory of the program's own that kernels read and write, at the address that the device
// gives for it.
#include <sys/mman.h>

#include <cstdlib>

#include "expect.cuh"

__global__ void add_one(int* values, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) values[i] += 1;
}

// Neither the memory nor its length is a whole number of pages.
void a_kernel_works_on_it() {
  constexpr int kCount = 5000;
  std::vector<int> values(kCount + 2 * 4096);
  int* const own = values.data() + 1001;
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i);
  int* device = nullptr;
  OK(cudaHostRegister(own, kCount * sizeof(int), cudaHostRegisterMapped));
  OK(cudaHostGetDevicePointer(&device, own, 0));
  add_one<<<(kCount + 255) / 256, 256>>>(device, kCount);
  OK(cudaDeviceSynchronize());
  HOLDS(own[0] == 1002 && own[kCount - 1] == 1001 + kCount);
  own[7] = 70;  // both ways
  add_one<<<1, 8>>>(device, 8);
  OK(cudaDeviceSynchronize());
  HOLDS(own[7] == 71 && own[8] == 1010);
  int* inside = nullptr;
  OK(cudaHostGetDevicePointer(&inside, own + 100, 0));
  HOLDS(inside == device + 100);
  add_one<<<1, 1>>>(device, 1);  // not waited for: unregistering waits
  OK(cudaHostUnregister(own));
  HOLDS(own[0] == 1004 && own[7] == 71 && own[-1] == 1000 && own[kCount] == 1001 + kCount);
}

void copies_use_it() {
  constexpr size_t kBytes = 1 << 16;
  auto* const own =
      static_cast<int*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  OK(cudaHostRegister(own, kBytes, cudaHostRegisterDefault));
  own[5] = 55;
  int *memory = nullptr, back = 0;
  OK(cudaMalloc(&memory, kBytes));
  OK(cudaMemcpyAsync(memory, own, kBytes, cudaMemcpyHostToDevice, nullptr));
  OK(cudaMemcpy(&back, memory + 5, sizeof back, cudaMemcpyDeviceToHost));
  HOLDS(back == 55);
  cudaPointerAttributes known{};
  OK(cudaPointerGetAttributes(&known, own + 3));
  HOLDS(known.type == cudaMemoryTypeHost && known.hostPointer == own + 3);
  OK(cudaFree(memory));
  OK(cudaHostUnregister(own));
  OK(cudaPointerGetAttributes(&known, own));
  HOLDS(known.type == cudaMemoryTypeUnregistered);
  munmap(own, kBytes);
}

void wrong_calls() {
  auto* const own = static_cast<char*>(std::malloc(100000));
  void* pinned = nullptr;
  OK(cudaMallocHost(&pinned, 64));
  GIVES(cudaErrorInvalidValue, cudaHostRegister(nullptr, 16, 0));
  GIVES(cudaErrorInvalidValue, cudaHostRegister(own, 0, 0));
  GIVES(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own));
  OK(cudaHostRegister(own, 100000, cudaHostRegisterPortable));
  GIVES(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own, 100000, 0));
  GIVES(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(pinned, 64, 0));
  OK(cudaHostUnregister(own));
  GIVES(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own));
  OK(cudaFreeHost(pinned));
  std::free(own);
}

int main() {
  a_kernel_works_on_it();
  copies_use_it();
  wrong_calls();
  return finish();
}
