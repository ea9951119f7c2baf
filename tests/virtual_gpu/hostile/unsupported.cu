// Instructions and operand forms that the virtual GPU refuses: by name and line, never with a wrong answer.
#include "hostile.cuh"

#define REFUSED_KERNEL(name, ...)                                                                       \
  __global__ void name(unsigned long long* out) {                                                       \
    __shared__ alignas(128) unsigned long long box[64];                                                 \
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(box));                           \
    unsigned long long wide = 0;                                                                        \
    unsigned word = at;                                                                                 \
    float real = 1.0f;                                                                                  \
    asm volatile(__VA_ARGS__ : "+l"(wide), "+r"(word), "+f"(real) : "l"(out) : "memory"); /* refused */ \
    out[threadIdx.x] = wide + word;                                                                     \
  }

REFUSED_KERNEL(several_gpus, "multimem.red.relaxed.sys.global.add.u32 [%3], 1;")
REFUSED_KERNEL(dependent_launch, "griddepcontrol.wait;")
REFUSED_KERNEL(texture,
               "{.reg .b64 t; mov.b64 t, %0;\ntex.cube.v4.f32.f32 {%2, %2, %2, %2}, [t, {%2, %2, %2, %2}];}")

__global__ void fine(int* out) {
  out[threadIdx.x] = static_cast<int>(threadIdx.x);
}

template <void (*kernel)(unsigned long long*)>
void launch() {
  unsigned long long* out = nullptr;
  cudaMalloc(&out, 32 * sizeof *out);
  kernel<<<1, 32>>>(out);
  say_launch("launch");
  cudaFree(out);
}

void launch_fine() {
  int* out = nullptr;
  say("malloc", cudaMalloc(&out, 32 * sizeof *out));
  fine<<<1, 32>>>(out);
  say_launch("fine");
  cudaFree(out);
}

#define CASE(name) {#name, launch<name>}
const Case kCases[] = {
    CASE(several_gpus),
    CASE(dependent_launch),
    CASE(texture),
    {"fine", launch_fine},
};

int main(int count, char** arguments) {
  return run_cases(count, arguments, kCases);
}
