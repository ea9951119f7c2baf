// IEEE add, subtract, multiply, fma, divide, reciprocal and square root in float and double, each in the four
// rounding modes, subnormal operands and results included.
#include "edges.cuh"
#include "rounding.cuh"

// The intrinsics carry the mode in their names; this gives each mode a type with the same members.
#define ROUNDED_ARITHMETIC(Mode, rm)                                                           \
  struct Mode {                                                                                \
    static __device__ float add(float a, float b) { return __fadd_##rm(a, b); }                \
    static __device__ float subtract(float a, float b) { return __fsub_##rm(a, b); }           \
    static __device__ float multiply(float a, float b) { return __fmul_##rm(a, b); }           \
    static __device__ float fma(float a, float b, float c) { return __fmaf_##rm(a, b, c); }    \
    static __device__ float divide(float a, float b) { return __fdiv_##rm(a, b); }             \
    static __device__ float reciprocal(float a) { return __frcp_##rm(a); }                     \
    static __device__ float root(float a) { return __fsqrt_##rm(a); }                          \
    static __device__ double add(double a, double b) { return __dadd_##rm(a, b); }             \
    static __device__ double subtract(double a, double b) { return __dsub_##rm(a, b); }        \
    static __device__ double multiply(double a, double b) { return __dmul_##rm(a, b); }        \
    static __device__ double fma(double a, double b, double c) { return __fma_##rm(a, b, c); } \
    static __device__ double divide(double a, double b) { return __ddiv_##rm(a, b); }          \
    static __device__ double reciprocal(double a) { return __drcp_##rm(a); }                   \
    static __device__ double root(double a) { return __dsqrt_##rm(a); }                        \
  };
ROUNDED_ARITHMETIC(Nearest, rn)
ROUNDED_ARITHMETIC(TowardZero, rz)
ROUNDED_ARITHMETIC(Upward, ru)
ROUNDED_ARITHMETIC(Downward, rd)

constexpr int kOperations = 7;

template <typename Mode, typename T>
__device__ void put_all(Column<T>& to, T a, T b, T c) {
  to.put(Mode::add(a, b));
  to.put(Mode::subtract(a, b));
  to.put(Mode::multiply(a, b));
  to.put(Mode::fma(a, b, c));
  to.put(Mode::divide(a, b));
  to.put(Mode::reciprocal(b));
  to.put(Mode::root(b));
}

template <typename T>
__global__ void arithmetic(const T* values, int n, T* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * n) return;
  const T a = values[i / n], b = values[i % n], c = values[(i * 7 + 3) % n];
  Column<T> to{out, n * n, i};
  put_all<Nearest>(to, a, b, c);
  put_all<TowardZero>(to, a, b, c);
  put_all<Upward>(to, a, b, c);
  put_all<Downward>(to, a, b, c);
}

template <typename T>
void reference(const std::vector<T>& values, std::vector<T>& out) {
  const int n = static_cast<int>(values.size());
  for (int i = 0; i < n * n; ++i) {
    volatile T a = values[i / n], b = values[i % n], c = values[(i * 7 + 3) % n];
    Column<T> to{out.data(), n * n, i};
    for (Rounding rounding : kRoundings) {
      volatile T result[kOperations];
      {
        HostRounding scope(rounding);
        result[0] = a + b;
        result[1] = a - b;
        result[2] = a * b;
        result[3] = std::fma(static_cast<T>(a), static_cast<T>(b), static_cast<T>(c));
        result[4] = a / b;
        result[5] = T(1) / b;
        result[6] = std::sqrt(static_cast<T>(b));
      }
      for (const volatile T& r : result) to.put(r);
    }
  }
}

template <typename T>
void run(Report& report, const char* what, const std::vector<T>& values) {
  const int n = static_cast<int>(values.size());
  DeviceBuffer<T> input(values), output(4 * kOperations * n * n);
  arithmetic<T><<<blocks_for(n * n, 128), 128>>>(input.get(), n, output.get());
  LAUNCHED_OK();
  std::vector<T> want(output.count());
  reference(values, want);
  report.equal(what, output.download(), want);
}

int main() {
  Report report("float_rounding");
  run(report, "float", edge_values_f32(15));
  run(report, "double", edge_values_f64(15));
  return report.finish();
}
