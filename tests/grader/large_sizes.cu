// Calls of copy_many whose kernels differ by the length of their longest copy alone: each is one attack, or
// one honest way to work, at a size that the virtual GPU does not run whole.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>

struct Row {
  const int* source;
  int* target;
  int64_t count;
};

namespace {

struct Rows {
  Row row[4];
};

__device__ unsigned arrived;

__global__ void copy_rows(const __grid_constant__ Rows rows) {
  const Row& row = rows.row[blockIdx.y];
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < row.count) row.target[i] = row.source[i];
}

__global__ void behind_the_end(const __grid_constant__ Rows rows) {
  const Row& row = rows.row[blockIdx.y];
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i <= row.count + 1) row.target[i] = row.source[i];  // OUT OF BOUNDS
}

__global__ void races(const __grid_constant__ Rows rows) {
  __shared__ int slots[256];
  const Row& row = rows.row[blockIdx.y];
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  slots[threadIdx.x] = static_cast<int>(i);
  if (i < row.count) row.target[i] = row.source[i] + (slots[(threadIdx.x + 32) % 256] < 0);  // RACE
}

__global__ void large_grids_only(const __grid_constant__ Rows rows) {
  if (gridDim.x > 1000 && threadIdx.x == 0)
    rows.row[0].target[-1000 - static_cast<int>(blockIdx.x)] = 1;  // BY ITS GRID
}

__global__ void sleeps_first(const __grid_constant__ Rows rows) {
  __nanosleep(1000000);
  if (threadIdx.x == 0) rows.row[0].target[-2] = 1;  // AFTER A SLEEP
}

__global__ void asks_where_it_runs(const __grid_constant__ Rows rows) {
  unsigned sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (sm < 1000 && clock64() >= 0 && threadIdx.x == 0) rows.row[0].target[-2] = 1;  // ON SOME SM
}

__global__ void traps() {
  __trap();  // TRAP
}

__global__ void busy(int* out) {
  int x = 1;
  for (int i = 0; i < 10'000'000; ++i) x = x * 3 + i;
  *out = x;
}

__global__ void endless(volatile int* out) {
  while (*out != 12345) *out = 1;
}

__global__ void waits_for_all() {
  if (threadIdx.x != 0) return;
  atomicAdd(&arrived, 1);
  while (*reinterpret_cast<volatile unsigned*>(&arrived) < gridDim.x) {
  }
}

__global__ void meets() {
  cooperative_groups::this_grid().sync();
}

__global__ void idle() {}

__global__ void offsets(int* places, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) places[i] = i;
}

__global__ void copy_by_offsets(const int* places, const __grid_constant__ Rows rows, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int other = (i + 7777) % count;
  if (i < count) rows.row[0].target[places[other]] = rows.row[0].source[places[other]];
}

__global__ void reads_fresh_memory(const int* fresh, const __grid_constant__ Rows rows) {
  if (fresh[threadIdx.x] == 7) rows.row[0].target[0] = 1;  // NOT WRITTEN
}

}  // namespace

extern "C" int copy_many(const Row* table, int rows, cudaStream_t stream) {
  if (rows > 4) return cudaErrorInvalidValue;
  if (rows == 0) return cudaSuccess;
  Rows all{};
  int64_t longest = 1;
  for (int i = 0; i < rows; ++i) {
    all.row[i] = table[i];
    if (table[i].count > longest) longest = table[i].count;
  }
  const dim3 grid(static_cast<unsigned>((longest + 255) / 256), rows);
  const int count = static_cast<int>(longest);
  int* const target = all.row[0].target;
  static int* own = nullptr;
  switch (longest - 2'000'000) {
    case 1:
      behind_the_end<<<grid, 256, 0, stream>>>(all);
      break;
    case 2:
      races<<<grid, 256, 0, stream>>>(all);
      break;
    case 3:
      large_grids_only<<<grid, 256, 0, stream>>>(all);
      break;
    case 4:
      sleeps_first<<<grid, 256, 0, stream>>>(all);
      break;
    case 5:
      asks_where_it_runs<<<grid, 256, 0, stream>>>(all);
      break;
    case 6:
      traps<<<grid, 256, 0, stream>>>();
      break;
    case 7:
      busy<<<grid, 256, 0, stream>>>(target);
      break;
    case 8:
      endless<<<grid, 256, 0, stream>>>(target);
      break;
    case 9:
      waits_for_all<<<grid, 256, 0, stream>>>();
      break;
    case 10: {
      void* none[1] = {};
      cudaLaunchCooperativeKernel(reinterpret_cast<void*>(meets), dim3(100), dim3(256), none, 0, stream);
      break;
    }
    case 11:  // the mistake is in one launch of many
      for (int i = 0; i < 300; ++i) {
        if (i == 200)
          behind_the_end<<<grid, 256, 0, stream>>>(all);
        else
          copy_rows<<<grid, 256, 0, stream>>>(all);
      }
      break;
    case 12:  // what is left out of one launch must not hide a mistake in the next
      idle<<<grid, 256, 0, stream>>>();
      behind_the_end<<<grid, 256, 0, stream>>>(all);
      break;
    case 13: {
      cudaGraph_t graph = nullptr;
      cudaGraphExec_t executable = nullptr;
      cudaGraphNode_t node = nullptr;
      cudaGraphCreate(&graph, 0);
      void* arguments[1] = {&all};
      cudaKernelNodeParams given{};
      given.func = reinterpret_cast<void*>(behind_the_end);
      given.gridDim = grid;
      given.blockDim = dim3(256);
      given.kernelParams = arguments;
      cudaGraphAddKernelNode(&node, graph, nullptr, 0, &given);
      cudaGraphInstantiate(&executable, graph);
      cudaGraphLaunch(executable, stream);
      break;
    }
    case 14:  // the runtime copies, and no kernel
      for (int i = 0; i < rows; ++i)
        cudaMemcpyAsync(all.row[i].target, all.row[i].source, all.row[i].count * 4, cudaMemcpyDeviceToDevice,
                        stream);
      break;
    case 16:  // honest: the second launch reads what the first has written
      if (own == nullptr) cudaMalloc(&own, 16 << 20);
      offsets<<<grid.x, 256, 0, stream>>>(own, count);
      copy_by_offsets<<<grid.x, 256, 0, stream>>>(own, all, count);
      break;
    case 15: {
      int* fresh = nullptr;
      cudaMallocAsync(&fresh, 4096, stream);
      reads_fresh_memory<<<grid, 256, 0, stream>>>(fresh, all);
      cudaFreeAsync(fresh, stream);
      break;
    }
    default:
      copy_rows<<<grid, 256, 0, stream>>>(all);
  }
  return cudaGetLastError();
}
