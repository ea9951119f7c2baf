// ldmatrix, stmatrix, wmma.load and wmma.store: memory accesses in the shape of matrix fragments.
#include <cstring>

#include "checks/report.h"
#include "checks/shared_check.h"
#include "checks/sync_findings.h"
#include "exec/access.h"
#include "exec/memory_ops.h"
#include "ops/matrix.h"

namespace vgpu {

namespace {

// Undefined bytes in shared memory: fragments are not followed, so a load of them is a use.
void meet_moved(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask, bool stores) {
  if (w.block->undefined.shared.empty()) return;
  if (!stores) report_moved(w, op, address, bytes, mask);
  forget_shared(*w.block, address, bytes, mask);
}

// One access of `bytes` per lane, at generic or space-typed addresses. Returns the host place of each lane,
// nullptr where the access is suppressed.
void open_access(Warp& w, const Op& op, const uint64_t* address, uint32_t bytes, bool stores,
                 uint8_t** place) {
  Block& b = *w.block;
  const Direction direction = stores ? Direction::kStore : Direction::kLoad;
  uint32_t low[kLanes];
  Mask shared = 0;
  const bool all_shared = op.space == static_cast<uint8_t>(ptx::Space::kShared);
  for (int i = 0; i < kLanes; ++i) {
    low[i] = static_cast<uint32_t>(address[i]);
    shared |= static_cast<Mask>(all_shared || (address[i] & ~(kWindowBytes - 1)) == kSharedWindow) << i;
    place[i] = nullptr;
  }
  const Mask global = w.exec & ~shared;
  shared &= w.exec;
  if (shared) {
    const Shape shape = shape_of(low, shared, bytes);
    const Mask good = check_shared_bounds(w, op, low, bytes, shared, shape, direction);
    count_shared(w, op, low, bytes, good, shape, direction);
    if (b.watch_shared)
      check_shared(w, op, low, bytes, good, shape, stores ? SharedUse::kWrite : SharedUse::kRead, false);
    meet_moved(w, op, low, bytes, good, stores);
    for (Mask m = good; m != 0; m &= m - 1) place[first_lane(m)] = b.shared.data() + low[first_lane(m)];
  }
  if (global) {
    const Shape shape = shape_of(address, global, bytes);
    const Mask good = check_global(w, op, address, bytes, global, shape, direction);
    count_global(w, op, address, bytes, good, shape, direction);
    if (stores && b.options->check_init) mark_global_written(w, op, address, bytes, good, shape);
    for (Mask m = good; m != 0; m &= m - 1) place[first_lane(m)] = DeviceMemory::host(address[first_lane(m)]);
  }
}

void wmma_access(Warp& w, const Op& op, bool stores) {
  const WmmaLayout& layout = *op.wmma;
  const uint32_t* stride = lanes_in<uint32_t>(w, op.src[1]);
  const uint64_t* behind = lanes_in<uint64_t>(w, op.src[2]);  // the address's own offset
  uint64_t base[kLanes];
  for (int i = 0; i < kLanes; ++i)
    base[i] = op.flags & kAddress64 ? lanes_in<uint64_t>(w, op.src[0])[i] + behind[i]
                                    : static_cast<uint32_t>(lanes_in<uint32_t>(w, op.src[0])[i] + behind[i]);
  const uint32_t element = static_cast<uint32_t>(layout.element_bytes);
  auto offset = [&](int lane, int r, int k) -> uint64_t {
    const WmmaElement e = wmma_element(layout, lane, r, k);
    const uint64_t at =
        layout.row_major ? uint64_t{e.row} * stride[lane] + e.col : uint64_t{e.col} * stride[lane] + e.row;
    return at * element;
  };
  for (int r = 0; r < layout.registers; ++r) {
    uint8_t* reg = w.regs + op.list[r];
    const int width = layout.register_bytes;
    const size_t bytes = static_cast<size_t>(width) * kLanes;
    if (!stores && r >= layout.distinct) {  // ptxas loads no element twice
      std::memcpy(reg, w.regs + op.list[r - layout.distinct], bytes);
      continue;
    }
    if (!stores) std::memset(reg, 0, bytes);
    // Elements of a register that lie side by side travel together, as the hardware loads them.
    int run = layout.elements_per_register;
    for (int lane = 0; lane < kLanes && run > 1; ++lane)
      for (int k = 1; k < run; ++k)
        if (offset(lane, r, k) != offset(lane, r, 0) + static_cast<uint64_t>(k) * element ||
            (base[lane] + offset(lane, r, 0)) % (element * static_cast<uint32_t>(run)) != 0)
          run = 1;
    for (int k = 0; k < layout.elements_per_register; k += run) {
      uint64_t address[kLanes];
      uint8_t* place[kLanes];
      for (int lane = 0; lane < kLanes; ++lane) address[lane] = base[lane] + offset(lane, r, k);
      open_access(w, op, address, element * static_cast<uint32_t>(run), stores, place);
      for (int lane = 0; lane < kLanes; ++lane) {
        if (!place[lane]) continue;
        uint8_t* value = reg + lane * width + k * static_cast<int>(element);
        if (stores)
          std::memcpy(place[lane], value, element * static_cast<uint32_t>(run));
        else
          std::memcpy(value, place[lane], element * static_cast<uint32_t>(run));
      }
    }
  }
}

// The row addresses that the first 8, 16 or 32 lanes give.
Mask row_places(Warp& w, const Op& op, bool stores, uint8_t** place) {
  Block& b = *w.block;
  uint32_t address[kLanes];
  if (op.flags & kAddress64)
    for (int i = 0; i < kLanes; ++i) {
      // A generic or a shared address: both have the offset in their low half.
      address[i] = static_cast<uint32_t>(lanes_in<uint64_t>(w, op.src[0])[i] + op.matrix.offset);
    }
  else
    lane_addresses32(w, op, address);
  const int rows = 8 * op.matrix.count;
  const Mask mask = rows == 32 ? kAllLanes : (1u << rows) - 1;
  const Shape shape = shape_of(address, mask, 16);
  const Mask good =
      check_shared_bounds(w, op, address, 16, mask, shape, stores ? Direction::kStore : Direction::kLoad);
  // One pass group a matrix, never paired: counted as a store would be.
  count_shared(w, op, address, 16, good, shape, Direction::kStore);
  if (b.watch_shared)
    check_shared(w, op, address, 16, good, shape, stores ? SharedUse::kWrite : SharedUse::kRead, false);
  meet_moved(w, op, address, 16, good, stores);
  for (int i = 0; i < rows; ++i) place[i] = good >> i & 1 ? b.shared.data() + address[i] : nullptr;
  return good;
}

}  // namespace

void load_matrix(Warp& w, const Op& op) {
  uint8_t* place[kLanes];
  uint8_t rows[kLanes][16];
  row_places(w, op, false, place);
  for (int i = 0; i < 8 * op.matrix.count; ++i)
    if (place[i])
      std::memcpy(rows[i], place[i], 16);
    else
      std::memset(rows[i], 0, 16);
  uint32_t out[4][kLanes];
  ldmatrix_distribute(rows, op.matrix.count, op.matrix.transposed, out);
  for (int m = 0; m < op.matrix.count; ++m) std::memcpy(w.regs + op.list[m], out[m], sizeof out[m]);
}

void store_matrix(Warp& w, const Op& op) {
  uint8_t* place[kLanes];
  uint8_t rows[kLanes][16];
  uint32_t in[4][kLanes];
  row_places(w, op, true, place);
  for (int m = 0; m < op.matrix.count; ++m) std::memcpy(in[m], w.regs + op.list[m], sizeof in[m]);
  stmatrix_collect(in, op.matrix.count, op.matrix.transposed, rows);
  for (int i = 0; i < 8 * op.matrix.count; ++i)
    if (place[i]) std::memcpy(place[i], rows[i], 16);
}

void wmma_load(Warp& w, const Op& op) {
  wmma_access(w, op, false);
}
void wmma_store(Warp& w, const Op& op) {
  wmma_access(w, op, true);
}

void matrix_on_partial_warp(Warp& w, const Op& op) {
  if (w.block->options->check_sync) checks::matrix_on_partial_warp(w, op);
  // Go on as if all lanes were here: what the absent ones would give is in their registers.
  const Mask exec = w.exec;
  w.exec = kAllLanes;
  op.fn[1](w, op);
  w.exec = exec;
}

}  // namespace vgpu
