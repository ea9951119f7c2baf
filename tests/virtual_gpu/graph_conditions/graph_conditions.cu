// Conditional nodes of graphs: kernels decide what runs next. Prints what each case has counted.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define OK(call)                                                               \
  do {                                                                         \
    const cudaError_t error = (call);                                          \
    if (error != cudaSuccess) {                                                \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorName(error)); \
      std::exit(1);                                                            \
    }                                                                          \
  } while (false)

__global__ void decide(const int* number, cudaGraphConditionalHandle condition) {
  cudaGraphSetConditional(condition, static_cast<unsigned>(*number));
}
__global__ void add(int* sum, int amount) {
  *sum += amount;
}
__global__ void count_down(int* number, int* sum, cudaGraphConditionalHandle condition) {
  *sum += 1;
  *number -= 1;
  if (*number == 0) cudaGraphSetConditional(condition, 0);
}

int *number, *sum;

void set(int value) {
  const int zero = 0;
  OK(cudaMemcpy(number, &value, sizeof value, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(sum, &zero, sizeof zero, cudaMemcpyHostToDevice));
}

int launched(cudaGraphExec_t executable, int value) {
  set(value);
  OK(cudaGraphLaunch(executable, nullptr));
  int found = -1;
  OK(cudaMemcpy(&found, sum, sizeof found, cudaMemcpyDeviceToHost));
  return found;
}

cudaGraphNode_t add_kernel(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& after, const void* kernel,
                           void** arguments) {
  cudaGraphNodeParams call{};
  call.type = cudaGraphNodeTypeKernel;
  call.kernel.func = const_cast<void*>(kernel);
  call.kernel.gridDim = dim3(1);
  call.kernel.blockDim = dim3(1);
  call.kernel.kernelParams = arguments;
  cudaGraphNode_t node;
  OK(cudaGraphAddNode(&node, graph, after.data(), nullptr, after.size(), &call));
  return node;
}

cudaGraphNode_t add_amount(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& after, int amount) {
  void* arguments[] = {&sum, &amount};
  return add_kernel(graph, after, reinterpret_cast<void*>(add), arguments);
}

cudaGraphNode_t add_condition(cudaGraph_t graph, const std::vector<cudaGraphNode_t>& after,
                              cudaGraphConditionalHandle handle, cudaGraphConditionalNodeType type,
                              unsigned size, cudaGraph_t* bodies) {
  cudaGraphNodeParams condition{};
  condition.type = cudaGraphNodeTypeConditional;
  condition.conditional.handle = handle;
  condition.conditional.type = type;
  condition.conditional.size = size;
  cudaGraphNode_t node;
  OK(cudaGraphAddNode(&node, graph, after.data(), nullptr, after.size(), &condition));
  for (unsigned i = 0; i < size; ++i) bodies[i] = condition.conditional.phGraph_out[i];
  return node;
}

// decide, then one body of several, then 1000 more.
void choose(const char* name, cudaGraphConditionalNodeType type, unsigned size) {
  cudaGraph_t graph, bodies[4];
  cudaGraphExec_t executable;
  cudaGraphConditionalHandle handle;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphConditionalHandleCreate(&handle, graph, 0, 0));
  void* arguments[] = {&number, &handle};
  const cudaGraphNode_t first = add_kernel(graph, {}, reinterpret_cast<void*>(decide), arguments);
  const cudaGraphNode_t node = add_condition(graph, {first}, handle, type, size, bodies);
  for (unsigned i = 0; i < size; ++i) add_amount(bodies[i], {}, 10 + static_cast<int>(i));
  add_amount(graph, {node}, 1000);
  OK(cudaGraphInstantiate(&executable, graph, 0));
  std::printf("%s:", name);
  for (int value = 0; value < 4; ++value) std::printf(" %d", launched(executable, value));
  std::printf("\n");
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
}

// A loop whose body is captured, and which runs once at least: its condition is 1 at each launch.
void repeat() {
  cudaGraph_t graph, body;
  cudaGraphExec_t executable;
  cudaGraphConditionalHandle handle;
  cudaStream_t stream;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  add_condition(graph, {}, handle, cudaGraphCondTypeWhile, 1, &body);
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0, cudaStreamCaptureModeGlobal));
  add<<<1, 1, 0, stream>>>(sum, 10);
  count_down<<<1, 1, 0, stream>>>(number, sum, handle);
  OK(cudaStreamEndCapture(stream, nullptr));
  OK(cudaStreamDestroy(stream));
  OK(cudaGraphInstantiate(&executable, graph, 0));
  const int three = launched(executable, 3), five = launched(executable, 5);
  std::printf("while: %d %d\n", three, five);
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
}

// A loop that nothing ends.
void forever() {
  cudaGraph_t graph, body;
  cudaGraphExec_t executable;
  cudaGraphConditionalHandle handle;
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
  add_condition(graph, {}, handle, cudaGraphCondTypeWhile, 1, &body);
  add_amount(body, {}, 1);
  OK(cudaGraphInstantiate(&executable, graph, 0));
  OK(cudaGraphLaunch(executable, nullptr));
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}

// A captured graph as a node of another.
void nest() {
  cudaGraph_t graph, captured;
  cudaGraphExec_t executable;
  cudaGraphNode_t inside;
  cudaStream_t stream;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  add<<<1, 1, 0, stream>>>(sum, 5);
  OK(cudaStreamEndCapture(stream, &captured));
  OK(cudaStreamDestroy(stream));
  OK(cudaGraphCreate(&graph, 0));
  const cudaGraphNode_t before = add_amount(graph, {}, 10);
  OK(cudaGraphAddChildGraphNode(&inside, graph, &before, 1, captured));
  OK(cudaGraphDestroy(captured));
  add_amount(graph, {inside}, 100);
  OK(cudaGraphInstantiate(&executable, graph, 0));
  std::printf("nested: %d\n", launched(executable, 0));
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
}

int main(int argc, char**) {
  OK(cudaMalloc(&number, sizeof *number));
  OK(cudaMalloc(&sum, sizeof *sum));
  set(0);
  if (argc > 1) {
    forever();
    return 0;
  }
  choose("if", cudaGraphCondTypeIf, 1);
  choose("if and else", cudaGraphCondTypeIf, 2);
  choose("switch", cudaGraphCondTypeSwitch, 3);
  repeat();
  nest();
  OK(cudaFree(number));
  OK(cudaFree(sum));
}
