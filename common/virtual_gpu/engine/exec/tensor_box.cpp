#include "exec/tensor_box.h"

#include <algorithm>
#include <cstring>

#include "checks/bulk_operands.h"
#include "checks/report.h"
#include "cuda_error.h"

namespace vgpu {

namespace {

constexpr uint32_t kChunk = 16;  // bytes that swizzling moves together

// Elements of the box along a dimension: a stride leaves some out. Along the first there is none.
uint32_t extent(const TensorMap& map, int dimension) {
  const uint32_t stride = dimension == 0 ? 1 : std::max<uint32_t>(1, map.element_stride[dimension]);
  return (map.box[dimension] + stride - 1) / stride;
}

bool is_float(const TensorMap& map) {
  return map.type >= 6;  // CU_TENSOR_MAP_DATA_TYPE_FLOAT16 and those after it
}

}  // namespace

bool read_tensor_map(Warp& w, const Op& op, int lane, uint64_t address, TensorMap* map) {
  Block& b = *w.block;
  const uint8_t* from = nullptr;
  const std::vector<uint8_t>& params = b.launch->request.params;
  if ((address & ~(kWindowBytes - 1)) == kParamWindow) {
    const uint64_t at = address - kParamWindow;
    if (at + sizeof *map <= params.size()) from = params.data() + at;
  } else if (const Allocation* a = b.launch->env.memory.find(address);
             a != nullptr && address + sizeof *map <= a->end()) {
    from = DeviceMemory::host(address);
    if (b.worker->touched) b.worker->touched->note(Touch::kRead, address, sizeof *map);
  }
  if (from != nullptr) std::memcpy(map, from, sizeof *map);
  if (from != nullptr && map->magic == kTensorMapMagic && address % 64 == 0) return true;
  set_launch_error(b, cuda::kIllegalInstruction);
  checks::no_tensor_map(w, op, lane, address);
  return false;
}

bool box_fits(Warp& w, const Op& op, int lane, const TensorMap& map, int rank, const int32_t* at) {
  const int64_t offset = int64_t{at[0]} * map.element_bytes;
  if (rank == map.rank && offset % kChunk == 0) return true;
  set_launch_error(*w.block, cuda::kIllegalInstruction);
  if (rank != map.rank)
    checks::wrong_box_rank(w, op, lane, rank, static_cast<int>(map.rank));
  else
    checks::misaligned_box(w, op, lane, at[0], offset);
  return false;
}

BulkType element_type(const TensorMap& map) {
  // By CUtensorMapDataType; PTX has no reduction of the first two.
  constexpr BulkType kElementTypes[] = {BulkType::kBits, BulkType::kBits, BulkType::kU32, BulkType::kS32,
                                        BulkType::kU64,  BulkType::kS64,  BulkType::kF16, BulkType::kF32,
                                        BulkType::kF64,  BulkType::kBf16, BulkType::kF32, BulkType::kF32,
                                        BulkType::kF32};
  return map.type < std::size(kElementTypes) ? kElementTypes[map.type] : BulkType::kBits;
}

uint32_t box_bytes(const TensorMap& map) {
  uint32_t bytes = map.element_bytes;
  for (int i = 0; i < map.rank; ++i) bytes *= extent(map, i);
  return bytes;
}

std::vector<BulkPart> box_parts(const TensorMap& map, const int32_t* at, uint32_t shared) {
  const uint32_t row_bytes = map.box[0] * map.element_bytes;
  const int64_t size = (int64_t{map.size_minus_1[0]} + 1) * map.element_bytes;  // of a row of the tensor
  const int64_t begin = int64_t{at[0]} * map.element_bytes;
  // The bytes of a row of the box that lie in the tensor.
  const int64_t first = std::clamp<int64_t>(-begin, 0, row_bytes);
  const int64_t last = std::clamp<int64_t>(size - begin, first, row_bytes);
  uint32_t rows = 1;
  for (int i = 1; i < map.rank; ++i) rows *= extent(map, i);
  std::vector<BulkPart> parts;
  for (uint32_t row = 0; row < rows; ++row) {
    uint64_t global = map.base + static_cast<uint64_t>(begin);
    bool inside = true;
    uint32_t rest = row;
    for (int i = 1; i < map.rank; ++i) {
      const uint32_t n = extent(map, i);
      const int64_t where = int64_t{at[i]} + int64_t{rest % n} * std::max<int64_t>(1, map.element_stride[i]);
      rest /= n;
      inside &= where >= 0 && where <= int64_t{map.size_minus_1[i]};
      global += static_cast<uint64_t>(where) * map.stride[i - 1];
    }
    const uint32_t place = shared + row * row_bytes;
    auto add = [&](int64_t from, int64_t to, bool is_inside) {
      const uint32_t step = map.swizzle == kSwizzleNone ? row_bytes : kChunk;
      while (from < to) {
        const int64_t end = std::min<int64_t>(to, (from / step + 1) * step);
        const uint32_t linear = place + static_cast<uint32_t>(from);
        parts.push_back({swizzled_address(linear, map.swizzle),
                         is_inside ? global + static_cast<uint64_t>(from) : 0,
                         static_cast<uint32_t>(end - from)});
        from = end;
      }
    };
    if (!inside) {
      add(0, row_bytes, false);
      continue;
    }
    add(0, first, false);
    add(first, last, true);
    add(last, row_bytes, false);
  }
  return parts;
}

uint32_t fill_pattern(const TensorMap& map) {
  if (map.fill == 0 || !is_float(map)) return 0;
  return map.element_bytes == 2 ? 0x7fff7fffu : 0x7fffffffu;
}

}  // namespace vgpu
