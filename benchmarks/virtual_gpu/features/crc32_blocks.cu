// CRC-32 of many blocks of bytes, one thread each, with a table in shared memory.
#include "../programs/check.cuh"

constexpr int kBytes = 50;

__host__ __device__ uint32_t table_entry(uint32_t n) {
  for (int bit = 0; bit < 8; ++bit) n = n & 1 ? 0xedb88320u ^ (n >> 1) : n >> 1;
  return n;
}

__global__ void crc(const unsigned char* data, int blocks, uint32_t* out) {
  __shared__ uint32_t table[256];
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) table[i] = table_entry(i);
  __syncthreads();
  const int block = blockIdx.x * blockDim.x + threadIdx.x;
  if (block >= blocks) return;
  uint32_t value = ~0u;
  for (int i = 0; i < kBytes; ++i) value = table[(value ^ data[block * kBytes + i]) & 255] ^ (value >> 8);
  out[block] = ~value;
}

int main() {
  Report report("crc32_blocks");
  constexpr int kBlocks = 150;
  Random random(13);
  std::vector<unsigned char> data(kBlocks * kBytes);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random.below(256));
  std::vector<uint32_t> want(kBlocks);
  for (int block = 0; block < kBlocks; ++block) {
    uint32_t value = ~0u;
    for (int i = 0; i < kBytes; ++i)
      value = table_entry((value ^ data[block * kBytes + i]) & 255) ^ (value >> 8);
    want[block] = ~value;
  }
  DeviceBuffer<unsigned char> input(data);
  DeviceBuffer<uint32_t> output(kBlocks);
  crc<<<blocks_for(kBlocks, 64), 64>>>(input.get(), kBlocks, output.get());
  LAUNCHED_OK();
  report.equal("sums", output.download(), want);
  return report.finish();
}
