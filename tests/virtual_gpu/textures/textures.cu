// Texture objects: every address mode, filter, read mode, kind of memory and number of dimensions, beside the
// formulas of the CUDA programming guide.
#include <cmath>

#include "../api/expect.cuh"

constexpr int kWidth = 8, kHeight = 4, kDepth = 3;

struct Sampling {
  cudaTextureAddressMode mode = cudaAddressModeClamp;
  cudaTextureFilterMode filter = cudaFilterModePoint;
  cudaTextureReadMode read = cudaReadModeElementType;
  bool normalized = false;
  float border = 0;
};

cudaTextureObject_t texture_of(const cudaResourceDesc& resource, const Sampling& how) {
  cudaTextureDesc desc{};
  for (cudaTextureAddressMode& mode : desc.addressMode) mode = how.mode;
  desc.filterMode = how.filter;
  desc.readMode = how.read;
  desc.normalizedCoords = how.normalized;
  desc.borderColor[0] = how.border;
  cudaTextureObject_t object = 0;
  OK(cudaCreateTextureObject(&object, &resource, &desc, nullptr));
  return object;
}

cudaResourceDesc resource_of(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

template <class Kernel, class... Arguments>
std::vector<float> run(Kernel kernel, int count, Arguments... arguments) {
  float* device;
  cudaMalloc(&device, count * sizeof(float));
  kernel<<<1, count>>>(device, arguments...);
  OK(cudaDeviceSynchronize());
  std::vector<float> host(count);
  cudaMemcpy(host.data(), device, count * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(device);
  return host;
}

__global__ void along_x(float* out, cudaTextureObject_t t, float from, float step, float y) {
  out[threadIdx.x] = tex2D<float>(t, from + step * threadIdx.x, y);
}

int fold(int i, int size, cudaTextureAddressMode mode) {
  if (mode == cudaAddressModeClamp) return std::min(std::max(i, 0), size - 1);
  if (mode == cudaAddressModeWrap) return ((i % size) + size) % size;
  const int m = ((i % (2 * size)) + 2 * size) % (2 * size);
  return m < size ? m : 2 * size - 1 - m;
}

float value(int x, int y) {
  return 1.0f + x * x + 10.0f * y;
}

float texel(int x, int y, const Sampling& how) {
  if (how.mode == cudaAddressModeBorder && (x < 0 || x >= kWidth || y < 0 || y >= kHeight)) return how.border;
  const bool folds = how.normalized || how.mode == cudaAddressModeBorder;
  const cudaTextureAddressMode mode = folds ? how.mode : cudaAddressModeClamp;
  return value(fold(x, kWidth, mode), fold(y, kHeight, mode));
}

float expected(float x, float y, const Sampling& how) {
  if (how.normalized) x *= kWidth, y *= kHeight;
  if (how.filter == cudaFilterModePoint) return texel(int(std::floor(x)), int(std::floor(y)), how);
  const float xb = std::floor((x - 0.5f) * 256 + 0.5f) / 256, yb = std::floor((y - 0.5f) * 256 + 0.5f) / 256;
  const int i = int(std::floor(xb)), j = int(std::floor(yb));
  const float a = xb - i, b = yb - j;
  return (1 - a) * (1 - b) * texel(i, j, how) + a * (1 - b) * texel(i + 1, j, how) +
         (1 - a) * b * texel(i, j + 1, how) + a * b * texel(i + 1, j + 1, how);
}

cudaArray_t plane() {
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  OK(cudaMallocArray(&array, &format, kWidth, kHeight));
  float host[kHeight][kWidth];
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) host[y][x] = value(x, y);
  OK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host[0], sizeof host[0], kHeight, cudaMemcpyHostToDevice));
  return array;
}

void every_mode() {
  cudaArray_t array = plane();
  for (const bool normalized : {false, true})
    for (const auto filter : {cudaFilterModePoint, cudaFilterModeLinear})
      for (const auto mode :
           {cudaAddressModeWrap, cudaAddressModeClamp, cudaAddressModeMirror, cudaAddressModeBorder}) {
        const Sampling how{mode, filter, cudaReadModeElementType, normalized, 7};
        const cudaTextureObject_t t = texture_of(resource_of(array), how);
        const float scale = normalized ? 1.0f / 8 : 1.0f, y = normalized ? 0.40625f : 1.625f;
        const float from = -10.0f * scale, step = 0.34375f * scale;
        const std::vector<float> got = run(along_x, 96, t, from, step, y);
        int wrong = 0;
        for (int i = 0; i < 96; ++i) wrong += std::abs(got[i] - expected(from + step * i, y, how)) > 1e-4f;
        HOLDS(wrong == 0);
        OK(cudaDestroyTextureObject(t));
      }
  OK(cudaFreeArray(array));
}

__global__ void from_memory(float* out, cudaTextureObject_t linear, cudaTextureObject_t pitched) {
  const int i = threadIdx.x;
  out[i] = tex1Dfetch<float>(linear, i - 2) + 100 * tex2D<float>(pitched, i % 4 + 0.5f, i / 4 + 0.5f);
}

void memory_as_texture() {
  float* memory;
  float* rows;
  size_t pitch;
  cudaMalloc(&memory, 16 * sizeof(float));
  OK(cudaMallocPitch(&rows, &pitch, 4 * sizeof(float), 4));
  float host[16];
  for (int i = 0; i < 16; ++i) host[i] = i + 1;
  cudaMemcpy(memory, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemcpy2D(rows, pitch, host, 16, 16, 4, cudaMemcpyHostToDevice);
  cudaResourceDesc linear{}, pitched{};
  linear.resType = cudaResourceTypeLinear;
  linear.res.linear = {memory, cudaCreateChannelDesc<float>(), sizeof host};
  pitched.resType = cudaResourceTypePitch2D;
  pitched.res.pitch2D = {rows, cudaCreateChannelDesc<float>(), 4, 4, pitch};
  const cudaTextureObject_t a = texture_of(linear, {}), b = texture_of(pitched, {});
  const std::vector<float> got = run(from_memory, 16, a, b);
  for (int i = 0; i < 16; ++i) HOLDS(got[i] == (i < 2 ? 0 : i - 1) + 100.0f * (i + 1));
  cudaResourceDesc info;
  OK(cudaGetTextureObjectResourceDesc(&info, a));
  HOLDS(info.resType == cudaResourceTypeLinear && info.res.linear.devPtr == memory);
  OK(cudaDestroyTextureObject(a));
  OK(cudaDestroyTextureObject(b));
  cudaFree(memory);
  cudaFree(rows);
}

__global__ void bytes(float* out, cudaTextureObject_t whole, cudaTextureObject_t part) {
  const uchar4 raw = tex2D<uchar4>(whole, 1.5f, 0.5f);
  const float4 scaled = tex2D<float4>(part, 1.5f, 0.5f);
  const float values[] = {float(raw.x), float(raw.y), float(raw.z), float(raw.w),
                          scaled.x,     scaled.y,     scaled.z,     scaled.w};
  out[threadIdx.x] = values[threadIdx.x];
}

void integers() {
  cudaArray_t array;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
  OK(cudaMallocArray(&array, &format, 2, 1));
  const uchar4 host[2] = {{0, 0, 0, 0}, {255, 51, 0, 102}};
  OK(cudaMemcpy2DToArray(array, 0, 0, host, sizeof host, sizeof host, 1, cudaMemcpyHostToDevice));
  Sampling normalized;
  normalized.read = cudaReadModeNormalizedFloat;
  const cudaTextureObject_t raw = texture_of(resource_of(array), {});
  const cudaTextureObject_t scaled = texture_of(resource_of(array), normalized);
  const std::vector<float> got = run(bytes, 8, raw, scaled);
  const float want[] = {255, 51, 0, 102, 1, 0.2f, 0, 0.4f};
  for (int i = 0; i < 8; ++i) HOLDS(std::abs(got[i] - want[i]) < 1e-6f);
  cudaTextureDesc linear{};
  linear.filterMode = cudaFilterModeLinear;
  const cudaResourceDesc resource = resource_of(array);
  cudaTextureObject_t none = 0;
  GIVES(cudaErrorInvalidFilterSetting, cudaCreateTextureObject(&none, &resource, &linear, nullptr));
  OK(cudaDestroyTextureObject(raw));
  OK(cudaDestroyTextureObject(scaled));
  OK(cudaFreeArray(array));
}

__global__ void in_depth(float* out, cudaTextureObject_t solid, cudaTextureObject_t layers) {
  const int i = threadIdx.x, z = i % kDepth;
  out[i] = tex3D<float>(solid, 2.0f, 1.5f, z + 0.75f) + 1000 * tex2DLayered<float>(layers, 2.5f, 1.5f, z);
}

__global__ void corners(float* out, cudaTextureObject_t t) {
  const float4 four = tex2Dgather<float4>(t, 3.0f, 2.0f, 0);
  const float values[] = {four.x, four.y, four.z, four.w};
  out[threadIdx.x] = values[threadIdx.x];
}

void deep() {
  cudaArray_t solid, layers, flat = plane();
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  const cudaExtent extent = make_cudaExtent(kWidth, kHeight, kDepth);
  OK(cudaMalloc3DArray(&solid, &format, extent));
  OK(cudaMalloc3DArray(&layers, &format, extent, cudaArrayLayered));
  std::vector<float> host(kWidth * kHeight * kDepth);
  for (int i = 0; i < kWidth * kHeight * kDepth; ++i)
    host[i] = value(i % kWidth, i / kWidth % kHeight) + 100 * (i / (kWidth * kHeight));
  for (cudaArray_t array : {solid, layers}) {
    cudaMemcpy3DParms copy{};
    copy.srcPtr = make_cudaPitchedPtr(host.data(), kWidth * sizeof(float), kWidth, kHeight);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
  }
  Sampling linear;
  linear.filter = cudaFilterModeLinear;
  const cudaTextureObject_t a = texture_of(resource_of(solid), linear),
                            b = texture_of(resource_of(layers), {});
  const std::vector<float> got = run(in_depth, kDepth, a, b);
  for (int z = 0; z < kDepth; ++z) {
    const float above = std::min(z + 1, kDepth - 1), depth = 100 * (0.75f * z + 0.25f * above);
    const float want = (value(1, 1) + value(2, 1)) / 2 + depth + 1000 * (value(2, 1) + 100 * z);
    HOLDS(std::abs(got[z] - want) < 1e-2f * z + 1e-3f);
  }
  const cudaTextureObject_t c = texture_of(resource_of(flat), {});
  const std::vector<float> four = run(corners, 4, c);
  HOLDS(four[0] == value(2, 2) && four[1] == value(3, 2) && four[2] == value(3, 1) && four[3] == value(2, 1));
  for (const cudaTextureObject_t t : {a, b, c}) OK(cudaDestroyTextureObject(t));
  for (cudaArray_t array : {solid, layers, flat}) OK(cudaFreeArray(array));
}

__global__ void ask(float* out, cudaTextureObject_t t) {
  int width, height, levels, normalized;
  asm("txq.width.b32 %0, [%1];" : "=r"(width) : "l"(t));
  asm("txq.height.b32 %0, [%1];" : "=r"(height) : "l"(t));
  asm("txq.num_mipmap_levels.b32 %0, [%1];" : "=r"(levels) : "l"(t));
  asm("txq.normalized_coords.b32 %0, [%1];" : "=r"(normalized) : "l"(t));
  const int answers[] = {width, height, levels, normalized};
  out[threadIdx.x] = static_cast<float>(answers[threadIdx.x]);
}

void questions() {
  cudaArray_t array;
  const cudaChannelFormatDesc channel = cudaCreateChannelDesc<float>();
  OK(cudaMallocArray(&array, &channel, kWidth, kHeight));
  Sampling how;
  how.normalized = true;
  const cudaTextureObject_t object = texture_of(resource_of(array), how);
  HOLDS(run(ask, 4, object) == (std::vector<float>{kWidth, kHeight, 1, 1}));
  OK(cudaDestroyTextureObject(object));
  OK(cudaFreeArray(array));
}

int main() {
  every_mode();
  questions();
  memory_as_texture();
  integers();
  deep();
  return finish();
}
