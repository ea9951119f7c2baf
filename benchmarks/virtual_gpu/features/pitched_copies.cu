// Pitched memory: copies of rectangles, fills of rectangles, and a box of a volume.
#include "../programs/check.cuh"

int main() {
  Report report("pitched_copies");
  constexpr size_t kWidth = 37, kHeight = 11, kDepth = 5;
  std::vector<unsigned char> image(kWidth * kHeight), back(kWidth * kHeight), want;
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<unsigned char>(i * 7);
  unsigned char* memory = nullptr;
  size_t pitch = 0;
  CUDA_OK(cudaMallocPitch(&memory, &pitch, kWidth, kHeight));
  report.check(pitch >= kWidth && pitch % 32 == 0, "a pitch");
  CUDA_OK(cudaMemcpy2D(memory, pitch, image.data(), kWidth, kWidth, kHeight, cudaMemcpyHostToDevice));
  CUDA_OK(cudaMemset2D(memory + 2 * pitch + 5, pitch, 0xab, 10, 4));
  CUDA_OK(cudaMemcpy2D(back.data(), kWidth, memory, pitch, kWidth, kHeight, cudaMemcpyDeviceToHost));
  want = image;
  for (size_t y = 2; y < 6; ++y)
    for (size_t x = 5; x < 15; ++x) want[y * kWidth + x] = 0xab;
  report.equal("image", back, want);
  CUDA_OK(cudaFree(memory));

  cudaPitchedPtr volume{};
  CUDA_OK(cudaMalloc3D(&volume, make_cudaExtent(kWidth, kHeight, kDepth)));
  CUDA_OK(cudaMemset3D(volume, 1, make_cudaExtent(kWidth, kHeight, kDepth)));
  cudaMemcpy3DParms box{};
  std::vector<unsigned char> small(4 * 3 * 2, 9), all(kWidth * kHeight * kDepth), expected(all.size(), 1);
  box.srcPtr = make_cudaPitchedPtr(small.data(), 4, 4, 3);
  box.dstPtr = volume;
  box.dstPos = make_cudaPos(6, 7, 2);
  box.extent = make_cudaExtent(4, 3, 2);
  box.kind = cudaMemcpyHostToDevice;
  CUDA_OK(cudaMemcpy3D(&box));
  cudaMemcpy3DParms out{};
  out.srcPtr = volume;
  out.dstPtr = make_cudaPitchedPtr(all.data(), kWidth, kWidth, kHeight);
  out.extent = make_cudaExtent(kWidth, kHeight, kDepth);
  out.kind = cudaMemcpyDeviceToHost;
  CUDA_OK(cudaMemcpy3D(&out));
  for (size_t z = 2; z < 4; ++z)
    for (size_t y = 7; y < 10; ++y)
      for (size_t x = 6; x < 10; ++x) expected[(z * kHeight + y) * kWidth + x] = 9;
  report.equal("volume", all, expected);
  CUDA_OK(cudaFree(volume.ptr));
  return report.finish();
}
