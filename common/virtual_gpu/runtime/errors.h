// Errors as a program meets them: each host thread's last error, and sentences on stderr.
#pragma once

#include <driver_types.h>

namespace vgpu {

// Remembers a failure for cudaGetLastError of this thread and returns it. cudaErrorNotReady is an answer,
// not a failure, and is not remembered.
cudaError_t record_error(cudaError_t error);

// One line on stderr, from "virtual GPU:" to its end.
void say(const char* format, ...) __attribute__((format(printf, 1, 2)));

// A function of the API that is not there: named once on stderr, answered with cudaErrorNotSupported, or with
// a library's own status. `warned` belongs to the caller.
int not_supported(const char* function, bool* warned, const char* status = "cudaErrorNotSupported");
// The same for a function of the driver API: CUDA_ERROR_NOT_SUPPORTED.
int driver_not_supported(const char* function, bool* warned);

}  // namespace vgpu
