// Pitched memory: two-dimensional copies in every direction, memsets in one and two dimensions.
#include "check.cuh"

constexpr int kRows = 13, kColumns = 37;

__global__ void double_rows(unsigned char* data, size_t pitch) {
  const int row = blockIdx.x, column = threadIdx.x;
  if (column < kColumns)
    data[row * pitch + column] = static_cast<unsigned char>(2 * data[row * pitch + column] + row);
}

int main() {
  Report report("memcpy_2d");
  Random random(33);
  std::vector<unsigned char> in(kRows * kColumns), out(kRows * kColumns, 0), want(kRows * kColumns);
  for (auto& byte : in) byte = static_cast<unsigned char>(random.next32());
  for (int i = 0; i < kRows * kColumns; ++i) want[i] = static_cast<unsigned char>(2 * in[i] + i / kColumns);

  unsigned char *first = nullptr, *second = nullptr;
  size_t pitch = 0, other_pitch = 0;
  CUDA_OK(cudaMallocPitch(&first, &pitch, kColumns, kRows));
  CUDA_OK(cudaMallocPitch(&second, &other_pitch, kColumns + 600, kRows));
  report.check(pitch >= kColumns && pitch % 32 == 0, "the pitch covers a row and is aligned");
  CUDA_OK(cudaMemcpy2D(first, pitch, in.data(), kColumns, kColumns, kRows, cudaMemcpyHostToDevice));
  double_rows<<<kRows, 64>>>(first, pitch);
  LAUNCHED_OK();
  // Into a corner of the wider array, then out again.
  CUDA_OK(cudaMemset2D(second, other_pitch, 0x5a, kColumns + 600, kRows));
  CUDA_OK(cudaMemcpy2D(second + 100, other_pitch, first, pitch, kColumns, kRows, cudaMemcpyDeviceToDevice));
  CUDA_OK(
      cudaMemcpy2D(out.data(), kColumns, second + 100, other_pitch, kColumns, kRows, cudaMemcpyDeviceToHost));
  report.equal("round_trip", out, want);

  std::vector<unsigned char> wide(kRows * 200), want_wide(kRows * 200, 0x5a);
  CUDA_OK(cudaMemset2DAsync(second + 110, other_pitch, 0xee, 5, 3, nullptr));
  CUDA_OK(
      cudaMemcpy2DAsync(wide.data(), 200, second, other_pitch, 200, kRows, cudaMemcpyDeviceToHost, nullptr));
  CUDA_OK(cudaStreamSynchronize(nullptr));
  for (int row = 0; row < kRows; ++row) {
    for (int column = 0; column < kColumns; ++column) {
      want_wide[row * 200 + 100 + column] =
          row < 3 && column >= 10 && column < 15 ? 0xee : want[row * kColumns + column];
    }
  }
  report.equal("memset_2d", wide, want_wide);

  DeviceBuffer<uint32_t> words(100);
  words.fill_bytes(0x7f);
  CUDA_OK(cudaMemset(words.get() + 10, 0, 20 * sizeof(uint32_t)));
  CUDA_OK(cudaMemset(reinterpret_cast<char*>(words.get()) + 401 - 8, 0x01, 3));  // not aligned
  std::vector<uint32_t> want_words(100, 0x7f7f7f7fu);
  for (int i = 10; i < 30; ++i) want_words[i] = 0;
  want_words[98] = 0x0101017fu;
  report.equal("memset", words.download(), want_words);
  CUDA_OK(cudaFree(first));
  CUDA_OK(cudaFree(second));
  return report.finish();
}
