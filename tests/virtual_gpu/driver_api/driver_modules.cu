// PTX that a program loads while it runs: modules, libraries and linked images, kernels and variables in
// them.
#include "driver.cuh"

const char* const kCallerPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.extern .func (.param .b32 result) three();
.visible .entry store(.param .u64 out)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  .param .b32 got;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  call (got), three, ();
  ld.param.b32 %r1, [got];
  st.global.u32 [%rd2], %r1;
  ret;
}
)";
const char* const kCalleePtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .func (.param .b32 result) three()
{
  .reg .b32 %r<2>;
  mov.u32 %r1, 3;
  st.param.b32 [result], %r1;
  ret;
}
)";

__global__ void negate(float* data) {
  data[threadIdx.x] = -data[threadIdx.x];
}

void launch_forms(CUfunction scale) {
  float host[64];
  for (int i = 0; i < 64; ++i) host[i] = i;
  CUdeviceptr x, y;
  DONE(cuMemAlloc(&x, sizeof host));
  DONE(cuMemAlloc(&y, sizeof host));
  DONE(cuMemcpyHtoD(x, host, sizeof host));
  float factor = 2;
  unsigned n = 64;
  void* arguments[] = {&x, &y, &factor, &n};
  DONE(cuLaunchKernel(scale, 2, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  DONE(cuMemcpyDtoH(host, y, sizeof host));
  HOLDS(host[0] == 1 && host[63] == 127);

  struct {
    CUdeviceptr x, y;
    float factor;
    unsigned n;
  } packed = {x, y, 3, 64};
  size_t bytes = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  DONE(cuLaunchKernel(scale, 2, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  DONE(cuMemcpyDtoH(host, y, sizeof host));
  HOLDS(host[63] == 190);

  CUlaunchConfig config{};
  config.gridDimX = 2;
  config.blockDimX = 32;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  factor = 4;
  DONE(cuLaunchKernelEx(&config, scale, arguments, nullptr));
  // A kernel of the program's own file, on memory of the driver API.
  negate<<<1, 64>>>(reinterpret_cast<float*>(y));
  OK(cudaGetLastError());
  DONE(cuMemcpyDtoH(host, y, sizeof host));
  HOLDS(host[63] == -253);

  ANSWERS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(scale, 0, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  ANSWERS(CUDA_ERROR_INVALID_VALUE,
          cuLaunchKernel(scale, 1, 1, 1, 2048, 1, 1, 0, nullptr, arguments, nullptr));
  HOLDS(cudaPeekAtLastError() == cudaSuccess);  // the driver API's answers are its own
  DONE(cuMemFree(x));
  DONE(cuMemFree(y));
}

void attributes(CUfunction scale) {
  int value = 0, grid = 0, block = 0;
  DONE(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, scale));
  HOLDS(value == 1024);
  DONE(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, scale));
  HOLDS(value == 0);
  DONE(cuFuncSetAttribute(scale, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 << 10));
  DONE(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, scale));
  HOLDS(value == 64 << 10);
  DONE(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, scale, 256, 0));
  HOLDS(value == 8);
  DONE(cuOccupancyMaxPotentialBlockSize(&grid, &block, scale, nullptr, 0, 0));
  HOLDS(block % 32 == 0 && block > 0 && grid > 0);
  const char* name = nullptr;
  DONE(cuFuncGetName(&name, scale));
  HOLDS(std::strcmp(name, "scale") == 0);
  size_t offset = 0, bytes = 0;
  DONE(cuFuncGetParamInfo(scale, 2, &offset, &bytes));
  HOLDS(offset == 16 && bytes == 4);
}

void variables(CUmodule module, CUfunction scale) {
  CUdeviceptr bias = 0;
  size_t bytes = 0;
  DONE(cuModuleGetGlobal(&bias, &bytes, module, "bias"));
  HOLDS(bytes == sizeof(float));
  float value = 0;
  DONE(cuMemcpyDtoH(&value, bias, sizeof value));
  HOLDS(value == 1);
  value = 10;
  DONE(cuMemcpyHtoD(bias, &value, sizeof value));
  CUdeviceptr x;
  DONE(cuMemAlloc(&x, sizeof value));
  DONE(cuMemsetD32(x, 0, 1));
  float factor = 1;
  unsigned n = 1;
  void* arguments[] = {&x, &x, &factor, &n};
  DONE(cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  DONE(cuMemcpyDtoH(&value, x, sizeof value));
  HOLDS(value == 10);
  DONE(cuMemFree(x));
  ANSWERS(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal(&bias, &bytes, module, "nothing"));
}

void linked_images() {
  char log[512] = "untouched";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CUlinkState state;
  DONE(cuLinkCreate(2, options, values, &state));
  DONE(cuLinkAddData(state, CU_JIT_INPUT_PTX, const_cast<char*>(kCallerPtx), std::strlen(kCallerPtx) + 1,
                     "caller", 0, nullptr, nullptr));
  DONE(cuLinkAddData(state, CU_JIT_INPUT_PTX, const_cast<char*>(kCalleePtx), std::strlen(kCalleePtx) + 1,
                     "callee", 0, nullptr, nullptr));
  void* image = nullptr;
  size_t bytes = 0;
  DONE(cuLinkComplete(state, &image, &bytes));
  HOLDS(image != nullptr && bytes > 0);
  CUmodule module;
  CUfunction store;
  DONE(cuModuleLoadData(&module, image));
  DONE(cuLinkDestroy(state));
  DONE(cuModuleGetFunction(&store, module, "store"));
  CUdeviceptr out;
  DONE(cuMemAlloc(&out, sizeof(int)));
  void* arguments[] = {&out};
  DONE(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
  int value = 0;
  DONE(cuMemcpyDtoH(&value, out, sizeof value));
  HOLDS(value == 3);
  DONE(cuMemFree(out));
  DONE(cuModuleUnload(module));
}

int main() {
  CUdevice device;
  CUcontext context;
  DONE(cuInit(0));
  DONE(cuDeviceGet(&device, 0));
  DONE(cuDevicePrimaryCtxRetain(&context, device));
  DONE(cuCtxSetCurrent(context));
  CUmodule module;
  CUfunction scale = nullptr, none = nullptr;
  DONE(cuModuleLoadDataEx(&module, kScalePtx, 0, nullptr, nullptr));
  DONE(cuModuleGetFunction(&scale, module, "scale"));
  ANSWERS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, module, "nothing"));
  launch_forms(scale);
  attributes(scale);
  variables(module, scale);
  DONE(cuModuleUnload(module));

  CUlibrary library;
  CUkernel kernel;
  DONE(cuLibraryLoadData(&library, kScalePtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  DONE(cuLibraryGetKernel(&kernel, library, "scale"));
  DONE(cuKernelGetFunction(&scale, kernel));
  launch_forms(scale);
  DONE(cuLibraryUnload(library));
  linked_images();

  ANSWERS(CUDA_ERROR_INVALID_PTX, cuModuleLoadData(&module, ".version 7.0\n.target sm_80\nnonsense"));
  ANSWERS(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, "/no/such/file.ptx"));
  DONE(cuDevicePrimaryCtxRelease(device));
  return finish();
}
