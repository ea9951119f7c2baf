// Surfaces: what kernels write is in the array, and the three ways to meet its edge.
#include "../api/expect.cuh"

constexpr int kWidth = 8, kHeight = 4;

__global__ void write(cudaSurfaceObject_t s) {
  const int x = threadIdx.x, y = threadIdx.y;
  surf2Dwrite(make_float2(x, y), s, x * sizeof(float2), y);
}

__global__ void add(cudaSurfaceObject_t s, float2* clamped, float2* zero) {
  const int x = threadIdx.x, y = threadIdx.y;
  float2 v = surf2Dread<float2>(s, x * sizeof(float2), y);
  v.x += 100;
  surf2Dwrite(v, s, x * sizeof(float2), y);
  surf2Dwrite(v, s, (x + kWidth) * sizeof(float2), y, cudaBoundaryModeZero);  // nothing happens
  if (x == 0 && y == 0) {
    *clamped = surf2Dread<float2>(s, -8, 2, cudaBoundaryModeClamp);
    *zero = surf2Dread<float2>(s, 0, kHeight, cudaBoundaryModeZero);
  }
}

__global__ void solid(cudaSurfaceObject_t s) {
  surf3Dwrite(static_cast<unsigned short>(threadIdx.x), s, threadIdx.x * 2, 1, 2);
}

int main() {
  cudaArray_t array, cube;
  const cudaChannelFormatDesc pair = cudaCreateChannelDesc<float2>(),
                              word = cudaCreateChannelDesc<unsigned short>();
  OK(cudaMallocArray(&array, &pair, kWidth, kHeight, cudaArraySurfaceLoadStore));
  OK(cudaMalloc3DArray(&cube, &word, make_cudaExtent(4, 2, 3), cudaArraySurfaceLoadStore));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface, in_cube;
  OK(cudaCreateSurfaceObject(&surface, &resource));
  resource.res.array.array = cube;
  OK(cudaCreateSurfaceObject(&in_cube, &resource));
  float2* edges;
  cudaMalloc(&edges, 2 * sizeof(float2));
  write<<<1, dim3(kWidth, kHeight)>>>(surface);
  add<<<1, dim3(kWidth, kHeight)>>>(surface, edges, edges + 1);
  solid<<<1, 4>>>(in_cube);
  OK(cudaDeviceSynchronize());
  float2 host[kHeight][kWidth], at_edges[2];
  OK(cudaMemcpy2DFromArray(host, sizeof host[0], array, 0, 0, sizeof host[0], kHeight,
                           cudaMemcpyDeviceToHost));
  cudaMemcpy(at_edges, edges, sizeof at_edges, cudaMemcpyDeviceToHost);
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) HOLDS(host[y][x].x == x + 100 && host[y][x].y == y);
  HOLDS(at_edges[0].y == 2 && at_edges[1].x == 0 && at_edges[1].y == 0);
  unsigned short row[4];
  cudaMemcpy3DParms copy{};
  copy.srcArray = cube;
  copy.srcPos = make_cudaPos(0, 1, 2);
  copy.dstPtr = make_cudaPitchedPtr(row, sizeof row, 4, 1);
  copy.extent = make_cudaExtent(4, 1, 1);
  copy.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&copy));
  for (int i = 0; i < 4; ++i) HOLDS(row[i] == i);
  OK(cudaDestroySurfaceObject(surface));
  OK(cudaDestroySurfaceObject(in_cube));
  OK(cudaFreeArray(array));
  OK(cudaFreeArray(cube));
  cudaFree(edges);
  return finish();
}
