// A fair lock between blocks: each takes a ticket and waits for its number.
#include "../programs/check.cuh"

__global__ void work(unsigned* next, volatile unsigned* serving, int* order, int* count) {
  if (threadIdx.x != 0) return;
  const unsigned ticket = atomicAdd(next, 1u);
  while (*serving != ticket) {
  }
  __threadfence();
  volatile int* const place = count;
  order[*place] = static_cast<int>(ticket);
  *place = *place + 1;
  __threadfence();
  *serving = ticket + 1;
}

int main() {
  Report report("ticket_lock");
  constexpr int kBlocks = 20;
  DeviceBuffer<unsigned> next(1), serving(1);
  DeviceBuffer<int> order(kBlocks), count(1);
  next.fill_bytes(0);
  serving.fill_bytes(0);
  count.fill_bytes(0);
  work<<<kBlocks, 32>>>(next.get(), serving.get(), order.get(), count.get());
  LAUNCHED_OK();
  std::vector<int> want;
  for (int i = 0; i < kBlocks; ++i) want.push_back(i);
  report.equal("order", order.download(), want);
  report.equal("count", count.download(), {kBlocks});
  return report.finish();
}
