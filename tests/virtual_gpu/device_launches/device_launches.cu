// Kernels that launch kernels. Answers were derived from CUDA's programming guide and hold on either device.
#include <cstdio>
#include <cstring>

__global__ void add(int* data, int value) {
  data[threadIdx.x] += value;
}

// One launch by each thread: the children of a block run one after the other.
__global__ void one_each(int* data) {
  add<<<1, 32>>>(data, threadIdx.x + 1);
}

// Launches of one stream keep their order, and each sees what the ones before it wrote.
__global__ void doubled(int* data) {
  data[threadIdx.x] *= 2;
}
__global__ void in_order(int* data) {
  if (threadIdx.x != 0) return;
  add<<<1, 32>>>(data, 3);
  doubled<<<1, 32>>>(data);
  add<<<1, 32>>>(data, 1);
}

// Each level launches the next.
__global__ void deeper(int* data, int level) {
  if (threadIdx.x == 0) data[level] = level + 1;
  if (threadIdx.x == 0 && level + 1 < 8) deeper<<<1, 32>>>(data, level + 1);
}

// A tail launch comes after all other children, and after their children.
__global__ void copy_first(int* data) {
  data[31] = data[7];
}
__global__ void tail(int* data) {
  if (threadIdx.x != 0) return;
  copy_first<<<1, 1, 0, cudaStreamTailLaunch>>>(data);
  deeper<<<1, 32, 0, cudaStreamFireAndForget>>>(data, 0);
}

// Streams, events and copies of device code.
__global__ void streams(int* data) {
  if (threadIdx.x != 0) return;
  cudaStream_t stream;
  cudaEvent_t event;
  int status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  status += cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  add<<<1, 31, 0, stream>>>(data, 5);
  status += cudaEventRecord(event, stream);
  status += cudaStreamWaitEvent(stream, event, 0);
  status += cudaMemcpyAsync(data + 16, data, 4 * sizeof(int), cudaMemcpyDeviceToDevice, stream);
  status += cudaMemsetAsync(data + 20, 0, 4 * sizeof(int), stream);
  status += cudaEventDestroy(event);
  status += cudaStreamDestroy(stream);
  data[31] = status;
}

// A wrong launch is an error of the thread that made it.
__global__ void wrong(int* data) {
  if (threadIdx.x != 0) return;
  add<<<1, 2048>>>(data, 1);
  data[0] = cudaPeekAtLastError() != cudaSuccess;
  printf("%s\n", cudaGetErrorName(cudaGetLastError()));
  data[1] = cudaGetLastError() == cudaSuccess;
}

// Sorts by launching itself on both halves.
__global__ void quicksort(int* data, int left, int right) {
  int i = left, j = right, pivot = data[(left + right) / 2];
  while (i <= j) {
    while (data[i] < pivot) ++i;
    while (data[j] > pivot) --j;
    if (i > j) break;
    const int held = data[i];
    data[i++] = data[j];
    data[j--] = held;
  }
  if (left < j) quicksort<<<1, 1>>>(data, left, j);
  if (i < right) quicksort<<<1, 1>>>(data, i, right);
}

__global__ void past_the_end(int* data) {
  data[threadIdx.x + 1] = 0;
}
__global__ void launches_a_mistake(int* data) {
  if (threadIdx.x == 0) past_the_end<<<1, 32>>>(data);
}

int main(int, char** arguments) {
  const char* what = arguments[1];
  int host[32], *data;
  for (int i = 0; i < 32; ++i) host[i] = (i * 37) % 32;
  const bool sorts = std::strcmp(what, "quicksort") == 0;
  cudaMalloc(&data, sizeof host);
  if (sorts)
    cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice);
  else
    cudaMemset(data, 0, sizeof host);
#define RUN(kernel) \
  if (std::strcmp(what, #kernel) == 0) kernel<<<1, 32>>>(data)
  RUN(one_each);
  RUN(in_order);
  RUN(tail);
  RUN(streams);
  RUN(wrong);
  RUN(launches_a_mistake);
  if (std::strcmp(what, "deeper") == 0) deeper<<<1, 32>>>(data, 0);
  if (sorts) quicksort<<<1, 1>>>(data, 0, 31);
  const cudaError_t error = cudaDeviceSynchronize();
  cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(data);
  std::printf("%d:", error);
  for (int value : host) std::printf(" %d", value);
  std::printf("\n");
  return 0;
}
