#include "cost/machine.h"

#include <algorithm>
#include <iterator>

#include "exec/wgmma.h"
#include "ops/matrix.h"

namespace vgpu {
namespace {

struct Row {
  std::string_view prefix;
  MachineCost cost;
};

constexpr float kQuick = 4.5f;  // result of an arithmetic pipe

// The first row whose prefix the opcode starts with decides, so longer prefixes stand before shorter ones.
// A half-rate pipe takes two cycles for the 32 lanes of a warp, the special-function unit eight.
constexpr Row kRows[] = {
    // Moves are names for the same register; parameters are operands from the constant bank.
    {"mov", {Pipe::kNone, 0, 0, 0}},
    {"cvta", {Pipe::kNone, 0, 0, 0}},
    {"ld.param", {Pipe::kNone, 0, 0, 0}},
    {"neg.f", {Pipe::kNone, 0, 0, 0}},
    {"abs.f", {Pipe::kNone, 0, 0, 0}},
    {"createpolicy", {Pipe::kNone, 0, 0, 0}},
    {"prefetch", {Pipe::kMemory, 1, 1, 0}},
    // Division and exact roots are short programs.
    {"div.rn.f32", {Pipe::kFma, 9, 12, 55}},
    {"div.full.f32", {Pipe::kFma, 5, 8, 32}},
    {"div.approx", {Pipe::kFma, 3, 8, 28}},
    {"div.rn.f64", {Pipe::kDouble, 20, 60, 200}},
    {"sqrt.rn.f32", {Pipe::kFma, 8, 12, 50}},
    {"rcp.rn.f32", {Pipe::kFma, 6, 10, 42}},
    {"div.s64", {Pipe::kAlu, 70, 110, 400}},
    {"div.u64", {Pipe::kAlu, 70, 110, 400}},
    {"rem.s64", {Pipe::kAlu, 70, 110, 400}},
    {"rem.u64", {Pipe::kAlu, 70, 110, 400}},
    {"div", {Pipe::kAlu, 18, 30, 100}},
    {"rem", {Pipe::kAlu, 20, 32, 110}},
    // One instruction of the special-function unit; without .ftz its argument is scaled first.
    {"ex2.approx.ftz", {Pipe::kSpecial, 1, 8, 20}},
    {"ex2.approx.f32", {Pipe::kSpecial, 3, 8, 29}},
    {"lg2.approx.ftz", {Pipe::kSpecial, 1, 8, 20}},
    {"lg2.approx.f32", {Pipe::kSpecial, 3, 8, 29}},
    {"sqrt.approx", {Pipe::kSpecial, 2, 8, 25}},
    {"rsqrt.approx", {Pipe::kSpecial, 1, 8, 20}},
    {"rcp.approx", {Pipe::kSpecial, 1, 8, 20}},
    {"sin.approx", {Pipe::kSpecial, 2, 8, 25}},
    {"cos.approx", {Pipe::kSpecial, 2, 8, 25}},
    {"ex2", {Pipe::kSpecial, 1, 8, 20}},
    {"tanh", {Pipe::kSpecial, 1, 8, 20}},
    {"popc", {Pipe::kSpecial, 1, 8, 15}},
    {"clz", {Pipe::kSpecial, 1, 8, 15}},
    {"bfind", {Pipe::kSpecial, 1, 8, 15}},
    {"brev", {Pipe::kSpecial, 1, 8, 15}},
    // 64-bit integers come in halves; an address is mostly one multiply-add with a wide result.
    {"mul.wide", {Pipe::kFma, 1, 2, kQuick}},
    {"mad.wide", {Pipe::kFma, 1, 2, kQuick}},
    {"mul.lo.s64", {Pipe::kFma, 4, 8, 14}},
    {"mul.lo.u64", {Pipe::kFma, 4, 8, 14}},
    {"mad.lo.s64", {Pipe::kFma, 4, 8, 14}},
    {"mad.lo.u64", {Pipe::kFma, 4, 8, 14}},
    {"mul.hi", {Pipe::kFma, 1, 4, 6}},
    {"mad.hi", {Pipe::kFma, 1, 4, 6}},
    {"mul.lo", {Pipe::kFma, 1, 2, kQuick}},
    {"mad.lo", {Pipe::kFma, 1, 2, kQuick}},
    {"dp4a", {Pipe::kFma, 1, 2, kQuick}},
    {"shl.b64", {Pipe::kAlu, 2, 4, 9}},
    {"shr.u64", {Pipe::kAlu, 2, 4, 9}},
    {"shr.s64", {Pipe::kAlu, 2, 4, 9}},
    {"and.b64", {Pipe::kAlu, 2, 4, 9}},
    {"or.b64", {Pipe::kAlu, 2, 4, 9}},
    {"xor.b64", {Pipe::kAlu, 2, 4, 9}},
    {"and.pred", {Pipe::kAlu, 1, 2, 6}},
    {"or.pred", {Pipe::kAlu, 1, 2, 6}},
    {"cvt.u64.u32", {Pipe::kNone, 0, 0, 0}},
    {"cvt.s64.s32", {Pipe::kAlu, 1, 2, kQuick}},
    {"cvt.u32.u64", {Pipe::kNone, 0, 0, 0}},
    {"bfi", {Pipe::kAlu, 3, 6, 13}},
    {"bfe", {Pipe::kAlu, 2, 4, 9}},
    {"vote", {Pipe::kAlu, 1, 2, 10}},
    {"activemask", {Pipe::kAlu, 1, 2, 10}},
    {"bar.warp", {Pipe::kControl, 1, 1, 5}},
    // Hopper's asynchronous units. What they take of the memory system and how long they wait for each other
    // is the replay's.
    {"wgmma.fence", {Pipe::kControl, 1, 1, 2}},
    {"wgmma.commit_group", {Pipe::kControl, 1, 1, 2}},
    {"wgmma.wait_group", {Pipe::kControl, 1, 1, 2}},
    {"mbarrier.try_wait", {Pipe::kMemory, 1, 1, static_cast<float>(cycles::kPhaseTest)}},
    {"mbarrier.test_wait", {Pipe::kMemory, 1, 1, static_cast<float>(cycles::kPhaseTest)}},
    {"mbarrier.arrive", {Pipe::kControl, 1, 1, static_cast<float>(cycles::kPhaseArrive)}},
    {"mbarrier", {Pipe::kMemory, 1, 1, 2}},
    {"cp.async.bulk.commit_group", {Pipe::kControl, 1, 1, 2}},
    {"cp.async.bulk.wait_group", {Pipe::kControl, 1, 1, 2}},
    {"cp.async.bulk", {Pipe::kControl, 1, 1, static_cast<float>(cycles::kCopyIssue)}},
    {"fence.proxy", {Pipe::kControl, 1, 1, static_cast<float>(cycles::kProxyFence)}},
    {"fence.mbarrier_init", {Pipe::kControl, 1, 1, static_cast<float>(cycles::kProxyFence)}},
    {"setmaxnreg", {Pipe::kControl, 1, 1, static_cast<float>(cycles::kSetRegisters)}},
    {"shfl", {Pipe::kMemory, 1, 1, static_cast<float>(cycles::kShuffle)}},
    {"redux", {Pipe::kMemory, 1, 2, 25}},
    {"match", {Pipe::kMemory, 1, 2, 25}},
    {"ld.const", {Pipe::kAlu, 1, 1, static_cast<float>(cycles::kConstant)}},
};

// What is not in the table goes by its class.
MachineCost of_class(InstrClass cls) {
  switch (cls) {
    case InstrClass::kFloat32:
    case InstrClass::kHalf:
      return {Pipe::kFma, 1, 1, kQuick};
    case InstrClass::kFloat64:
      return {Pipe::kDouble, 1, 2, 8};
    case InstrClass::kSpecialFunction:
      return {Pipe::kSpecial, 1, 8, 20};
    case InstrClass::kConvert:
      return {Pipe::kAlu, 1, 2, 6};
    case InstrClass::kCompare:
      return {Pipe::kAlu, 1, 2, 6};
    case InstrClass::kMove:
      return {Pipe::kNone, 0, 0, 0};
    case InstrClass::kControl:
      return {Pipe::kControl, 1, 1, 6};
    case InstrClass::kBarrier:
      return {Pipe::kControl, 1, 1, static_cast<float>(cycles::kBarrier)};
    case InstrClass::kLoadShared:
      return {Pipe::kMemory, 1, 1, static_cast<float>(cycles::kSharedLoad)};
    case InstrClass::kMatrixLoad:
      return {Pipe::kMemory, 1, 1, static_cast<float>(cycles::kMatrixLoad)};
    case InstrClass::kLoadGlobal:
    case InstrClass::kStoreGlobal:
    case InstrClass::kStoreShared:
    case InstrClass::kLoadLocal:
    case InstrClass::kStoreLocal:
    case InstrClass::kAtomic:
    case InstrClass::kAsyncCopy:
      return {Pipe::kMemory, 1, 1, static_cast<float>(cycles::kL1)};
    case InstrClass::kFence:
      return {Pipe::kControl, 1, 1, static_cast<float>(cycles::kFence)};
    default:
      return {Pipe::kAlu, 1, 2, kQuick};
  }
}

int number_after(std::string_view text, char letter) {
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != letter || text[i + 1] < '0' || text[i + 1] > '9') continue;
    int value = 0;
    for (size_t k = i + 1; k < text.size() && text[k] >= '0' && text[k] <= '9'; ++k)
      value = value * 10 + (text[k] - '0');
    return value;
  }
  return 0;
}

// Multiply-adds cost by their number and by the width of their factors.
MachineCost matrix_cost(std::string_view opcode, const Op& op, double tensor_cycles) {
  double share = op.table.issues;
  const size_t shape = opcode.find(".m");
  if (opcode.starts_with("mma") && shape != std::string_view::npos) {
    const std::string_view sizes = opcode.substr(shape + 1, opcode.find('.', shape + 1) - shape - 1);
    const struct {
      std::string_view name;
      int bits;
    } widths[] = {{".tf32", 32}, {".f64", 64}, {".s8", 8}, {".u8", 8},
                  {".e4m3", 8},  {".e5m2", 8}, {".s4", 4}, {".u4", 4}};
    int bits = 16;
    for (const auto& w : widths)
      if (opcode.find(w.name) != std::string_view::npos) bits = w.bits;
    share = static_cast<double>(number_after(sizes, 'm')) * number_after(sizes, 'n') *
            number_after(sizes, 'k') * bits / (16.0 * 8 * 16 * 16);
  }
  return {Pipe::kTensor, 1, static_cast<float>(share * tensor_cycles),
          static_cast<float>(18.2 + share * tensor_cycles)};
}

// Of matrices of 8 x 8 halves.
MachineCost matrix_load(int matrices) {
  return {Pipe::kMemory, 1, 1 + static_cast<float>(matrices) * cycles::kMatrixPass,
          static_cast<float>(cycles::kMatrixLoad)};
}

}  // namespace

MachineCost machine_cost(std::string_view opcode, const Op& op, double tensor_cycles) {
  if (opcode.starts_with("wgmma.mma_async"))
    return {Pipe::kTensor, 1, static_cast<float>(op.wgmma->columns * cycles::kProductColumn),
            static_cast<float>(cycles::kProductLatency)};
  if (op.cls == InstrClass::kMatrix) return matrix_cost(opcode, op, tensor_cycles);
  if (opcode.starts_with("ldmatrix")) return matrix_load(op.matrix.count);
  // From shared memory, ptxas makes an ldmatrix of it.
  if ((opcode.starts_with("wmma.load.a") || opcode.starts_with("wmma.load.b")) && op.wmma->element_bytes == 2)
    return matrix_load(op.wmma->distinct);
  if (op.cls == InstrClass::kLoadShared && op.access.bytes * op.access.vec == 16)
    return {Pipe::kMemory, 1, 1, static_cast<float>(cycles::kWideSharedLoad)};
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return opcode.starts_with(r.prefix); });
  if (row != std::end(kRows)) return row->cost;
  MachineCost cost = of_class(op.cls);
  // Minimum, maximum and comparison of floats are the integer pipe's work.
  if (cost.pipe == Pipe::kFma && (opcode.starts_with("min") || opcode.starts_with("max")))
    cost = {Pipe::kAlu, 1, 2, kQuick};
  return cost;
}

}  // namespace vgpu
