// The cudaError_t values the engine answers with. The runtime library owns the full table of texts; the
// engine needs the numbers, and the names for its reports.
#pragma once

namespace vgpu::cuda {

enum Error : int {
  kSuccess = 0,
  kInvalidValue = 1,
  kMemoryAllocation = 2,
  kInvalidConfiguration = 9,
  kInvalidPitchValue = 12,
  kInvalidSymbol = 13,
  kInvalidDeviceFunction = 98,
  kInvalidPtx = 218,
  kUnsupportedPtxVersion = 222,
  kInvalidResourceHandle = 400,
  kIllegalState = 401,
  kNotReady = 600,
  kIllegalAddress = 700,
  kLaunchOutOfResources = 701,
  kLaunchTimeout = 702,
  kAssert = 710,
  kIllegalInstruction = 715,
  kMisalignedAddress = 716,
  kLaunchFailure = 719,
  kCooperativeLaunchTooLarge = 720,
  kNotPermitted = 800,
  kNotSupported = 801,
  kStreamCaptureUnsupported = 900,
  kStreamCaptureInvalidated = 901,
  kStreamCaptureMerge = 902,
  kStreamCaptureUnmatched = 903,
  kStreamCaptureUnjoined = 904,
  kStreamCaptureIsolation = 905,
  kStreamCaptureImplicit = 906,
  kCapturedEvent = 907,
  kGraphExecUpdateFailure = 910,
  kUnknown = 999,
};

// "cudaErrorIllegalAddress"; a phrase that says so for a number that is not in the table.
const char* error_name(int error);

}  // namespace vgpu::cuda
