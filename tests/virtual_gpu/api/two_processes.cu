// A child made by fork() cannot use the device of its parent, and does not disturb it.
#include <sys/wait.h>
#include <unistd.h>

#include "expect.cuh"

int main() {
  int* device = nullptr;
  OK(cudaMalloc(&device, 4));
  const pid_t child = fork();
  if (child == 0) _exit(cudaDeviceSynchronize() == cudaSuccess ? 1 : 0);
  int status = -1;
  HOLDS(waitpid(child, &status, 0) == child);
  HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  OK(cudaMemset(device, 0, 4));
  OK(cudaDeviceSynchronize());
  OK(cudaFree(device));
  return finish();
}
