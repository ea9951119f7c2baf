// One call of the drop-in cuBLAS, done on device memory.
#pragma once

#include "checks/finding.h"
#include "device/memory.h"
#include "device/profile.h"
#include "protocol_blas.h"

namespace vgpu::blas {

// 0, or the cudaError_t of a call that no library could have made: checked when it is queued.
int check(const wire::Blas& call);

struct Outcome {
  int error = 0;
  Finding finding;            // without a message where there is none
  wire::BlasNumber number{};  // of an operation whose result is one number
  double seconds = 0;         // modelled
};

Outcome run(const wire::Blas& call, DeviceMemory& memory, bool check_init, const Profile& profile);

}  // namespace vgpu::blas
