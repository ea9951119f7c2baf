#include "cuda_error.h"

#include <algorithm>
#include <iterator>

namespace vgpu::cuda {
namespace {

struct Row {
  int error;
  const char* name;
};

constexpr Row kNames[] = {
    {kSuccess, "cudaSuccess"},
    {kInvalidValue, "cudaErrorInvalidValue"},
    {kMemoryAllocation, "cudaErrorMemoryAllocation"},
    {kInvalidConfiguration, "cudaErrorInvalidConfiguration"},
    {kInvalidPitchValue, "cudaErrorInvalidPitchValue"},
    {kInvalidSymbol, "cudaErrorInvalidSymbol"},
    {kInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction"},
    {kInvalidPtx, "cudaErrorInvalidPtx"},
    {kUnsupportedPtxVersion, "cudaErrorUnsupportedPtxVersion"},
    {kInvalidResourceHandle, "cudaErrorInvalidResourceHandle"},
    {kIllegalState, "cudaErrorIllegalState"},
    {kNotReady, "cudaErrorNotReady"},
    {kIllegalAddress, "cudaErrorIllegalAddress"},
    {kLaunchOutOfResources, "cudaErrorLaunchOutOfResources"},
    {kLaunchTimeout, "cudaErrorLaunchTimeout"},
    {kAssert, "cudaErrorAssert"},
    {kIllegalInstruction, "cudaErrorIllegalInstruction"},
    {kMisalignedAddress, "cudaErrorMisalignedAddress"},
    {kLaunchFailure, "cudaErrorLaunchFailure"},
    {kCooperativeLaunchTooLarge, "cudaErrorCooperativeLaunchTooLarge"},
    {kNotPermitted, "cudaErrorNotPermitted"},
    {kNotSupported, "cudaErrorNotSupported"},
    {kStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported"},
    {kStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated"},
    {kStreamCaptureMerge, "cudaErrorStreamCaptureMerge"},
    {kStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched"},
    {kStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined"},
    {kStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation"},
    {kStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit"},
    {kCapturedEvent, "cudaErrorCapturedEvent"},
    {kGraphExecUpdateFailure, "cudaErrorGraphExecUpdateFailure"},
    {kUnknown, "cudaErrorUnknown"},
};

}  // namespace

const char* error_name(int error) {
  const auto* row =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const Row& r) { return r.error == error; });
  return row == std::end(kNames) ? "a cudaError_t without a name here" : row->name;
}

}  // namespace vgpu::cuda
