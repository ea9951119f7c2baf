// Graphs that a program builds itself: every kind of node, their order, copies, changes and questions.
#include <cstdlib>
#include <string>

#include "expect.cuh"

__device__ int in_symbol;

__global__ void add(int* value, int amount) {
  *value += amount;
}
__global__ void scale(int* value, int factor) {
  *value *= factor;
}
__global__ void add_symbol(int* value) {
  *value += in_symbol;
}

namespace {

int* value = nullptr;
int* pinned = nullptr;
int calls = 0;

void CUDART_CB count(void* by) {
  calls += by == nullptr ? 1 : *static_cast<int*>(by);
}

struct Arguments {
  int* where = value;
  int number;
  void* pointers[2] = {&where, &number};
  explicit Arguments(int number) : number(number) {}
};

cudaKernelNodeParams kernel(void (*function)(int*, int), Arguments& arguments) {
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(function);
  params.gridDim = params.blockDim = dim3(1);
  params.kernelParams = arguments.pointers;
  return params;
}

cudaMemsetParams fill(unsigned number) {
  cudaMemsetParams params{};
  params.dst = value;
  params.value = number;
  params.elementSize = 4;
  params.width = params.height = 1;
  return params;
}

int launch(cudaGraphExec_t executable) {
  int result = -1;
  OK(cudaGraphLaunch(executable, nullptr));
  OK(cudaMemcpy(&result, value, sizeof result, cudaMemcpyDeviceToHost));
  return result;
}

// 5, then + 2 and * 10 in the order that the edges ask for, not in that of adding; then a copy and a call.
void nodes_and_edges() {
  cudaGraph_t graph;
  cudaGraphNode_t set, plus, times, copy, call, empty;
  OK(cudaGraphCreate(&graph, 0));
  Arguments two(2), ten(10);
  const cudaKernelNodeParams add_two = kernel(add, two), times_ten = kernel(scale, ten);
  const cudaMemsetParams five = fill(5);
  OK(cudaGraphAddKernelNode(&times, graph, nullptr, 0, &times_ten));
  OK(cudaGraphAddKernelNode(&plus, graph, nullptr, 0, &add_two));
  OK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &five));
  OK(cudaGraphAddEmptyNode(&empty, graph, &set, 1));
  two.number = ten.number = -1;  // arguments were copied
  const cudaGraphNode_t from[] = {empty, plus}, to[] = {plus, times};
  OK(cudaGraphAddDependencies(graph, from, to, nullptr, 2));
  GIVES(cudaErrorInvalidValue, cudaGraphAddDependencies(graph, &times, &set, nullptr, 1));  // a circle
  OK(cudaGraphAddMemcpyNode1D(&copy, graph, &times, 1, pinned, value, sizeof(int), cudaMemcpyDeviceToHost));
  cudaHostNodeParams host{count, nullptr};
  OK(cudaGraphAddHostNode(&call, graph, &copy, 1, &host));
  size_t number = 0;
  OK(cudaGraphGetNodes(graph, nullptr, &number));
  HOLDS(number == 6);
  OK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &number));
  HOLDS(number == 5);
  cudaGraphNode_t root[2] = {};
  number = 2;
  OK(cudaGraphGetRootNodes(graph, root, &number));
  HOLDS(number == 1 && root[0] == set);
  number = 1;
  OK(cudaGraphNodeGetDependencies(times, root, nullptr, &number));
  HOLDS(number == 1 && root[0] == plus);
  OK(cudaGraphNodeGetDependentNodes(copy, root, nullptr, &number));
  HOLDS(number == 1 && root[0] == call);
  cudaGraphNodeType type;
  OK(cudaGraphNodeGetType(copy, &type));
  HOLDS(type == cudaGraphNodeTypeMemcpy);
  cudaKernelNodeParams current{};
  OK(cudaGraphKernelNodeGetParams(plus, &current));
  HOLDS(current.func == reinterpret_cast<void*>(add) && *static_cast<int*>(current.kernelParams[1]) == 2);

  cudaGraphExec_t executable;
  OK(cudaGraphInstantiate(&executable, graph, 0));
  *pinned = 0;
  calls = 0;
  HOLDS(launch(executable) == 70 && *pinned == 70 && calls == 1);
  HOLDS(launch(executable) == 70 && calls == 2);

  Arguments three(3);
  const cudaKernelNodeParams add_three = kernel(add, three);
  OK(cudaGraphExecKernelNodeSetParams(executable, plus, &add_three));
  HOLDS(launch(executable) == 80);
  const cudaMemsetParams one = fill(1);
  OK(cudaGraphExecMemsetNodeSetParams(executable, set, &one));
  HOLDS(launch(executable) == 40);
  OK(cudaGraphKernelNodeGetParams(plus, &current));
  HOLDS(*static_cast<int*>(current.kernelParams[1]) == 2);  // the graph itself is as it was
  GIVES(cudaErrorInvalidValue, cudaGraphExecKernelNodeSetParams(executable, set, &add_three));

  OK(cudaGraphKernelNodeSetParams(plus, &add_three));
  cudaGraphExecUpdateResultInfo info{};
  OK(cudaGraphExecUpdate(executable, graph, &info));
  HOLDS(launch(executable) == 80);
  OK(cudaGraphDestroyNode(call));
  GIVES(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(executable, graph, &info));
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
  GIVES(cudaErrorInvalidValue, cudaGraphNodeGetType(copy, &type));
}

void clones_and_children() {
  cudaGraph_t inner, outer, clone;
  cudaGraphNode_t plus, set, child, times, found;
  Arguments four(4), six(6);
  const cudaKernelNodeParams add_four = kernel(add, four), times_six = kernel(scale, six);
  OK(cudaGraphCreate(&inner, 0));
  OK(cudaGraphAddKernelNode(&plus, inner, nullptr, 0, &add_four));
  OK(cudaGraphCreate(&outer, 0));
  const cudaMemsetParams zero = fill(0);
  OK(cudaGraphAddMemsetNode(&set, outer, nullptr, 0, &zero));
  OK(cudaGraphAddChildGraphNode(&child, outer, &set, 1, inner));
  OK(cudaGraphAddKernelNode(&times, outer, &child, 1, &times_six));
  OK(cudaGraphDestroy(inner));  // the node has a copy
  OK(cudaGraphClone(&clone, outer));
  OK(cudaGraphNodeFindInClone(&found, times, clone));
  HOLDS(found != times);
  Arguments two(2);
  const cudaKernelNodeParams times_two = kernel(scale, two);
  OK(cudaGraphKernelNodeSetParams(found, &times_two));
  cudaGraphExec_t first, second;
  OK(cudaGraphInstantiate(&first, outer, 0));
  OK(cudaGraphInstantiate(&second, clone, 0));
  HOLDS(launch(first) == 24 && launch(second) == 8);
  cudaGraph_t within;
  OK(cudaGraphChildGraphNodeGetGraph(child, &within));
  size_t number = 0;
  OK(cudaGraphGetNodes(within, nullptr, &number));
  HOLDS(number == 1);
  for (cudaGraphExec_t executable : {first, second}) OK(cudaGraphExecDestroy(executable));
  for (cudaGraph_t graph : {outer, clone}) OK(cudaGraphDestroy(graph));
}

// The generic form, an event that the graph records, symbols, and pageable memory.
void others() {
  cudaGraph_t graph;
  cudaGraphNode_t copy, plus, record, back;
  cudaEvent_t event;
  OK(cudaEventCreate(&event));
  OK(cudaGraphCreate(&graph, 0));
  int seven = 7, out = 0;
  OK(cudaGraphAddMemcpyNodeToSymbol(&copy, graph, nullptr, 0, in_symbol, &seven, sizeof seven, 0,
                                    cudaMemcpyHostToDevice));
  cudaGraphNodeParams params{};
  params.type = cudaGraphNodeTypeKernel;
  params.kernel.func = reinterpret_cast<void*>(add_symbol);
  params.kernel.gridDim = params.kernel.blockDim = dim3(1);
  void* arguments[] = {&value};
  params.kernel.kernelParams = arguments;
  OK(cudaGraphAddNode(&plus, graph, &copy, nullptr, 1, &params));
  OK(cudaGraphAddEventRecordNode(&record, graph, &plus, 1, event));
  OK(cudaGraphAddMemcpyNode1D(&back, graph, &record, 1, &out, value, sizeof out, cudaMemcpyDeviceToHost));
  cudaEvent_t recorded = nullptr;
  OK(cudaGraphEventRecordNodeGetEvent(record, &recorded));
  HOLDS(recorded == event);
  cudaGraphExec_t executable;
  OK(cudaGraphInstantiate(&executable, graph, 0));
  OK(cudaMemset(value, 0, sizeof *value));
  OK(cudaGraphLaunch(executable, nullptr));
  OK(cudaEventSynchronize(event));
  seven = 10;
  HOLDS(launch(executable) == 17 && out == 17);
  const char* path = "explicit_graphs.dot";
  OK(cudaGraphDebugDotPrint(graph, path, 0));
  std::FILE* file = std::fopen(path, "r");
  char line[64] = "";
  HOLDS(file != nullptr && std::fgets(line, sizeof line, file) != nullptr &&
        std::string(line).rfind("digraph", 0) == 0);
  if (file != nullptr) std::fclose(file);
  std::remove(path);
  OK(cudaGraphExecDestroy(executable));
  OK(cudaGraphDestroy(graph));
  OK(cudaEventDestroy(event));
}

}  // namespace

int main() {
  OK(cudaMalloc(&value, sizeof *value));
  OK(cudaMallocHost(&pinned, sizeof *pinned));
  OK(cudaMemset(value, 0, sizeof *value));
  nodes_and_edges();
  clones_and_children();
  others();
  OK(cudaFree(value));
  OK(cudaFreeHost(pinned));
  return finish();
}
