// Two sorted lists merged: each thread finds its part by a binary search on a diagonal.
#include <algorithm>

#include "../programs/check.cuh"

constexpr int kPerThread = 9;

__global__ void merge_lists(const int* a, int na, const int* b, int nb, int* out) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * kPerThread;
  if (first >= na + nb) return;
  int low = max(0, first - nb), high = min(first, na);
  while (low < high) {
    const int middle = (low + high) / 2;
    if (a[middle] <= b[first - 1 - middle]) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  int i = low, j = first - low;
  for (int k = first; k < min(first + kPerThread, na + nb); ++k)
    out[k] = j >= nb || (i < na && a[i] <= b[j]) ? a[i++] : b[j++];
}

int main() {
  Report report("merge_path");
  Random random(27);
  std::vector<int> a(500), b(377), want(877);
  for (int& value : a) value = random.below(1000);
  for (int& value : b) value = random.below(1000);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), want.begin());
  DeviceBuffer<int> da(a), db(b), output(877);
  merge_lists<<<2, 64>>>(da.get(), 500, db.get(), 377, output.get());
  LAUNCHED_OK();
  report.equal("merged", output.download(), want);
  return report.finish();
}
