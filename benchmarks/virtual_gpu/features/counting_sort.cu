// Pairs become rows of a sparse matrix: counts by atomics, a scan, then places by atomics.
#include <algorithm>

#include "../programs/check.cuh"

constexpr int kRows = 64, kPairs = 700;

__global__ void count(const int2* pairs, int* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kPairs) atomicAdd(&counts[pairs[i].x], 1);
}

__global__ void scan(const int* counts, int* first) {
  __shared__ int tile[kRows];
  const int i = threadIdx.x;
  tile[i] = counts[i];
  __syncthreads();
  for (int step = 1; step < kRows; step *= 2) {
    const int other = i >= step ? tile[i - step] : 0;
    __syncthreads();
    tile[i] += other;
    __syncthreads();
  }
  first[i + 1] = tile[i];
  if (i == 0) first[0] = 0;
}

__global__ void place(const int2* pairs, const int* first, int* taken, int* columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kPairs) columns[first[pairs[i].x] + atomicAdd(&taken[pairs[i].x], 1)] = pairs[i].y;
}

int main() {
  Report report("counting_sort");
  Random random(43);
  std::vector<int2> pairs(kPairs);
  std::vector<std::vector<int>> rows(kRows);
  for (int2& pair : pairs) {
    pair = make_int2(random.below(kRows), random.below(1000));
    rows[pair.x].push_back(pair.y);
  }
  DeviceBuffer<int2> input(pairs);
  DeviceBuffer<int> counts(kRows), first(kRows + 1), taken(kRows), columns(kPairs);
  counts.fill_bytes(0);
  taken.fill_bytes(0);
  count<<<blocks_for(kPairs, 128), 128>>>(input.get(), counts.get());
  scan<<<1, kRows>>>(counts.get(), first.get());
  place<<<blocks_for(kPairs, 128), 128>>>(input.get(), first.get(), taken.get(), columns.get());
  LAUNCHED_OK();
  const std::vector<int> starts = first.download();
  std::vector<int> got = columns.download(), want;
  for (int row = 0; row < kRows; ++row) {
    std::sort(got.begin() + starts[row], got.begin() + starts[row + 1]);  // atomics leave the order open
    std::sort(rows[row].begin(), rows[row].end());
    want.insert(want.end(), rows[row].begin(), rows[row].end());
  }
  report.equal("rows", got, want);
  return report.finish();
}
