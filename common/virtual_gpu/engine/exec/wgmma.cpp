#include "exec/wgmma.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "checks/async_findings.h"
#include "checks/report.h"
#include "exec/block.h"
#include "exec/bulk_ops.h"
#include "exec/memory_ops.h"
#include "ops/matrix_convert.h"
#include "ops/matrix_elements.h"
#include "tensor_map.h"

namespace vgpu {

namespace {

constexpr int kRows = 16;    // of a warp
constexpr int kKBytes = 32;  // of a row of A or of a column of B, whatever the type
constexpr int kMostK = 32, kMostColumns = 256;
constexpr int kPatternRow = 128;  // bytes: what a base offset counts, whatever the swizzle
constexpr uint32_t kChunkBytes = 16;

int element_bytes(WgmmaType t) {
  switch (t) {
    case WgmmaType::kF16:
    case WgmmaType::kBf16:
      return 2;
    case WgmmaType::kTf32:
      return 4;
    default:
      return 1;
  }
}

float value_of(WgmmaType t, const uint8_t* at) {
  using namespace matrix;
  switch (t) {
    case WgmmaType::kF16:
      return half_to_float(load_at<uint16_t>(at, 0));
    case WgmmaType::kBf16:
      return std::bit_cast<float>(static_cast<uint32_t>(load_at<uint16_t>(at, 0)) << 16);
    case WgmmaType::kTf32:
      return std::bit_cast<float>(load_at<uint32_t>(at, 0) & 0xffffe000u);
    case WgmmaType::kE4m3:
      return element::E4m3::kValues[*at];
    case WgmmaType::kE5m2:
      return element::E5m2::kValues[*at];
    case WgmmaType::kS8:
      return static_cast<float>(static_cast<int8_t>(*at));
    case WgmmaType::kU8:
      return static_cast<float>(*at);
    case WgmmaType::kB1:
      break;  // see bit_products
  }
  return 0;
}

// The values of rows of kKBytes.
void widen(WgmmaType t, const uint8_t* from, float* to, int rows) {
  const int count = rows * kKBytes / element_bytes(t);
  if (t == WgmmaType::kF16) return matrix::halves_to_floats(from, to, count);
  const int bytes = element_bytes(t);
  for (int i = 0; i < count; ++i) to[i] = value_of(t, from + i * bytes);
}

// A matrix in shared memory as a descriptor says it.
struct Descriptor {
  uint32_t start, leading, stride;
  uint8_t swizzle;  // as in tensor_map.h
  uint8_t base_offset;
  explicit Descriptor(uint64_t bits)
      : start(static_cast<uint32_t>(bits & 0x3fff) << 4),
        leading(static_cast<uint32_t>(bits >> 16 & 0x3fff) << 4),
        stride(static_cast<uint32_t>(bits >> 32 & 0x3fff) << 4),
        base_offset(static_cast<uint8_t>(bits >> 49 & 7)) {
    constexpr uint8_t kModes[] = {kSwizzleNone, kSwizzle128, kSwizzle64, kSwizzle32};
    swizzle = kModes[bits >> 62];
  }
  uint32_t width() const {  // bytes of a row of the swizzled pattern
    return swizzle == kSwizzle128 ? 128 : swizzle == kSwizzle64 ? 64 : swizzle == kSwizzle32 ? 32 : 16;
  }
  // 16 bytes along k, of row (or column) `mn` of the operand: `byte` is 0 or 16.
  uint32_t along_k(uint32_t mn, uint32_t byte) const {
    const uint32_t rows = start + mn / 8 * stride + mn % 8 * width();
    return swizzled(swizzle == kSwizzleNone ? rows + byte / 16 * leading : rows + byte);
  }
  // 16 bytes along m or n, at k: `byte` counts along m or n.
  uint32_t along_mn(uint32_t k, uint32_t byte) const {
    if (swizzle == kSwizzleNone) return start + byte / 16 * stride + k % 8 * 16 + k / 8 * leading;
    return swizzled(start + byte / width() * leading + byte % width() + k % 8 * width() + k / 8 * stride);
  }
  // The swizzle's pattern begins as many rows past its usual boundary as the base offset says.
  uint32_t swizzled(uint32_t linear) const {
    const uint32_t shift = uint32_t{base_offset} * kPatternRow;
    return swizzled_address(linear - shift, swizzle) + shift;
  }
  // Whether the base offset moves the pattern: that of 64 bytes repeats after four rows, that of 32 after
  // two.
  bool is_shifted() const { return base_offset % (width() / kChunkBytes) != 0; }
};

// Reads an operand from shared memory, rows of kKBytes. False, with a finding, where it leaves it.
struct Operand {
  Warp& w;
  const Op& op;
  std::vector<BulkPart>& parts;
  // The first place that a tensor copy has filled in another pattern than its descriptor's.
  struct Disagreement {
    const char* name = nullptr;
    uint32_t address = 0;
    uint8_t swizzle = 0, base_offset = 0, filled = 0;
  } disagreement{};

  void compare(uint32_t address, const Descriptor& d, const char* name) {
    const uint8_t layout = w.block->unit->layout[address / kChunkBytes];
    if (layout == 0 || disagreement.name != nullptr || (layout == 1 + d.swizzle && !d.is_shifted())) return;
    disagreement = {name, address, d.swizzle, d.base_offset, static_cast<uint8_t>(layout - 1)};
  }

  bool chunk(uint32_t address, const Descriptor& d, uint8_t* to, const char* name) {
    Block& b = *w.block;
    bool inside = false;
    for (const SharedRegion& r : b.launch->shared_regions)
      inside |= address >= r.begin && address + kChunkBytes <= r.end;
    if (!inside) {
      checks::descriptor_leaves(w, op, name, address);
      return false;
    }
    std::memcpy(to, b.shared.data() + address, kChunkBytes);
    compare(address, d, name);
    if (!parts.empty() && parts.back().shared + parts.back().bytes == address)
      parts.back().bytes += kChunkBytes;
    else
      parts.push_back({address, 0, kChunkBytes});
    return true;
  }

  bool read(uint64_t bits, bool transposed, WgmmaType type, uint32_t first, uint32_t count, uint8_t* to,
            const char* name) {
    const Descriptor d(bits);
    if (!transposed) {
      for (uint32_t i = 0; i < count; ++i, to += kKBytes)
        if (!chunk(d.along_k(first + i, 0), d, to, name) ||
            !chunk(d.along_k(first + i, kChunkBytes), d, to + kChunkBytes, name))
          return false;
      return true;
    }
    const auto bytes = static_cast<uint32_t>(element_bytes(type));
    uint8_t raw[kChunkBytes];
    for (uint32_t k = 0; k < kKBytes / bytes; ++k)
      for (uint32_t i = 0; i < count; i += kChunkBytes / bytes) {
        if (!chunk(d.along_mn(k, (first + i) * bytes), d, raw, name)) return false;
        for (uint32_t e = 0; e < kChunkBytes / bytes; ++e)
          std::memcpy(to + (i + e) * kKBytes + k * bytes, raw + e * bytes, bytes);
      }
    return true;
  }
};

// A from registers: lane 4 * g + t has rows g and g + 8; each register holds 4 bytes along k, from t * 4 on,
// the third and fourth those 16 bytes further.
void a_from_registers(const Warp& w, const Op& op, const WgmmaDetail& d, uint8_t* to) {
  for (int lane = 0; lane < kLanes; ++lane)
    for (int r = 0; r < 4; ++r) {
      const int row = lane / 4 + 8 * (r & 1), byte = lane % 4 * 4 + 16 * (r >> 1);
      std::memcpy(to + row * kKBytes + byte, w.regs + op.list[d.a_at + r] + lane * 4, 4);
    }
}

// products[row * columns + n]: sums over k in float, in the order of k.
void number_products(const WgmmaDetail& d, const uint8_t* a_bytes, const uint8_t* b_bytes, float* products) {
  const int k_elements = kKBytes / element_bytes(d.a);
  float a[kRows * kMostK];
  thread_local float b_rows[kMostColumns * kMostK];
  thread_local float b_columns[kMostK * kMostColumns];
  widen(d.a, a_bytes, a, kRows);
  widen(d.b, b_bytes, b_rows, d.columns);
  for (int k = 0; k < k_elements; ++k)
    for (int n = 0; n < d.columns; ++n) b_columns[k * d.columns + n] = b_rows[n * k_elements + k];
  const float sign = d.negate_a != d.negate_b ? -1.0f : 1.0f;
  for (int row = 0; row < kRows; ++row) {
    float* __restrict out = products + row * d.columns;
    std::fill_n(out, d.columns, 0.0f);
    for (int k = 0; k < k_elements; ++k) {
      const float factor = sign * a[row * k_elements + k];
      const float* __restrict in = b_columns + k * d.columns;
      for (int n = 0; n < d.columns; ++n) out[n] += factor * in[n];
    }
  }
}

// How many bits of a row of A and of a column of B are both set.
void bit_products(const WgmmaDetail& d, const uint8_t* a_bytes, const uint8_t* b_bytes, float* products) {
  for (int row = 0; row < kRows; ++row)
    for (int n = 0; n < d.columns; ++n) {
      int both = 0;
      for (int word = 0; word < kKBytes / 8; ++word)
        both += std::popcount(matrix::load_at<uint64_t>(a_bytes + row * kKBytes, word) &
                              matrix::load_at<uint64_t>(b_bytes + n * kKBytes, word));
      products[row * d.columns + n] = static_cast<float>(both);
    }
}

uint32_t saturated(int32_t c, int64_t product, bool saturates) {
  const int64_t sum = int64_t{c} + product;
  if (saturates)
    return static_cast<uint32_t>(static_cast<int32_t>(
        std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())));
  return static_cast<uint32_t>(sum);
}

uint32_t float_bits(float value) {
  return value == value ? std::bit_cast<uint32_t>(value) : 0x7fffffffu;
}

// Joins a row's products with what the result's registers hold.
void write_results(Warp& w, const Op& op, const WgmmaDetail& d, const float* products, bool adds) {
  for (int j = 0; j < d.columns / 8; ++j)
    for (int half = 0; half < 2; ++half)
      for (int lane = 0; lane < kLanes; ++lane) {
        const float* at = products + (lane / 4 + 8 * half) * d.columns + 8 * j + lane % 4 * 2;
        if (d.sum == WgmmaSum::kF16) {
          uint8_t* reg = w.regs + op.list[2 * j + half] + lane * 4;
          for (int e = 0; e < 2; ++e) {
            const float old = adds ? matrix::half_to_float(matrix::load_at<uint16_t>(reg, e)) : 0.0f;
            const uint16_t bits = matrix::float_to_half(at[e] + old);
            std::memcpy(reg + 2 * e, &bits, 2);
          }
          continue;
        }
        for (int e = 0; e < 2; ++e) {
          uint8_t* reg = w.regs + op.list[4 * j + 2 * half + e] + lane * 4;
          uint32_t bits;
          if (d.sum == WgmmaSum::kS32)
            bits = saturated(adds ? matrix::load_at<int32_t>(reg, 0) : 0, static_cast<int64_t>(at[e]),
                             d.saturates);
          else
            bits = float_bits(adds ? at[e] + matrix::load_at<float>(reg, 0) : at[e]);
          std::memcpy(reg, &bits, 4);
        }
      }
}

void note_registers(const Op& op, const WgmmaDetail& d, Products& p) {
  if (p.registers.empty()) return;
  auto note = [&](uint32_t place, bool is_input) {
    const size_t at = place / kRegisterPlace;
    if (at < p.registers.size()) p.registers[at] = {p.committed, op.index, is_input};
  };
  for (int i = 0; i < d.a_registers; ++i) note(op.list[d.a_at + i], true);
  for (int i = 0; i < d.results; ++i) note(op.list[i], false);
}

// All four warps of a warpgroup issue the same products in the same order.
void meet_in_group(Warp& w, const Op& op, Products& p) {
  Block& b = *w.block;
  AsyncUnit& unit = async_unit(b);
  const uint32_t group = w.id / kWarpsOfGroup, first = group * kWarpsOfGroup;
  if (!b.options->check_sync) return;
  if (first + kWarpsOfGroup > b.launch->warps) {
    if (p.issued == 0) checks::partial_warpgroup(w, op, first, b.launch->warps - first);
    return;
  }
  std::vector<GroupProduct>& open = unit.open_products[group];
  // Those that all have come to are gone: the warp's own place is counted from the last of them.
  size_t place = 0;
  while (place < open.size() && (open[place].warps >> (w.id - first) & 1)) ++place;
  if (place == open.size()) open.push_back({op.index, 0});
  if (open[place].op != op.index) checks::different_products(w, op, open[place].op);
  open[place].warps |= 1u << (w.id - first);
  while (!open.empty() && open.front().warps == 15) open.erase(open.begin());
}

void issue_product(Warp& w, const Op& op) {
  Block& b = *w.block;
  const WgmmaDetail& d = *op.wgmma;
  AsyncUnit& unit = async_unit(b);
  Products& p = unit.products[w.id];
  if (p.issued == 0 && b.launch->kernel.guards_products)
    p.registers.assign(w.splits[static_cast<size_t>(w.current)].frame->code->reg_bytes / kRegisterPlace + 1,
                       {});
  meet_in_group(w, op, p);
  if (b.options->check_async)
    if (const auto missing = b.launch->kernel.unfenced_products.find(op.index);
        missing != b.launch->kernel.unfenced_products.end())
      checks::missing_product_fence(w, op, missing->second);
  uint8_t a[kRows * kKBytes];
  thread_local uint8_t b_rows[kMostColumns * kKBytes];
  float products[kRows * kMostColumns];
  AsyncRead read;
  Operand operand{w, op, read.parts, {}};
  const uint32_t first_row = w.id % kWarpsOfGroup * kRows;
  bool good = true;
  if (d.a_in_registers)
    a_from_registers(w, op, d, a);
  else
    good =
        operand.read(lanes_in<uint64_t>(w, op.list[d.a_at])[0], d.transpose_a, d.a, first_row, kRows, a, "A");
  const uint32_t columns = static_cast<uint32_t>(d.columns);
  good = good &&
         operand.read(lanes_in<uint64_t>(w, op.list[d.b_at])[0], d.transpose_b, d.b, 0, columns, b_rows, "B");
  ++p.issued;
  ++w.matrix_instructions;
  if (!good) return;
  check_async_source(w, op, 0, read.parts.data(), read.parts.size());
  if (operand.disagreement.name != nullptr && b.watch_shared && b.options->check_memory) {
    const auto& [name, address, swizzle, base_offset, filled] = operand.disagreement;
    // Where threads have written since, the layout is their own.
    const uint32_t filled_by = who_op(b.shadow.words.write_who[address / 4]);
    if (b.launch->kernel.origins[filled_by].opcode.find(".bulk.tensor") != std::string_view::npos) {
      if (swizzle != filled)
        checks::descriptor_disagrees(w, op, name, address, swizzle, filled, filled_by);
      else
        checks::descriptor_base_offset(w, op, name, address, base_offset, swizzle, filled_by);
    }
  }
  (d.a == WgmmaType::kB1 ? bit_products : number_products)(d, a, b_rows, products);
  const bool adds = predicate(w, op.list[d.scale_at]) & 1;
  write_results(w, op, d, products, adds);
  note_registers(op, d, p);
  read.op = op.index;
  read.thread = w.id * kLanes;
  read.group = p.committed;
  read.product = p.issued - 1;
  read.by_warp = true;
  mark_read(b, read);
  unit.reads.push_back(std::move(read));
}

}  // namespace

void wgmma_product(Warp& w, const Op& op) {
  issue_product(w, op);
  if (async_unit(*w.block).product_waits != 0) wake_product_waits(w);
}

void wgmma_fence(Warp&, const Op&) {}

void check_products_end(Block& b) {
  if (!b.unit || !b.options->check_sync || b.must_stop()) return;
  for (const auto& [group, open] : b.unit->open_products)
    if (!open.empty()) checks::absent_warps(b, group * kWarpsOfGroup, open.front());
}

}  // namespace vgpu
