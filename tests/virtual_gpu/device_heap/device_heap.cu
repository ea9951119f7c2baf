// malloc, free, new and delete in device code: right uses, and one mistake for each word of the command line.
#include <cstdio>
#include <cstring>

struct Node {
  int value;
  Node* next;
  __device__ Node(int v, Node* n) : value(v), next(n) {}
};

__global__ void push(Node** heads, int nodes) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  Node* head = nullptr;
  for (int i = 0; i < nodes; ++i) head = new Node(t * 100 + i, head);
  heads[t] = head;
}

__global__ void pop(Node** heads, int* sums) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (Node* node = heads[t]; node != nullptr;) {
    Node* next = node->next;
    sum += node->value;
    delete node;
    node = next;
  }
  sums[t] = sum;
}

__global__ void arrays(int* out) {
  int* squares = new int[threadIdx.x + 1];
  for (unsigned i = 0; i <= threadIdx.x; ++i) squares[i] = i * i;
  out[threadIdx.x] = squares[threadIdx.x] + (reinterpret_cast<size_t>(squares) % 16 != 0);
  delete[] squares;
}

__global__ void fill_heap(int bytes, int* count, void** last) {
  int made = 0;
  while (void* p = malloc(bytes)) {
    *static_cast<void**>(p) = *last;
    *last = p;
    ++made;
  }
  *count = made;
}
__global__ void empty_heap(void** last) {
  while (void* p = *last) {
    *last = *static_cast<void**>(p);
    free(p);
  }
}

__global__ void many_rounds(int* out) {
  int made = 0;
  for (int i = 0; i < 200; ++i) {
    char* p = static_cast<char*>(malloc(100000));
    if (p == nullptr) break;
    p[99999] = 1;
    made += p[99999];
    free(p);
  }
  *out = made;
}

__global__ void past_the_end(int* out) {
  int* p = static_cast<int*>(malloc(10 * sizeof(int)));
  for (int i = 0; i <= 10; ++i) p[i] = i;
  *out = p[3];
  free(p);
}
__global__ void after_free(int* out) {
  int* p = static_cast<int*>(malloc(40));
  p[3] = 5;
  free(p);
  *out = p[3];
}
__global__ void twice(int* out) {
  int* p = static_cast<int*>(malloc(40));
  free(p);
  free(p);
  *out = 1;
}
__global__ void middle(int* out) {
  int* p = static_cast<int*>(malloc(40));
  free(p + 1);
  free(p);
  *out = 1;
}
__global__ void not_its_own(int* out) {
  *out = 1;
  free(out);
}
__global__ void unwritten(int* out) {
  int* p = static_cast<int*>(malloc(40));
  *out = p[3];
  free(p);
}
__global__ void leak(int** out) {
  *out = static_cast<int*>(malloc(24));
}

#define EXPECT(condition)                                       \
  if (!(condition)) {                                           \
    std::printf("line %d: not so: %s\n", __LINE__, #condition); \
    return 1;                                                   \
  }

int right_uses(int* out) {
  int host[64];
  Node** heads;
  cudaMalloc(&heads, 64 * sizeof(Node*));
  push<<<2, 32>>>(heads, 5);
  pop<<<2, 32>>>(heads, out);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  for (int t = 0; t < 64; ++t) EXPECT(host[t] == 500 * t + 10);
  cudaFree(heads);
  arrays<<<1, 64>>>(out);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
  for (int t = 0; t < 64; ++t) EXPECT(host[t] == t * t);
  many_rounds<<<1, 1>>>(out);
  cudaMemcpy(host, out, sizeof(int), cudaMemcpyDeviceToHost);
  EXPECT(host[0] == 200);
  return 0;
}

int limits(int* out) {
  size_t bytes = 0;
  EXPECT(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize) == cudaSuccess && bytes == 8 << 20);
  EXPECT(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20) == cudaSuccess);
  EXPECT(cudaDeviceGetLimit(&bytes, cudaLimitMallocHeapSize) == cudaSuccess && bytes == 32 << 20);
  void** last;
  cudaMalloc(&last, sizeof(void*));
  cudaMemset(last, 0, sizeof(void*));
  int first = 0, second = 0;
  fill_heap<<<1, 1>>>(1 << 20, out, last);
  empty_heap<<<1, 1>>>(last);
  cudaMemcpy(&first, out, sizeof first, cudaMemcpyDeviceToHost);
  EXPECT(first > 24 && first <= 32);
  fill_heap<<<1, 1>>>(1 << 20, out, last);
  empty_heap<<<1, 1>>>(last);
  cudaMemcpy(&second, out, sizeof second, cudaMemcpyDeviceToHost);
  EXPECT(second == first);
  EXPECT(cudaFree(last) == cudaSuccess);
  return 0;
}

int host_copy() {
  int **out, *kept = nullptr, value = 0;
  cudaMalloc(&out, sizeof(int*));
  leak<<<1, 1>>>(out);
  cudaMemcpy(&kept, out, sizeof kept, cudaMemcpyDeviceToHost);
  EXPECT(cudaMemcpy(&value, kept, sizeof value, cudaMemcpyDeviceToHost) == cudaErrorInvalidValue);
  cudaFree(out);
  return 0;
}

int main(int, char** arguments) {
  const char* what = arguments[1];
  int* out;
  cudaMalloc(&out, 64 * sizeof(int));
  int status = 0;
#define RUN(kernel) \
  if (std::strcmp(what, #kernel) == 0) kernel<<<1, 1>>>(out)
  RUN(past_the_end);
  RUN(after_free);
  RUN(twice);
  RUN(middle);
  RUN(not_its_own);
  RUN(unwritten);
  if (std::strcmp(what, "right_uses") == 0) status = right_uses(out);
  if (std::strcmp(what, "limits") == 0) status = limits(out);
  if (std::strcmp(what, "host_copy") == 0) status = host_copy();
  if (std::strcmp(what, "leak") == 0) leak<<<3, 32>>>(reinterpret_cast<int**>(out));
  cudaDeviceSynchronize();
  cudaFree(out);
  return status;
}
