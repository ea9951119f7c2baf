// A dense switch, the PTX jump table (brx.idx), nested loops with break and continue, and a small bytecode
// machine whose lanes run different programs.
#include "check.cuh"

constexpr int kCount = 160, kSteps = 24;

__global__ void switches(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int x = in[i];
  switch (x & 15) {
    case 0:
      x = x * 3 + 1;
      break;
    case 1:
      x = x ^ 0x5a5a;
      break;
    case 2:
      x = -x;
      break;
    case 3:
      x = x >> 3;
      [[fallthrough]];
    case 4:
      x += 1000;
      break;
    case 5:
      x = x / 7;
      break;
    case 6:
      x = x % 11;
      break;
    case 7:
      x = x << 5;
      break;
    case 8:
      x = x | 0x77;
      break;
    case 9:
      x = x & 0xf0f0;
      break;
    case 10:
      x = x * x;
      break;
    case 11:
      x = 17 - x;
      break;
    case 12:
      x = ~x;
      break;
    case 14:
      x = x + (x >> 1);
      break;
    default:
      x = 99;
      break;
  }
  out[i] = x;
}

int switched(int x) {
  const int results[16] = {x * 3 + 1,    x ^ 0x5a5a, -x,         (x >> 3) + 1000, x + 1000, x / 7, x % 11,
                           x << 5,       x | 0x77,   x & 0xf0f0, x * x,           17 - x,   ~x,    99,
                           x + (x >> 1), 99};
  return results[x & 15];
}

// nvcc 13 turns switches into comparisons; a jump table is written by hand.
__global__ void jump_table(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned index = in[i] & 3;
  int result = in[i];
  asm("{\n\t"
      "targets: .branchtargets add, negate, keep, double;\n\t"
      "brx.idx %1, targets;\n\t"
      "add: add.s32 %0, %0, 100;\n\t"
      "bra done;\n\t"
      "double: shl.b32 %0, %0, 1;\n\t"
      "bra done;\n\t"
      "negate: neg.s32 %0, %0;\n\t"
      "keep:\n\t"
      "done:\n\t"
      "}"
      : "+r"(result)
      : "r"(index));
  out[i] = result;
}

int jumped(int x) {
  const int results[4] = {x + 100, -x, x, x * 2};
  return results[x & 3];
}

// Codes: 0 push, 1 add, 2 multiply, 3 swap, 4 duplicate, 5 skip the next when the top is odd, 6 stop, 7
// negate.
__global__ void machine(const uint8_t* programs, unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned stack[kSteps + 2];
  int top = 1;
  stack[0] = i;
  stack[1] = i * 3 + 1;
  for (int step = 0; step < kSteps; ++step) {
    switch (programs[step * kCount + i]) {
      case 0:
        stack[++top] = step + i;
        break;
      case 1:
        if (top > 0) {
          stack[top - 1] += stack[top];
          --top;
        }
        break;
      case 2:
        if (top > 0) {
          stack[top - 1] *= stack[top];
          --top;
        }
        break;
      case 3:
        if (top > 0) {
          const unsigned t = stack[top];
          stack[top] = stack[top - 1];
          stack[top - 1] = t;
        }
        break;
      case 4: {
        const unsigned t = stack[top];
        stack[++top] = t;
        break;
      }
      case 5:
        if (stack[top] & 1) ++step;
        break;
      case 6:
        step = kSteps;
        break;
      default:
        stack[top] = 0u - stack[top];
        break;
    }
  }
  unsigned digest = top;
  while (top >= 0) digest = digest * 31 + stack[top--];
  out[i] = digest;
}

unsigned run_machine(const std::vector<uint8_t>& programs, int i) {
  std::vector<unsigned> stack = {static_cast<unsigned>(i), static_cast<unsigned>(i * 3 + 1)};
  for (int step = 0; step < kSteps; ++step) {
    const int code = programs[step * kCount + i];
    if (code == 6) break;
    if (code == 0) stack.push_back(step + i);
    if ((code == 1 || code == 2) && stack.size() > 1) {
      const unsigned last = stack.back();
      stack.pop_back();
      stack.back() = code == 1 ? stack.back() + last : stack.back() * last;
    }
    if (code == 3 && stack.size() > 1) std::swap(stack.back(), stack[stack.size() - 2]);
    if (code == 4) stack.push_back(unsigned{stack.back()});
    if (code == 5 && (stack.back() & 1)) ++step;
    if (code == 7) stack.back() = 0u - stack.back();
  }
  unsigned digest = static_cast<unsigned>(stack.size()) - 1;
  for (size_t at = stack.size(); at-- > 0;) digest = digest * 31 + stack[at];
  return digest;
}

__global__ void loops(int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (int a = 0; a < 20; ++a) {
    if ((a + i) % 3 == 0) continue;
    for (int b = a;; b += 2) {
      if (b * b > i * 5) break;
      sum += b;
      if (sum > 500) goto done;  // out of both loops
    }
    sum ^= a;
  }
done:
  do {
    sum = sum % 2 ? sum * 3 + 1 : sum / 2;
  } while (sum > i + 3 && sum < 100000);
  out[i] = sum;
}

int looped(int i) {
  int sum = 0;
  bool done = false;
  for (int a = 0; a < 20 && !done; ++a) {
    if ((a + i) % 3 != 0) {
      for (int b = a; b * b <= i * 5 && !done; b += 2) {
        sum += b;
        done = sum > 500;
      }
      if (!done) sum ^= a;
    }
  }
  do {
    sum = sum % 2 ? sum * 3 + 1 : sum / 2;
  } while (sum > i + 3 && sum < 100000);
  return sum;
}

int main() {
  Report report("control_flow");
  Random random(9);
  std::vector<int> in(kCount), want_switch(kCount), want_loops(kCount), want_jump(kCount);
  std::vector<uint8_t> programs(kCount * kSteps);
  std::vector<unsigned> want_machine(kCount);
  for (int& value : in) value = random.below(20000);
  for (uint8_t& code : programs) code = static_cast<uint8_t>(random.below(20) == 0 ? 6 : random.below(7) % 6);
  for (size_t k = 0; k < programs.size(); k += 17) programs[k] = 7;
  for (int i = 0; i < kCount; ++i) {
    want_switch[i] = switched(in[i]);
    want_machine[i] = run_machine(programs, i);
    want_loops[i] = looped(i);
    want_jump[i] = jumped(in[i]);
  }
  DeviceBuffer<int> input(in), switched_out(kCount), looped_out(kCount), jumped_out(kCount);
  DeviceBuffer<uint8_t> program_input(programs);
  DeviceBuffer<unsigned> machine_out(kCount);
  switches<<<2, kCount / 2>>>(input.get(), switched_out.get());
  LAUNCHED_OK();
  jump_table<<<2, kCount / 2>>>(input.get(), jumped_out.get());
  LAUNCHED_OK();
  machine<<<2, kCount / 2>>>(program_input.get(), machine_out.get());
  LAUNCHED_OK();
  loops<<<2, kCount / 2>>>(looped_out.get());
  LAUNCHED_OK();
  report.equal("switches", switched_out.download(), want_switch);
  report.equal("jump_table", jumped_out.download(), want_jump);
  report.equal("machine", machine_out.download(), want_machine);
  report.equal("loops", looped_out.download(), want_loops);
  return report.finish();
}
