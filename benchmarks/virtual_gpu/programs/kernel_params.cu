// Kernel parameters: structs of mixed sizes by value, __grid_constant__, indices into a parameter array that
// differ between lanes, narrow and wide scalars, templates.
#include "check.cuh"

constexpr int kCount = 96;

struct Layer {
  int8_t shift;
  uint16_t scale;
  int32_t bias;
  double weight;
};
struct Network {
  Layer layers[5];
  int32_t table[100];
  const int* input;
  int64_t* output;
  int32_t count;
};

__global__ void by_value(Network net) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= net.count) return;
  const Layer& layer = net.layers[i % 5];
  const int64_t scaled = (static_cast<int64_t>(net.input[i]) * layer.scale >> layer.shift) + layer.bias;
  net.output[i] = scaled + net.table[(i * 7) % 100] + static_cast<int64_t>(layer.weight * 8);
}

// The address of a __grid_constant__ parameter may be taken and passed on without a copy.
__device__ __noinline__ int pick(const Network* net, int at) {
  return net->table[at];
}

__global__ void grid_constant(const __grid_constant__ Network net, int64_t* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < net.count) out[i] = static_cast<int64_t>(pick(&net, (i * 3) % 100)) * net.layers[(i + 1) % 5].bias;
}

__global__ void scalars(int8_t a, uint8_t b, int16_t c, bool d, uint64_t e, float f, double g, char4 h,
                        int2 k, double* out) {
  const double values[12] = {double(a), double(b),   double(c),   d ? 1.0 : 0.0, double(e),   f,
                             g,         double(h.x), double(h.y), double(h.w),   double(k.x), double(k.y)};
  if (threadIdx.x < 12) out[threadIdx.x] = values[threadIdx.x];
}

template <typename T, int kFactor>
struct Scale {
  __device__ T operator()(T x) const { return x * kFactor; }
};
template <typename T, template <typename, int> class Functor, int kFactor>
__global__ void transform(T* data, int count, Functor<T, kFactor> functor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) data[i] = functor(data[i]);
}

int main() {
  Report report("kernel_params");
  Random random(10);
  Network net = {};
  for (int k = 0; k < 5; ++k) net.layers[k] = {int8_t(k + 1), uint16_t(60000 + k), -100 * k, 0.125 * k + 1};
  for (int k = 0; k < 100; ++k) net.table[k] = random.below(5000) - 2500;
  std::vector<int> in(kCount);
  for (int& value : in) value = random.below(1 << 20) - (1 << 19);
  DeviceBuffer<int> input(in);
  DeviceBuffer<int64_t> output(kCount), picked(kCount);
  net.input = input.get();
  net.output = output.get();
  net.count = kCount;
  by_value<<<3, 40>>>(net);
  LAUNCHED_OK();
  grid_constant<<<3, 40>>>(net, picked.get());
  LAUNCHED_OK();
  std::vector<int64_t> want(kCount), want_picked(kCount);
  for (int i = 0; i < kCount; ++i) {
    const Layer& layer = net.layers[i % 5];
    want[i] = (static_cast<int64_t>(in[i]) * layer.scale >> layer.shift) + layer.bias +
              net.table[i * 7 % 100] + static_cast<int64_t>(layer.weight * 8);
    want_picked[i] = static_cast<int64_t>(net.table[i * 3 % 100]) * net.layers[(i + 1) % 5].bias;
  }
  report.equal("by_value", output.download(), want);
  report.equal("grid_constant", picked.download(), want_picked);

  DeviceBuffer<double> values(12);
  scalars<<<1, 32>>>(-5, 250, -30000, true, 1ull << 52, 0.1f, 0.1, make_char4(1, -2, 3, -4),
                     make_int2(-7, 1 << 30), values.get());
  LAUNCHED_OK();
  report.equal("scalars", values.download(),
               {-5.0, 250.0, -30000.0, 1.0, 4503599627370496.0, double(0.1f), 0.1, 1.0, -2.0, -4.0, -7.0,
                1073741824.0});

  transform<<<3, 40>>>(input.get(), kCount, Scale<int, -3>());
  LAUNCHED_OK();
  for (int& value : in) value *= -3;
  report.equal("template", input.download(), in);
  return report.finish();
}
