// A kernel writes a layered array through a surface, and another reads it back.
#include "../programs/check.cuh"

__global__ void put(cudaSurfaceObject_t surface) {
  const int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;
  surf2DLayeredwrite(x + 10 * y + 100 * layer, surface, x * static_cast<int>(sizeof(int)), y, layer);
}

__global__ void get(cudaSurfaceObject_t surface, int* out) {
  const int x = threadIdx.x, y = threadIdx.y, layer = blockIdx.x;
  out[(layer * blockDim.y + y) * blockDim.x + x] =
      surf2DLayeredread<int>(surface, (7 - x) * static_cast<int>(sizeof(int)), y, layer);
}

int main() {
  Report report("surface_writes");
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  CUDA_OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(8, 4, 3),
                            cudaArrayLayered | cudaArraySurfaceLoadStore));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface = 0;
  CUDA_OK(cudaCreateSurfaceObject(&surface, &resource));
  DeviceBuffer<int> output(8 * 4 * 3);
  put<<<3, dim3(8, 4)>>>(surface);
  get<<<3, dim3(8, 4)>>>(surface, output.get());
  LAUNCHED_OK();
  std::vector<int> want;
  for (int layer = 0; layer < 3; ++layer)
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 8; ++x) want.push_back(7 - x + 10 * y + 100 * layer);
  report.equal("layers", output.download(), want);
  CUDA_OK(cudaDestroySurfaceObject(surface));
  CUDA_OK(cudaFreeArray(array));
  return report.finish();
}
