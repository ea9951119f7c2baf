// What a PTX instruction becomes on the hardware: how many machine instructions, on which pipe, for how long.
#pragma once

#include <cstdint>
#include <string_view>

#include "exec/op.h"

namespace vgpu {

// The pipes of one scheduler; memory instructions leave it for queues that the whole SM shares.
enum class Pipe : uint8_t { kNone, kFma, kAlu, kSpecial, kDouble, kTensor, kMemory, kControl, kCount };
constexpr size_t kPipes = static_cast<size_t>(Pipe::kCount);

struct MachineCost {
  Pipe pipe = Pipe::kAlu;
  float instructions = 1;  // issue slots; 0: folded into others or into an operand
  float cycles = 1;        // that its pipe is taken, all instructions together
  float latency = 4.5f;    // until the result may be read
};

// `tensor_cycles` is what an m16n8k16 on 16-bit operands takes of its scheduler's tensor core.
MachineCost machine_cost(std::string_view opcode, const Op& op, double tensor_cycles);

// Cycles. Published micro-benchmarks of the architecture; barriers and wide loads measured on an H200.
namespace cycles {
constexpr double kSharedLoad = 23, kWideSharedLoad = 27, kMatrixLoad = 27, kL1 = 34, kBarrier = 13,
                 kBarrierWarp = 2, kBlockStart = 100;
constexpr double kShuffle = 23, kFence = 250, kConstant = 8;
constexpr float kMatrixPass = 0.6f;  // of shared memory, for each matrix beside the passes for its rows
// Parameters and constants: from the SM's own cache at an address in a register, and when they are fetched.
constexpr double kConstantLoad = 40, kConstantMiss = 280;
// Hopper's asynchronous units, measured on an H200. A wgmma: for each column of its result on the tensor core
// of each of its four warps, and from there until who waits for it goes on.
constexpr double kProductColumn = 0.5, kProductLatency = 55;
// An mbarrier: a test of a phase; an arrival, for the warp itself; from an arrival until who waits goes on.
constexpr double kPhaseTest = 55, kPhaseArrive = 25, kArriveToWake = 75;
// A named barrier, from an arrival until who waits goes on.
constexpr double kNamedToWake = 44;
constexpr double kProxyFence = 20, kSetRegisters = 170;
// The copy engine: for the warp that asks; bytes per cycle that it brings to one SM and takes from it; until
// a store is seen to be done, behind that.
constexpr double kCopyIssue = 25, kCopyBytes = 100, kStoreBytes = 32, kStoreDone = 50;
// Until a tensor map is there for the first copy of an SM that needs one.
constexpr double kMapFetch = 850;
}  // namespace cycles

}  // namespace vgpu
