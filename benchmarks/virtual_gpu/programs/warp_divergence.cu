// Independent thread scheduling: halves of a warp that exchange data through shared memory, __syncwarp and
// shuffles reached from both sides of a branch, lanes that leave early, loops of different length.
#include "check.cuh"

constexpr unsigned kAll = 0xffffffffu;

__global__ void exchange_between_halves(const int* in, int* out) {
  __shared__ int box[32];
  const int lane = threadIdx.x;
  int result;
  if (lane < 16) {
    box[lane] = in[lane] * 2;
    __syncwarp();  // pairs with the other branch's first
    result = box[31 - lane];
    __syncwarp();  // reads done
    box[lane] = result + 1;
    __syncwarp();
  } else {
    box[lane] = in[lane] * 3;
    __syncwarp();
    result = box[31 - lane];
    __syncwarp();
    box[lane] = result + 2;
    __syncwarp();
  }
  out[lane] = result * 1000 + box[lane ^ 16];
}

__global__ void collectives_in_branches(const int* in, int* out) {
  const int lane = threadIdx.x;
  const int x = in[lane];
  int result;
  if (lane % 2 == 0) {
    result = __shfl_down_sync(0x55555555u, x, 2) + __popc(__ballot_sync(0x55555555u, x > 0));
  } else {
    result = __shfl_up_sync(0xaaaaaaaau, x, 2) - __popc(__ballot_sync(0xaaaaaaaau, x > 0));
  }
  // The whole warp meets in one shuffle written twice, once in each branch.
  int met;
  if (x > 0) {
    met = __shfl_xor_sync(kAll, x, 1);
  } else {
    met = __shfl_xor_sync(kAll, x, 1) + 1;
  }
  out[lane] = result * 10 + met;
}

__global__ void early_exit(const int* in, int* out) {
  const int lane = threadIdx.x;
  if (lane >= 24) {
    out[lane] = -1;
    return;
  }
  // Exited lanes are no longer waited for, and the mask names the rest.
  const int sum = __reduce_add_sync(0x00ffffffu, in[lane]);
  __syncwarp(0x00ffffffu);
  out[lane] = sum;
}

__global__ void uneven_loops(const int* in, int* out) {
  const int lane = threadIdx.x;
  int steps = 0;
  for (unsigned n = static_cast<unsigned>(in[lane] & 1023) + 1; n != 1; n = n % 2 ? 3 * n + 1 : n / 2)
    ++steps;
  __syncwarp();
  const unsigned longer = __ballot_sync(kAll, steps > 40);
  out[lane] = steps * 100 + __popc(longer);
}

int collatz(unsigned n) {
  int steps = 0;
  for (; n != 1; n = n % 2 ? 3 * n + 1 : n / 2) ++steps;
  return steps;
}

int main() {
  Report report("warp_divergence");
  Random random(14);
  std::vector<int> in(32);
  for (int& value : in) value = random.below(2001) - 1000;
  DeviceBuffer<int> input(in), output(32);
  std::vector<int> want(32);

  exchange_between_halves<<<1, 32>>>(input.get(), output.get());
  LAUNCHED_OK();
  const auto first = [&](int lane) { return in[lane] * (lane < 16 ? 2 : 3); };
  const auto second = [&](int lane) { return first(31 - lane) + (lane < 16 ? 1 : 2); };
  for (int lane = 0; lane < 32; ++lane) want[lane] = first(31 - lane) * 1000 + second(lane ^ 16);
  report.equal("exchange", output.download(), want);

  collectives_in_branches<<<1, 32>>>(input.get(), output.get());
  LAUNCHED_OK();
  int positive[2] = {0, 0};
  for (int lane = 0; lane < 32; ++lane) positive[lane % 2] += in[lane] > 0;
  for (int lane = 0; lane < 32; ++lane) {
    const int even = in[lane + 2 < 32 ? lane + 2 : lane] + positive[0];
    const int odd = in[lane >= 2 ? lane - 2 : lane] - positive[1];
    want[lane] = (lane % 2 == 0 ? even : odd) * 10 + in[lane ^ 1] + (in[lane] > 0 ? 0 : 1);
  }
  report.equal("collectives", output.download(), want);

  early_exit<<<1, 32>>>(input.get(), output.get());
  LAUNCHED_OK();
  int sum = 0;
  for (int lane = 0; lane < 24; ++lane) sum += in[lane];
  for (int lane = 0; lane < 32; ++lane) want[lane] = lane < 24 ? sum : -1;
  report.equal("early_exit", output.download(), want);

  uneven_loops<<<1, 32>>>(input.get(), output.get());
  LAUNCHED_OK();
  int longer = 0;
  for (int lane = 0; lane < 32; ++lane) longer += collatz((in[lane] & 1023) + 1) > 40;
  for (int lane = 0; lane < 32; ++lane) want[lane] = collatz((in[lane] & 1023) + 1) * 100 + longer;
  report.equal("uneven_loops", output.download(), want);
  return report.finish();
}
