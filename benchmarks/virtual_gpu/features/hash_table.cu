// A hash table with open addressing: threads insert by compare-and-swap, then look up.
#include "../programs/check.cuh"

constexpr unsigned kSlots = 1024, kEmpty = ~0u;

__host__ __device__ unsigned slot_of(unsigned key) {
  return key * 2654435761u >> 22;
}

__global__ void insert(const unsigned* keys, int n, unsigned* slots, unsigned* values) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (unsigned at = slot_of(keys[i]);; at = (at + 1) % kSlots) {
    const unsigned before = atomicCAS(&slots[at], kEmpty, keys[i]);
    if (before != kEmpty && before != keys[i]) continue;
    atomicAdd(&values[at], 1u);
    return;
  }
}

__global__ void look_up(const unsigned* keys, int n, const unsigned* slots, const unsigned* values,
                        unsigned* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned at = slot_of(keys[i]);
  while (slots[at] != keys[i] && slots[at] != kEmpty) at = (at + 1) % kSlots;
  out[i] = slots[at] == kEmpty ? 0 : values[at];
}

int main() {
  Report report("hash_table");
  constexpr int kCount = 1200;
  Random random(24);
  std::vector<unsigned> keys(kCount), questions(400), want;
  for (unsigned& key : keys) key = static_cast<unsigned>(random.below(700));
  for (unsigned& key : questions) key = static_cast<unsigned>(random.below(900));
  for (unsigned question : questions) {
    unsigned count = 0;
    for (unsigned key : keys) count += key == question;
    want.push_back(count);
  }
  DeviceBuffer<unsigned> d_keys(keys), slots(kSlots), values(kSlots), d_questions(questions), output(400);
  slots.fill_bytes(0xff);
  values.fill_bytes(0);
  insert<<<blocks_for(kCount, 128), 128>>>(d_keys.get(), kCount, slots.get(), values.get());
  look_up<<<blocks_for(400, 128), 128>>>(d_questions.get(), 400, slots.get(), values.get(), output.get());
  LAUNCHED_OK();
  report.equal("counts", output.download(), want);
  return report.finish();
}
