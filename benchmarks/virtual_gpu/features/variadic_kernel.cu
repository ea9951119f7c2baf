// Kernels that are templates: of types, of numbers, of a list of functors with state.
#include "../programs/check.cuh"

struct Add {
  int by;
  __host__ __device__ int operator()(int x) const { return x + by; }
};
struct Clamp {
  int low, high;
  __host__ __device__ int operator()(int x) const { return x < low ? low : x > high ? high : x; }
};
template <int kFactor>
struct Times {
  __host__ __device__ int operator()(int x) const { return x * kFactor; }
};

template <class... Steps>
__host__ __device__ int run_steps(int x, Steps... steps) {
  ((x = steps(x)), ...);
  return x;
}

template <class... Steps>
__global__ void apply(int* values, Steps... steps) {
  values[threadIdx.x] = run_steps(values[threadIdx.x], steps...);
}

int main() {
  Report report("variadic_kernel");
  std::vector<int> values(64);
  for (int i = 0; i < 64; ++i) values[i] = i;
  DeviceBuffer<int> device(values);
  apply<<<1, 64>>>(device.get(), Add{-20}, Times<3>{}, Clamp{-30, 90}, Add{1});
  apply<<<1, 64>>>(device.get(), Times<-2>{});
  apply<<<1, 64>>>(device.get());
  LAUNCHED_OK();
  for (int& value : values)
    value = run_steps(value, Add{-20}, Times<3>{}, Clamp{-30, 90}, Add{1}, Times<-2>{});
  report.equal("values", device.download(), values);
  return report.finish();
}
