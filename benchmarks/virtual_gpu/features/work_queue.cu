// Persistent threads take tasks from a queue, and tasks make new ones: sums over a tree.
#include "../programs/check.cuh"

// Node i has children 2i+1 and 2i+2; the queue holds as many as the tree has nodes.
__global__ void walk(int nodes, int* queue, int* head, int* tail, int* done, unsigned long long* sum) {
  for (;;) {
    const int place = atomicAdd(head, 1);
    if (place >= nodes) return;
    int node;
    while ((node = atomicAdd(&queue[place], 0)) < 0) __nanosleep(20);
    atomicAdd(sum, static_cast<unsigned long long>(node) * node);
    for (int child = 2 * node + 1; child <= 2 * node + 2 && child < nodes; ++child)
      atomicExch(&queue[atomicAdd(tail, 1)], child);
    atomicAdd(done, 1);
  }
}

int main() {
  Report report("work_queue");
  constexpr int kNodes = 255;
  DeviceBuffer<int> queue(kNodes), counters(3);
  DeviceBuffer<unsigned long long> sum(1);
  queue.fill_bytes(0xff);
  sum.fill_bytes(0);
  const int zero = 0;
  CUDA_OK(cudaMemcpy(queue.get(), &zero, sizeof zero, cudaMemcpyHostToDevice));
  counters.upload({0, 1, 0});
  walk<<<4, 1>>>(kNodes, queue.get(), counters.get(), counters.get() + 1, counters.get() + 2, sum.get());
  LAUNCHED_OK();
  unsigned long long want = 0;
  for (unsigned long long i = 0; i < kNodes; ++i) want += i * i;
  report.equal("sum", sum.download(), {want});
  report.check(counters.download()[2] == kNodes, "every node once");
  return report.finish();
}
