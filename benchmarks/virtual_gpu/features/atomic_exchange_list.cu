// Linked lists that threads build with atomicExch: every element is in exactly one list, once.
#include "../programs/check.cuh"

__global__ void push(int n, int lists, int* heads, int* next) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) next[i] = atomicExch(&heads[i % lists], i);
}

int main() {
  Report report("atomic_exchange_list");
  constexpr int kCount = 1000, kLists = 7;
  DeviceBuffer<int> heads(kLists), next(kCount);
  heads.fill_bytes(0xff);
  push<<<blocks_for(kCount, 96), 96>>>(kCount, kLists, heads.get(), next.get());
  LAUNCHED_OK();
  const std::vector<int> first = heads.download(), links = next.download();
  std::vector<int> seen(kCount), want(kCount, 1);
  for (int list = 0; list < kLists; ++list) {
    for (int at = first[list]; at >= 0; at = links[at]) {
      report.check(at % kLists == list, "an element is in its own list");
      seen[at] += 1;
    }
  }
  report.equal("seen", seen, want);
  return report.finish();
}
