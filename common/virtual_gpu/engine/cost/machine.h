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
}  // namespace cycles

}  // namespace vgpu
