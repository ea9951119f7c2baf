// A counter-based generator of random numbers (Philox 4×32, ten rounds) on both sides.
#include "../programs/check.cuh"

__host__ __device__ uint32_t high_product(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(static_cast<uint64_t>(a) * b >> 32);
}

__host__ __device__ void philox(uint32_t counter, uint32_t key, uint32_t* out) {
  uint32_t x[4] = {counter, 0, 7, 0}, k0 = key, k1 = 0x12345678;
  for (int round = 0; round < 10; ++round) {
    const uint32_t h0 = high_product(0xd2511f53u, x[0]), l0 = 0xd2511f53u * x[0];
    const uint32_t h1 = high_product(0xcd9e8d57u, x[2]), l1 = 0xcd9e8d57u * x[2];
    x[0] = h1 ^ x[1] ^ k0;
    x[1] = l1;
    x[2] = h0 ^ x[3] ^ k1;
    x[3] = l0;
    k0 += 0x9e3779b9u;
    k1 += 0xbb67ae85u;
  }
  for (int i = 0; i < 4; ++i) out[i] = x[i];
}

__global__ void draw(uint32_t key, uint4* out) {
  const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t numbers[4];
  philox(i, key, numbers);
  out[i] = make_uint4(numbers[0], numbers[1], numbers[2], numbers[3]);
}

int main() {
  Report report("philox");
  DeviceBuffer<uint32_t> output(4 * 256);
  draw<<<2, 128>>>(99, reinterpret_cast<uint4*>(output.get()));
  LAUNCHED_OK();
  std::vector<uint32_t> want(4 * 256);
  for (uint32_t i = 0; i < 256; ++i) philox(i, 99, &want[4 * i]);
  report.equal("numbers", output.download(), want);
  return report.finish();
}
