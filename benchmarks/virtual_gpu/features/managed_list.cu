// A linked list in managed memory: the host builds it, a kernel walks and changes it, the host reads it.
#include "../programs/check.cuh"

struct Node {
  int value;
  Node* next;
};

__managed__ int walked = 0;

__global__ void double_all(Node* head) {
  for (Node* node = head; node != nullptr; node = node->next) {
    node->value *= 2;
    walked += 1;
  }
}

int main() {
  Report report("managed_list");
  constexpr int kCount = 20;
  std::vector<Node*> nodes;
  Node* head = nullptr;
  for (int i = 0; i < kCount; ++i) {
    Node* node = nullptr;
    CUDA_OK(cudaMallocManaged(&node, sizeof(Node)));
    *node = {i, head};
    head = node;
    nodes.push_back(node);
  }
  double_all<<<1, 1>>>(head);
  LAUNCHED_OK();
  std::vector<int> got, want;
  for (Node* node = head; node != nullptr; node = node->next) got.push_back(node->value);
  for (int i = kCount - 1; i >= 0; --i) want.push_back(2 * i);
  report.equal("doubled", got, want);
  report.check(walked == kCount, "a managed variable");
  for (Node* node : nodes) CUDA_OK(cudaFree(node));
  return report.finish();
}
