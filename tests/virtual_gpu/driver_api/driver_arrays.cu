// Arrays, textures and surfaces of the driver API, used by kernels of the runtime API.
#include "driver.cuh"

__global__ void fetch(CUtexObject texture, float* out) {
  const unsigned x = threadIdx.x, y = threadIdx.y;
  out[y * blockDim.x + x] = tex2D<float>(texture, x + 0.5f, y + 0.5f);
}

__global__ void fetch_row(CUtexObject texture, float* out) {
  out[threadIdx.x] = tex1Dfetch<float>(texture, static_cast<int>(threadIdx.x));
}

__global__ void put(CUsurfObject surface) {
  surf2Dwrite(100.0f + threadIdx.x, surface, static_cast<int>(threadIdx.x * sizeof(float)), 1);
}

constexpr unsigned kWidth = 8, kHeight = 4;

CUarray make_array(const float* values) {
  CUDA_ARRAY3D_DESCRIPTOR wanted{};
  wanted.Width = kWidth;
  wanted.Height = kHeight;
  wanted.Format = CU_AD_FORMAT_FLOAT;
  wanted.NumChannels = 1;
  wanted.Flags = CUDA_ARRAY3D_SURFACE_LDST;
  CUarray array = nullptr;
  DONE(cuArray3DCreate(&array, &wanted));
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = values;
  copy.srcPitch = copy.WidthInBytes = kWidth * sizeof(float);
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.Height = kHeight;
  DONE(cuMemcpy2D(&copy));
  CUDA_ARRAY_DESCRIPTOR known{};
  DONE(cuArrayGetDescriptor(&known, array));
  HOLDS(known.Width == kWidth && known.Height == kHeight && known.Format == CU_AD_FORMAT_FLOAT);
  return array;
}

void a_texture_of_an_array(CUarray array, const float* values) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  CUDA_TEXTURE_DESC sampling{};
  sampling.filterMode = CU_TR_FILTER_MODE_POINT;
  for (CUaddress_mode& mode : sampling.addressMode) mode = CU_TR_ADDRESS_MODE_CLAMP;
  CUtexObject texture = 0;
  DONE(cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
  float *out, back[kWidth * kHeight];
  OK(cudaMalloc(&out, sizeof back));
  fetch<<<1, dim3(kWidth, kHeight)>>>(texture, out);
  OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
  HOLDS(std::memcmp(back, values, sizeof back) == 0);
  CUsurfObject surface = 0;
  DONE(cuSurfObjectCreate(&surface, &resource));
  put<<<1, kWidth>>>(surface);
  fetch<<<1, dim3(kWidth, kHeight)>>>(texture, out);
  OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
  HOLDS(back[kWidth] == 100 && back[2 * kWidth - 1] == 107 && back[0] == values[0]);
  DONE(cuSurfObjectDestroy(surface));
  DONE(cuTexObjectDestroy(texture));
  OK(cudaFree(out));
}

// Bytes are parts of 1 unless the flag asks for whole numbers.
void a_texture_of_plain_memory() {
  const unsigned char bytes[4] = {0, 51, 102, 255};
  CUdeviceptr memory;
  DONE(cuMemAlloc(&memory, sizeof bytes));
  DONE(cuMemcpyHtoD(memory, bytes, sizeof bytes));
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear.devPtr = memory;
  resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT8;
  resource.res.linear.numChannels = 1;
  resource.res.linear.sizeInBytes = sizeof bytes;
  CUDA_TEXTURE_DESC sampling{};
  CUtexObject texture = 0;
  DONE(cuTexObjectCreate(&texture, &resource, &sampling, nullptr));
  float *out, back[4];
  OK(cudaMalloc(&out, sizeof back));
  fetch_row<<<1, 4>>>(texture, out);
  OK(cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost));
  HOLDS(back[0] == 0 && back[1] == 51 / 255.0f && back[3] == 1);
  DONE(cuTexObjectDestroy(texture));
  OK(cudaFree(out));
  DONE(cuMemFree(memory));
}

int main() {
  OK(cudaFree(nullptr));
  float values[kWidth * kHeight];
  for (unsigned i = 0; i < kWidth * kHeight; ++i) values[i] = 0.5f * static_cast<float>(i);
  const CUarray array = make_array(values);
  a_texture_of_an_array(array, values);
  a_texture_of_plain_memory();
  DONE(cuArrayDestroy(array));
  return finish();
}
