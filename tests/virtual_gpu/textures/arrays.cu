// Arrays: what copies put in comes out, in whole, in part and between arrays.
#include <numeric>

#include "../api/expect.cuh"

constexpr int kWidth = 13, kHeight = 7, kDepth = 3;

std::vector<float> numbers(int count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

void planes() {
  cudaArray_t array, other;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  OK(cudaMallocArray(&array, &format, kWidth, kHeight));
  OK(cudaMallocArray(&other, &format, kWidth, kHeight));
  const std::vector<float> in = numbers(kWidth * kHeight);
  std::vector<float> out(in.size());
  const size_t row = kWidth * sizeof(float);
  OK(cudaMemcpy2DToArray(array, 0, 0, in.data(), row, row, kHeight, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2DArrayToArray(other, 0, 0, array, 0, 0, row, kHeight));
  OK(cudaMemcpy2DFromArray(out.data(), row, other, 0, 0, row, kHeight, cudaMemcpyDeviceToHost));
  HOLDS(out == in);
  const float part[4] = {-1, -2, -3, -4};
  OK(cudaMemcpy2DToArray(array, 2 * sizeof(float), 3, part, 8, 8, 2, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2DFromArray(out.data(), row, array, 0, 0, row, kHeight, cudaMemcpyDeviceToHost));
  HOLDS(out[3 * kWidth + 2] == -1 && out[3 * kWidth + 3] == -2 && out[4 * kWidth + 2] == -3);
  HOLDS(out[3 * kWidth + 4] == in[3 * kWidth + 4] && out[5 * kWidth + 2] == in[5 * kWidth + 2]);
  GIVES(cudaErrorInvalidValue,
        cudaMemcpy2DToArray(array, 4, 0, in.data(), row, row, 1, cudaMemcpyHostToDevice));
  cudaChannelFormatDesc info;
  cudaExtent extent;
  unsigned flags = 1;
  OK(cudaArrayGetInfo(&info, &extent, &flags, array));
  HOLDS(info.x == 32 && info.f == cudaChannelFormatKindFloat && extent.width == kWidth);
  HOLDS(extent.height == kHeight && extent.depth == 0 && flags == 0);
  OK(cudaFreeArray(array));
  OK(cudaFreeArray(other));
}

void solids() {
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float2>();
  const cudaExtent extent = make_cudaExtent(kWidth, kHeight, kDepth);
  OK(cudaMalloc3DArray(&array, &format, extent));
  std::vector<float> in = numbers(kWidth * kHeight * kDepth * 2), out(in.size());
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(in.data(), kWidth * sizeof(float2), kWidth, kHeight);
  copy.dstArray = array;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&copy));
  cudaMemcpy3DParms back{};
  back.srcArray = array;
  back.srcPos = make_cudaPos(1, 2, 1);
  back.dstPtr = make_cudaPitchedPtr(out.data(), 4 * sizeof(float2), 4, 3);
  back.extent = make_cudaExtent(4, 3, 2);
  back.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&back));
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 3; ++y)
      for (int x = 0; x < 8; ++x)
        HOLDS(out[(z * 3 + y) * 8 + x] == in[((z + 1) * kHeight + y + 2) * kWidth * 2 + 2 + x]);
  OK(cudaFreeArray(array));
}

void refusals() {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc three = cudaCreateChannelDesc(32, 32, 32, 0, cudaChannelFormatKindFloat);
  GIVES(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&array, &three, 4, 4));
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  GIVES(cudaErrorInvalidValue, cudaMallocArray(&array, &format, 0, 4));
  HOLDS(array == nullptr);
  OK(cudaFreeArray(nullptr));
}

int main() {
  planes();
  solids();
  refusals();
  return finish();
}
