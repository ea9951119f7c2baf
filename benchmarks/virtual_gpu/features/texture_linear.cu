// A texture of plain memory and one of an array: whole texels, clamped and wrapped.
#include "../programs/check.cuh"

__global__ void read(cudaTextureObject_t row, cudaTextureObject_t wrapped, float* out) {
  const int i = threadIdx.x;
  out[i] = tex1Dfetch<float>(row, i);
  out[64 + i] = tex2D<float>(wrapped, (i % 8 + 0.5f) / 8 + 2.0f, (i / 8 + 0.5f) / 8 - 1.0f);
}

int main() {
  Report report("texture_linear");
  std::vector<float> values(64), want;
  for (int i = 0; i < 64; ++i) values[i] = static_cast<float>(i * i);
  DeviceBuffer<float> memory(values), output(128);
  cudaResourceDesc linear{};
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear.devPtr = memory.get();
  linear.res.linear.desc = cudaCreateChannelDesc<float>();
  linear.res.linear.sizeInBytes = 64 * sizeof(float);
  cudaTextureDesc plain{};
  cudaTextureObject_t row = 0, wrapped = 0;
  CUDA_OK(cudaCreateTextureObject(&row, &linear, &plain, nullptr));
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  CUDA_OK(cudaMallocArray(&array, &format, 8, 8));
  CUDA_OK(cudaMemcpy2DToArray(array, 0, 0, values.data(), 32, 32, 8, cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc repeat{};
  repeat.addressMode[0] = repeat.addressMode[1] = cudaAddressModeWrap;
  repeat.normalizedCoords = 1;
  CUDA_OK(cudaCreateTextureObject(&wrapped, &resource, &repeat, nullptr));
  read<<<1, 64>>>(row, wrapped, output.get());
  LAUNCHED_OK();
  want = values;
  want.insert(want.end(), values.begin(), values.end());
  report.equal("texels", output.download(), want);
  CUDA_OK(cudaDestroyTextureObject(row));
  CUDA_OK(cudaDestroyTextureObject(wrapped));
  CUDA_OK(cudaFreeArray(array));
  return report.finish();
}
