#include "blas/run.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "blas/elementwise.h"
#include "blas/multiply.h"
#include "checks/host_findings.h"
#include "cuda_error.h"

namespace vgpu::blas {
namespace {

using wire::Blas;
using wire::BlasMatrix;
using wire::BlasOp;
using Use = View::Use;

struct Extent {
  int64_t rows, columns;
};

// How an operation uses its operands.
enum class Kind { kNone, kRead, kWritten, kBoth, kNumber };
struct Rules {
  Kind a, b, c;
};
constexpr Rules kRules[] = {
    /* kMultiply */ {Kind::kRead, Kind::kRead, Kind::kBoth},
    /* kSolve */ {Kind::kRead, Kind::kBoth, Kind::kNone},
    /* kCombine */ {Kind::kRead, Kind::kRead, Kind::kWritten},
    /* kProduct */ {Kind::kRead, Kind::kRead, Kind::kWritten},
    /* kSwap */ {Kind::kBoth, Kind::kBoth, Kind::kNone},
    /* kRotate */ {Kind::kBoth, Kind::kBoth, Kind::kNone},
    /* kDot */ {Kind::kRead, Kind::kRead, Kind::kNumber},
    /* kNorm */ {Kind::kRead, Kind::kNone, Kind::kNumber},
    /* kAbsoluteSum */ {Kind::kRead, Kind::kNone, Kind::kNumber},
    /* kLargestIndex */ {Kind::kRead, Kind::kNone, Kind::kNumber},
    /* kSmallestIndex */ {Kind::kRead, Kind::kNone, Kind::kNumber},
};
static_assert(std::size(kRules) == static_cast<size_t>(BlasOp::kCount));

const Rules& rules_of(const Blas& call) {
  return kRules[static_cast<size_t>(call.op)];
}

bool is_used(Kind kind, const BlasMatrix& matrix) {
  return kind != Kind::kNone && !(kind == Kind::kNumber && matrix.address == 0);
}

Extent extent_of_a(const Blas& call) {
  if (call.op == BlasOp::kMultiply) return {call.m, call.k};
  return call.op == BlasOp::kSolve ? Extent{call.m, call.m} : Extent{call.m, call.n};
}

Extent extent_of_b(const Blas& call) {
  return call.op == BlasOp::kMultiply ? Extent{call.k, call.n} : Extent{call.m, call.n};
}

bool uses_bias(const Blas& call) {
  return (call.epilogue & wire::kAddBias) != 0;
}

Kind use_of_aux(const Blas& call) {
  if (call.epilogue & wire::kStoreAux) return Kind::kWritten;
  return call.epilogue & wire::kGeluGradient ? Kind::kRead : Kind::kNone;
}

// One batch at a time; the memory of all of them is checked before anything is computed.
class Runner {
 public:
  Runner(const Blas& call, DeviceMemory& memory, bool check_init)
      : call_(call), memory_(memory), check_init_(check_init), rules_(rules_of(call)) {}

  Outcome run() {
    if (!read_scalars() || !check_operands()) {
      outcome_.error = cuda::kIllegalAddress;
      return std::move(outcome_);
    }
    for (const Batch& batch : batches_) {
      compute(batch);
      if (call_.epilogue & wire::kStoreAux) batch.epilogue.aux.mark_written(memory_);
      for (const auto& [kind, view] :
           {std::pair(rules_.a, &batch.a), std::pair(rules_.b, &batch.b), std::pair(rules_.c, &batch.c)})
        if (kind == Kind::kBoth || kind == Kind::kWritten || (kind == Kind::kNumber && view->rows() != 0))
          view->mark_written(memory_);
    }
    return std::move(outcome_);
  }

  double bytes() const { return bytes_; }

 private:
  struct Batch {
    View a, b, c;
    Epilogue epilogue;
  };

  bool check_view(const View& view, Use use) {
    Finding finding;
    const bool is_there = view.check(use, call_.function, memory_, check_init_, &finding);
    if (!finding.message.empty() && outcome_.finding.message.empty()) outcome_.finding = std::move(finding);
    bytes_ += static_cast<double>(view.bytes()) * (use == Use::kBoth ? 2 : 1);
    return is_there;
  }

  bool read_scalar(const wire::BlasScalar& scalar, Number* value) {
    *value = {scalar.re, scalar.im};
    if (scalar.address == 0) return true;
    const View view({scalar.address, 1, 1, 0, call_.scale_type, 0}, 1, 1, scalar.address);
    if (!check_view(view, Use::kRead)) return false;
    *value = view.get(0, 0);
    return true;
  }

  bool read_scalars() { return read_scalar(call_.alpha, &alpha_) && read_scalar(call_.beta, &beta_); }

  bool find_address(const BlasMatrix& matrix, int64_t batch, uint64_t* address) {
    const ElementType& type = *find_type(matrix.type);
    *address = matrix.address +
               static_cast<uint64_t>(batch) * static_cast<uint64_t>(matrix.batch_stride) * type.bytes;
    if ((matrix.shape & wire::kPointers) == 0) return true;
    constexpr uint32_t kAnyEightBytes = 24;
    const uint64_t slot = matrix.address + static_cast<uint64_t>(batch) * sizeof(uint64_t);
    const View pointer({slot, 1, 1, 0, kAnyEightBytes, 0}, 1, 1, slot);
    if (!check_view(pointer, Use::kRead)) return false;
    std::memcpy(address, DeviceMemory::host(slot), sizeof *address);
    return true;
  }

  bool make_view(Kind kind, const BlasMatrix& matrix, Extent extent, int64_t batch, Use use, View* view) {
    if (!is_used(kind, matrix)) return true;
    if (kind == Kind::kNumber) extent = {1, 1};
    uint64_t address = 0;
    if (!find_address(matrix, batch, &address)) return false;
    *view = View(matrix, extent.rows, extent.columns, address);
    return check_view(*view, use);
  }

  bool check_operands() {
    const bool is_scaled = call_.op == BlasOp::kMultiply || call_.op == BlasOp::kCombine;
    const bool reads_a = !is_scaled || (alpha_ != 0.0 && (call_.op != BlasOp::kMultiply || call_.k > 0));
    const bool reads_b = call_.op == BlasOp::kCombine ? beta_ != 0.0 : reads_a;
    const Use use_c = call_.op == BlasOp::kMultiply && beta_ != 0.0 ? Use::kBoth : Use::kWritten;
    for (int64_t i = 0; i < call_.batches; ++i) {
      Batch batch;
      const Use use_a = rules_.a == Kind::kBoth ? Use::kBoth : Use::kRead;
      const Use use_b = rules_.b == Kind::kBoth ? Use::kBoth : Use::kRead;
      if (reads_a && !make_view(rules_.a, call_.a, extent_of_a(call_), i, use_a, &batch.a)) return false;
      if (reads_b && !make_view(rules_.b, call_.b, extent_of_b(call_), i, use_b, &batch.b)) return false;
      if (!make_view(rules_.c, call_.c, {call_.m, call_.n}, i, use_c, &batch.c)) return false;
      if (!make_epilogue(i, &batch.epilogue)) return false;
      if (!reads_a) batch.a = View(call_.a, extent_of_a(call_).rows, 0, 0);
      if (!reads_b) batch.b = View(call_.b, 0, extent_of_b(call_).columns, 0);
      batches_.push_back(batch);
    }
    return true;
  }

  bool make_epilogue(int64_t batch, Epilogue* epilogue) {
    epilogue->what = call_.epilogue;
    const Kind bias = uses_bias(call_) ? Kind::kRead : Kind::kNone, aux = use_of_aux(call_);
    return make_view(bias, call_.bias, {call_.m, 1}, batch, Use::kRead, &epilogue->bias) &&
           make_view(aux, call_.aux, {call_.m, call_.n}, batch,
                     aux == Kind::kWritten ? Use::kWritten : Use::kRead, &epilogue->aux);
  }

  void put(const Batch& batch, Number value) {
    if (batch.c.rows() != 0) return batch.c.set(0, 0, value);
    outcome_.number = {value.real(), value.imag()};
  }

  void compute(const Batch& batch) {
    const auto& [a, b, c, epilogue] = batch;
    switch (call_.op) {
      case BlasOp::kMultiply:
        return multiply(call_.compute, a, b, c, alpha_, beta_, epilogue);
      case BlasOp::kSolve:
        return solve(a, b, alpha_);
      case BlasOp::kCombine:
        return combine(a, b, c, alpha_, beta_);
      case BlasOp::kProduct:
        return multiply_elements(a, b, c);
      case BlasOp::kSwap:
        return exchange(a, b);
      case BlasOp::kRotate:
        return rotate(a, b, alpha_, beta_);
      case BlasOp::kDot:
        return put(batch, dot(a, b));
      case BlasOp::kNorm:
        return put(batch, norm(a));
      case BlasOp::kAbsoluteSum:
        return put(batch, absolute_sum(a));
      case BlasOp::kLargestIndex:
        return put(batch, static_cast<double>(largest_index(a)));
      default:
        return put(batch, static_cast<double>(smallest_index(a)));
    }
  }

  const Blas& call_;
  DeviceMemory& memory_;
  const bool check_init_;
  const Rules& rules_;
  Number alpha_, beta_;
  std::vector<Batch> batches_;
  Outcome outcome_;
  double bytes_ = 0;
};

bool is_size(int64_t value) {
  constexpr int64_t kMost = int64_t{1} << 40;
  return value >= 0 && value <= kMost;
}

bool is_stride(int64_t value) {
  constexpr int64_t kMost = int64_t{1} << 44;
  return value >= -kMost && value <= kMost;
}

// Whether no two elements share their bytes: then memory bounds the work. Rows or columns may lie close.
bool is_apart(const BlasMatrix& matrix, Extent extent) {
  const auto apart = [](int64_t count, int64_t stride) { return count <= 1 || stride != 0; };
  const auto span = [](int64_t count, int64_t stride) {
    return static_cast<__int128>(count) * (stride < 0 ? -stride : stride);
  };
  if (!apart(extent.rows, matrix.row_stride) || !apart(extent.columns, matrix.column_stride)) return false;
  return extent.rows <= 1 || extent.columns <= 1 ||
         span(1, matrix.column_stride) >= span(extent.rows, matrix.row_stride) ||
         span(1, matrix.row_stride) >= span(extent.columns, matrix.column_stride);
}

// `repeats`: elements of it stand for several.
bool is_matrix(Kind kind, const BlasMatrix& matrix, Extent extent, bool repeats = false) {
  if (kind == Kind::kNone) return true;
  if (kind == Kind::kNumber) extent = {1, 1};
  return find_type(matrix.type) != nullptr && is_stride(matrix.row_stride) &&
         is_stride(matrix.column_stride) && is_stride(matrix.batch_stride) &&
         (repeats || is_apart(matrix, extent));
}

// Results of several batches have places of their own.
bool has_places(Kind kind, const BlasMatrix& matrix, int64_t batches) {
  const bool is_result = kind == Kind::kBoth || kind == Kind::kWritten;
  return !is_result || batches == 1 || matrix.batch_stride != 0 || (matrix.shape & wire::kPointers) != 0;
}

// Of products of real numbers alone.
bool is_epilogue(const Blas& call) {
  constexpr uint32_t kAll =
      wire::kAddBias | wire::kStoreAux | wire::kRelu | wire::kGelu | wire::kGeluGradient;
  const bool is_real = call.compute == kFloat || call.compute == kDouble;
  if (call.epilogue == 0) return true;
  return call.op == BlasOp::kMultiply && is_real && (call.epilogue & ~kAll) == 0 &&
         is_matrix(uses_bias(call) ? Kind::kRead : Kind::kNone, call.bias, {call.m, 1}) &&
         is_matrix(use_of_aux(call), call.aux, {call.m, call.n}) &&
         has_places(use_of_aux(call), call.aux, call.batches);
}

}  // namespace

int check(const Blas& call) {
  if (static_cast<size_t>(call.op) >= std::size(kRules)) return cuda::kInvalidValue;
  constexpr uint32_t kAccumulators[] = {kFloat, kDouble, kComplexFloat, kComplexDouble, kInt32};
  const Rules& rules = rules_of(call);
  constexpr int64_t kMostBatches = 1 << 22;
  if (!is_size(call.m) || !is_size(call.n) || !is_size(call.k)) return cuda::kInvalidValue;
  // An increment of 0 gives one element again and again; the other operand bounds how often.
  const bool may_repeat = call.op == BlasOp::kCombine || call.op == BlasOp::kDot;
  const bool is_fine =
      call.batches >= 0 && call.batches <= kMostBatches &&
      is_matrix(rules.a, call.a, extent_of_a(call), may_repeat) &&
      is_matrix(rules.b, call.b, extent_of_b(call), call.op == BlasOp::kProduct) &&
      is_matrix(rules.c, call.c, {call.m, call.n}) && has_places(rules.a, call.a, call.batches) &&
      has_places(rules.b, call.b, call.batches) && has_places(rules.c, call.c, call.batches) &&
      is_epilogue(call) && find_type(call.scale_type) != nullptr &&
      std::find(std::begin(kAccumulators), std::end(kAccumulators), call.compute) !=
          std::end(kAccumulators) &&
      std::memchr(call.function, 0, sizeof call.function) != nullptr;
  return is_fine ? cuda::kSuccess : cuda::kInvalidValue;
}

Outcome run(const Blas& call, DeviceMemory& memory, bool check_init, const Profile& profile) {
  Runner runner(call, memory, check_init);
  Outcome outcome = runner.run();
  // As long as the memory or the arithmetic takes, whichever is longer.
  const double products = static_cast<double>(call.m) * static_cast<double>(call.n) *
                          static_cast<double>(call.k) * static_cast<double>(call.batches);
  const double per_second = profile.fp32_lanes_per_sm * profile.sms * profile.clock_ghz * 1e9;
  outcome.seconds = std::max(runner.bytes() / profile.dram_bytes_per_second,
                             call.op == BlasOp::kMultiply ? products / per_second : 0.0);
  return outcome;
}

}  // namespace vgpu::blas
