"""volatile orders nothing. A flag, which a loop waits for, may be read and written at any time; data that two
warps or two blocks pass in volatile words is a race like any other."""

from __future__ import annotations

from functools import cache

import pytest

from common.virtual_gpu.report import Finding
from tests.virtual_gpu.programs_together import ProgramsTogether
from tests.virtual_gpu.small_programs import PREAMBLE, build_texts

MAIN = """
int main() {
  int *data, *out;
  cudaMalloc(&data, 4096), cudaMalloc(&out, 4096);
  cudaMemset(data, 0, 4096), cudaMemset(out, 0, 4096);
  LAUNCH
  return cudaDeviceSynchronize();
}
"""
ONE_BLOCK = "kernel<<<1, 128>>>(data, out);"

# Each has SYNC where a barrier belongs. Without it, a race is found at the line marked "here", and nothing at
# lines without a mark.
SHARED = {
    "a tile of another warp": """
__global__ void kernel(const int* in, int* out) {
  __shared__ volatile int tile[128];
  tile[threadIdx.x] = in[threadIdx.x] + threadIdx.x;  // or here
  SYNC
  out[threadIdx.x] = tile[127 - threadIdx.x];  // here
}""",
    "partial sums of warps": """
__global__ void kernel(const int* in, int* out) {
  __shared__ volatile int sums[4];
  const int sum = __reduce_add_sync(0xffffffffu, in[threadIdx.x]);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  SYNC
  if (threadIdx.x == 127) {
    int total = 0;
    for (int warp = 0; warp < 4; ++warp) total += sums[warp];  // here
    out[0] = total;
  }
}""",
    "a tree over the block": """
__global__ void kernel(const int* in, int* out) {
  __shared__ volatile int sums[128];
  sums[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (threadIdx.x >= 128 - half) sums[threadIdx.x] = sums[threadIdx.x] + sums[threadIdx.x - half];  // here
    SYNC
  }
  if (threadIdx.x == 127) out[0] = sums[127];
}""",
    "a stage that is filled again": """
__global__ void kernel(const int* in, int* out) {
  __shared__ volatile int stage[128];
  int sum = 0;
  for (int round = 0; round < 3; ++round) {
    stage[threadIdx.x] = in[threadIdx.x] + round;  // here
    __syncthreads();
    sum += stage[127 - threadIdx.x];  // or here
    SYNC
  }
  out[threadIdx.x] = sum;
}""",
    "a maximum that is compared and kept": """
__global__ void kernel(const int* in, int* out) {
  __shared__ volatile int best[128];
  best[threadIdx.x] = in[threadIdx.x];  // or here
  SYNC
  int mine = in[threadIdx.x];
  if (best[127 - threadIdx.x] > mine) mine = best[127 - threadIdx.x];  // here
  out[threadIdx.x] = mine;
}""",
    "two warps write one word": """
__global__ void kernel(const int* in, int* out) {
  __shared__ volatile int last;
  if (threadIdx.x == 0) last = in[0];
  SYNC
  if (threadIdx.x == 64) last = in[64] + 1;  // here
  __syncthreads();
  out[threadIdx.x] = last;
}""",
    "a count that is read too early": """
__global__ void kernel(const int* in, int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  atomicAdd(&count, in[threadIdx.x] + 1);  // or here
  SYNC
  out[threadIdx.x] = *static_cast<volatile int*>(&count);  // here
}""",
    "a count that begins too late": """
__global__ void kernel(const int* in, int* out) {
  __shared__ int count;
  if (threadIdx.x == 0) *static_cast<volatile int*>(&count) = 0;
  SYNC
  atomicAdd(&count, in[threadIdx.x] + 1);  // here
  __syncthreads();
  out[threadIdx.x] = count;
}""",
    "relaxed atomics as data": """
#include <cuda/atomic>
__global__ void kernel(const int* in, int* out) {
  __shared__ int tile[128];
  auto word = [&](int i) { return cuda::atomic_ref<int, cuda::thread_scope_block>(tile[i]); };
  word(threadIdx.x).store(in[threadIdx.x], cuda::memory_order_relaxed);  // or here
  SYNC
  out[threadIdx.x] = word(127 - threadIdx.x).load(cuda::memory_order_relaxed);  // here
}""",
    "a value out of a function": """
__device__ __noinline__ int look(volatile int* at) { return *at; }  // here
__global__ void kernel(const int* in, int* out) {
  __shared__ volatile int tile[128];
  tile[threadIdx.x] = in[threadIdx.x];  // or here
  SYNC
  out[threadIdx.x] = look(&tile[127 - threadIdx.x]);
}""",
    "data behind volatile data": """
__global__ void kernel(const int* in, int* out) {
  __shared__ int tile[128];
  __shared__ volatile int other[128];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  tile[threadIdx.x] = in[threadIdx.x] + 1;  // or here
  other[threadIdx.x] = 1;  // or here
  SYNC
  const int seen = other[127 - threadIdx.x];  // here
  out[threadIdx.x] = seen + tile[127 - threadIdx.x];  // or here
}""",
}

# Correct uses of volatile, in shared memory and between blocks: no finding may come of any of them.
HONEST = {
    "a flag between warps": """
__global__ void kernel(int* data, int* out) {
  __shared__ volatile int ready;
  __shared__ int value[32];
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x < 32) {
    value[threadIdx.x] = threadIdx.x;
    __threadfence_block();
    __syncwarp();
    if (threadIdx.x == 0) ready = 1;
  } else {
    while (ready == 0) __nanosleep(20);
    __threadfence_block();
    out[threadIdx.x] = value[threadIdx.x % 32];
  }
}""",
    "the flag is what a function returns": """
__device__ __noinline__ int look(volatile int* at) { return *at; }
__global__ void kernel(int* data, int* out) {
  __shared__ volatile int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 96) ready = 5;
  if (threadIdx.x < 32) {
    while (look(&ready) != 5) {}
    out[threadIdx.x] = 1;
  }
}""",
    "one thread looks for the block": """
__global__ void kernel(int* data, int* out) {
  __shared__ bool done;
  volatile int* flag = data;
  if (blockIdx.x > 0) {
    if (blockIdx.x == 1 && threadIdx.x == 0) *flag = 1;
    return;
  }
  do {
    __syncthreads();
    if (threadIdx.x == 0) done = *flag == 1;
    __syncthreads();
  } while (!done);
  out[threadIdx.x] = 1;
}""",
    "a search that ends early": """
__global__ void kernel(int* data, int* out) {
  __shared__ volatile int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < 1024; i += 128) {
    if (found) break;
    if (data[i] == i) found = 1;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = found;
}""",
    "a flag that is looked at once": """
__global__ void kernel(int* data, int* out) {
  __shared__ volatile int stop;
  if (threadIdx.x == 0) stop = 0;
  __syncthreads();
  if (threadIdx.x == 0) stop = 1;
  if (stop) return;
  out[threadIdx.x] = 1;
}""",
    "a rising number": """
__global__ void kernel(int* data, int* out) {
  __shared__ volatile int progress;
  __shared__ int values[16];
  if (threadIdx.x == 0) progress = 0;
  __syncthreads();
  if (threadIdx.x == 0)
    for (int i = 0; i < 16; ++i) {
      values[i] = i * i;
      __threadfence_block();
      progress = i + 1;
    }
  if (threadIdx.x == 32)
    for (int i = 0; i < 16; ++i) {
      while (progress <= i) {}
      __threadfence_block();
      out[i] = values[i];
    }
}""",
    "a lock that a store opens": """
__global__ void kernel(int* data, int* out) {
  __shared__ int lock;
  __shared__ volatile int sum;
  if (threadIdx.x == 0) lock = 0, sum = 0;
  __syncthreads();
  for (bool done = false; !done;) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence_block();
      sum = sum + threadIdx.x;
      __threadfence_block();
      *static_cast<volatile int*>(&lock) = 0;
      done = true;
    }
  }
  __syncthreads();
  out[threadIdx.x] = sum;
}""",
    "a guess that atomicCAS checks": """
__global__ void kernel(int* data, int* out) {
  __shared__ int best;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  int old = *static_cast<volatile int*>(&best), assumed;
  do {
    assumed = old;
    old = atomicCAS(&best, assumed, max(assumed, static_cast<int>(threadIdx.x)));
  } while (old != assumed);
  if (threadIdx.x > *static_cast<volatile int*>(&best)) atomicMax(&best, threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = best;
}""",
    "a reduction inside of a warp": """
__global__ void kernel(int* data, int* out) {
  __shared__ volatile int sums[128];
  const int lane = threadIdx.x % 32;
  volatile int* mine = sums + threadIdx.x - lane;
  mine[lane] = data[threadIdx.x];
  __syncwarp();
  for (int half = 16; half > 0; half /= 2) {
    if (lane < half) mine[lane] = mine[lane] + mine[lane + half];
    __syncwarp();
  }
  if (lane == 0) out[threadIdx.x / 32] = mine[0];
}""",
    "the last block adds up": """
__device__ unsigned arrived;
__global__ void kernel(int* data, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    data[blockIdx.x] = blockIdx.x;
    __threadfence();
    last = atomicAdd(&arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  __threadfence();
  int sum = 0;
  for (int i = 0; i < gridDim.x; ++i) sum += static_cast<volatile int*>(data)[i];
  out[0] = sum;
}""",
    "look-back": """
__device__ unsigned long long state[8];
__global__ void kernel(int* data, int* out) {
  if (threadIdx.x != 0) return;
  volatile unsigned long long* states = state;
  const int b = blockIdx.x;
  states[b] = 1ull << 32 | static_cast<unsigned>(data[b] + b);
  unsigned before = 0;
  for (int at = b - 1; at >= 0;) {
    const unsigned long long seen = states[at];
    if (seen == 0) continue;
    before += static_cast<unsigned>(seen);
    if (seen >> 32 == 2) break;
    --at;
  }
  states[b] = 2ull << 32 | (before + data[b] + b);
  out[b] = before;
}""",
    "a warp looks back": """
__device__ unsigned long long state[64];
__global__ void kernel(int* data, int* out) {
  if (threadIdx.x >= 32) return;
  volatile unsigned long long* states = state;
  const int b = blockIdx.x;
  if (threadIdx.x == 0) states[b] = 1ull << 32 | static_cast<unsigned>(data[b] + b);
  const int at = b - 1 - static_cast<int>(threadIdx.x);
  unsigned long long seen;
  do seen = at >= 0 ? states[at] : 1ull << 32;
  while (__any_sync(0xffffffffu, seen == 0));
  const int before = __reduce_add_sync(0xffffffffu, static_cast<int>(static_cast<unsigned>(seen)));
  if (threadIdx.x == 0) out[b] = before;
}""",
    "a barrier of all blocks": """
__device__ unsigned arrived;
__device__ volatile unsigned passed;
__device__ void meet(unsigned number) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    if (atomicAdd(&arrived, 1u) == gridDim.x - 1) {
      *static_cast<volatile unsigned*>(&arrived) = 0;
      __threadfence();
      passed = number;
    } else {
      while (passed < number) {}
    }
    __threadfence();
  }
  __syncthreads();
}
__global__ void kernel(int* data, int* out) {
  for (unsigned round = 0; round < 3; ++round) {
    data[blockIdx.x * 128 + threadIdx.x] += round;
    meet(2 * round + 1);
    out[blockIdx.x * 128 + threadIdx.x] += data[(gridDim.x - 1 - blockIdx.x) * 128 + threadIdx.x];
    meet(2 * round + 2);
  }
}""",
    "one thread waits for all blocks' flags": """
__global__ void kernel(int* data, int* out) {
  volatile int* flags = data;
  if (threadIdx.x != 0) return;
  out[16 + blockIdx.x] = blockIdx.x;
  __threadfence();
  flags[blockIdx.x] = 1;
  if (blockIdx.x != 0) return;
  bool all;
  do {
    all = true;
    for (int b = 0; b < gridDim.x; ++b) all &= flags[b] != 0;
  } while (!all);
  __threadfence();
  int sum = 0;
  for (int b = 0; b < gridDim.x; ++b) sum += out[16 + b];
  out[0] = sum;
}""",
}
BETWEEN_BLOCKS = {
    "one thread looks for the block",
    "the last block adds up",
    "look-back",
    "a warp looks back",
    "a barrier of all blocks",
    "one thread waits for all blocks' flags",
}

# What one block leaves in volatile words for others, with nothing that says when.
GLOBAL = {
    "partial sums of blocks": """
__global__ void kernel(int* data, int* out) {
  volatile int* parts = data;
  if (threadIdx.x != 0) return;
  parts[blockIdx.x] = blockIdx.x + out[8];
  if (blockIdx.x != gridDim.x - 1) return;
  int sum = 0;
  for (int b = 0; b < gridDim.x; ++b) sum += parts[b];  // here
  out[0] = sum;
}""",
    "a word that is read before it is written": """
__global__ void kernel(int* data, int* out) {
  volatile int* words = data;
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = words[(blockIdx.x + 1) % gridDim.x];  // or here
  words[blockIdx.x] = out[16 + blockIdx.x];  // here
}""",
    "read plainly, written volatile": """
__global__ void kernel(int* data, int* out) {
  if (threadIdx.x != 0) return;
  out[blockIdx.x] = data[(blockIdx.x + 1) % gridDim.x];  // or here
  static_cast<volatile int*>(data)[blockIdx.x] = out[16 + blockIdx.x];  // here
}""",
}


def program(kernel: str, sync: str = "", launch: str = ONE_BLOCK) -> str:
    return kernel.replace("SYNC", sync) + MAIN.replace("LAUNCH", launch)


FOUR_BLOCKS = "kernel<<<4, 32>>>(data, out);"
PROGRAMS = {
    **{f"wrong {name}": program(kernel) for name, kernel in SHARED.items()},
    **{f"right {name}": program(kernel, "__syncthreads();") for name, kernel in SHARED.items()},
    **{
        f"honest {name}": program(
            kernel, launch="kernel<<<4, 128>>>(data, out);" if name in BETWEEN_BLOCKS else ONE_BLOCK
        )
        for name, kernel in HONEST.items()
    },
    **{f"global {name}": program(kernel, launch=FOUR_BLOCKS) for name, kernel in GLOBAL.items()},
}
FILES = {name: "".join(c if c.isalnum() else "_" for c in name) for name in PROGRAMS}


@cache
def programs() -> ProgramsTogether:
    return build_texts({FILES[name]: text for name, text in PROGRAMS.items()})


def findings(name: str, *, between_blocks: bool = False) -> list[Finding]:
    options = {"global_race": "on"} if between_blocks else None
    run = programs().run(FILES[name], options=options, timeout=60)
    assert run.status == 0, run.stdout + run.stderr
    return [finding for finding in run.report.findings if finding.kind != "leak"]


def lines_with(mark: str, name: str) -> set[int]:
    lines = (PREAMBLE + PROGRAMS[name]).split("\n")
    return {number for number, line in enumerate(lines, start=1) if mark in line}


def assert_races(found: list[Finding], name: str) -> None:
    races = [finding for finding in found if finding.kind == "race"]
    assert {finding.line for finding in races} >= lines_with("// here", name)
    blamed = {finding.line for finding in found}
    assert blamed <= lines_with("// here", name) | lines_with("// or here", name)


@pytest.mark.parametrize("name", SHARED)
def test_volatile_data_without_a_barrier_is_a_race(name: str):
    found = findings(f"wrong {name}")
    assert_races(found, f"wrong {name}")
    assert any("volatile orders nothing: put __syncthreads()" in finding.advice for finding in found)


@pytest.mark.parametrize("name", SHARED)
def test_with_the_barrier_it_is_none(name: str):
    assert findings(f"right {name}") == []


@pytest.mark.parametrize("name", HONEST)
def test_flags_locks_and_what_they_guard_are_no_race(name: str):
    assert findings(f"honest {name}") == []


@pytest.mark.parametrize("name", sorted(BETWEEN_BLOCKS))
def test_nor_between_blocks(name: str):
    assert findings(f"honest {name}", between_blocks=True) == []


@pytest.mark.parametrize("name", GLOBAL)
def test_volatile_data_between_blocks_is_a_race(name: str):
    assert_races(findings(f"global {name}", between_blocks=True), f"global {name}")


def test_its_advice_is_a_flag():
    (race,) = findings("global partial sums of blocks", between_blocks=True)
    assert "volatile orders nothing" in race.advice
    assert "wait for that flag in a loop" in race.advice
