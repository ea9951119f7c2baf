// Base64: three bytes become four letters, one group per thread, through a table in constant memory.
#include "../programs/check.cuh"

constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
__constant__ char letters[64];

__global__ void encode(const unsigned char* in, int bytes, char* out) {
  const int group = blockIdx.x * blockDim.x + threadIdx.x, at = 3 * group;
  if (at >= bytes) return;
  unsigned bits = 0;
  for (int i = 0; i < 3; ++i) bits = bits << 8 | (at + i < bytes ? in[at + i] : 0);
  for (int i = 0; i < 4; ++i) out[4 * group + i] = at + i <= bytes ? letters[bits >> (18 - 6 * i) & 63] : '=';
}

int main() {
  Report report("base64");
  CUDA_OK(cudaMemcpyToSymbol(letters, kLetters, 64));
  for (int bytes : {3, 100, 101, 257}) {
    std::vector<unsigned char> data(bytes);
    for (int i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 37 + bytes);
    std::vector<char> want;
    for (int at = 0; at < bytes; at += 3) {
      const int left = bytes - at;
      const unsigned a = data[at], b = left > 1 ? data[at + 1] : 0, c = left > 2 ? data[at + 2] : 0;
      want.push_back(kLetters[a >> 2]);
      want.push_back(kLetters[(a & 3) << 4 | b >> 4]);
      want.push_back(left > 1 ? kLetters[(b & 15) << 2 | c >> 6] : '=');
      want.push_back(left > 2 ? kLetters[c & 63] : '=');
    }
    DeviceBuffer<unsigned char> input(data);
    DeviceBuffer<char> output(want.size());
    encode<<<2, 64>>>(input.get(), bytes, output.get());
    LAUNCHED_OK();
    report.equal("letters", output.download(), want);
  }
  return report.finish();
}
