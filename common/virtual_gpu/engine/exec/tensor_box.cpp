#include "exec/tensor_box.h"

#include <algorithm>
#include <cstring>

#include "checks/bulk_operands.h"
#include "checks/report.h"
#include "cuda_error.h"

namespace vgpu {

namespace {

bool is_float(const TensorMap& map) {
  return map.type >= 6;  // CU_TENSOR_MAP_DATA_TYPE_FLOAT16 and those after it
}

int64_t size_of(const TensorMap& map, int dimension) {
  return int64_t{map.size_minus_1[dimension]} + 1;
}

int64_t step_of(const TensorMap& map, int dimension) {
  return std::max<int64_t>(1, map.element_stride[dimension]);
}

// The first of W, H and D among the dimensions, and how many of them there are.
int first_spatial(const TensorMap& map) {
  return map.interleave != 0 ? 0 : 1;
}
int spatial_dimensions(const TensorMap& map) {
  return map.rank - 2;
}

// The first and the last coordinate of an im2col map's bounding box along W, H or D.
int64_t lower_end(const TensorMap& map, int spatial) {
  return tensor_corner(map, Corner::kLower, spatial);
}
int64_t upper_end(const TensorMap& map, int spatial) {
  return size_of(map, spatial + first_spatial(map)) - 1 + tensor_corner(map, Corner::kUpper, spatial);
}

// The rows of a copy, one after the other: of a box those along the first dimension; pixel by pixel of
// im2col; of an interleaved tensor each element.
class Rows {
 public:
  Rows(const TensorMap& map, const TensorPlace& place) : map_(map) {
    for (int i = first_spatial(map); i < map.rank; ++i) {
      Axis& a = axes_[count_++];
      a.size = size_of(map, i);
      a.stride = i == 0 ? tensor_row_bytes(map) : map.stride[i - 1];
      a.step = step_of(map, i);
      a.start = a.at = place.at[i];
      a.extent = tensor_extent(map, i);
      rows_ *= a.extent;
    }
    if (!map.im2col) return;
    rows_ = map.pixels;
    for (int j = 0; j < spatial_dimensions(map); ++j) {
      Axis& a = axes_[j];
      a.start = lower_end(map, j);
      a.end = upper_end(map, j);
      a.offset = place.offset[j];
    }
  }

  uint64_t count() const { return rows_; }

  // Of the current row's first byte, were it in the tensor.
  uint64_t global() const {
    uint64_t at = map_.base;
    for (int i = 0; i < count_; ++i) at += static_cast<uint64_t>(where(axes_[i])) * axes_[i].stride;
    return at;
  }

  bool inside() const {
    return std::all_of(axes_, axes_ + count_,
                       [](const Axis& a) { return where(a) >= 0 && where(a) < a.size; });
  }

  void next() {
    // Images of im2col, the last dimension, have no end.
    const int turning = map_.im2col ? spatial_dimensions(map_) : count_;
    for (int i = 0; i < turning; ++i) {
      Axis& a = axes_[i];
      a.at += a.step;
      if (map_.im2col ? a.at <= a.end : ++a.index < a.extent) return;
      a.at = a.start;
      a.index = 0;
    }
    if (map_.im2col) axes_[count_ - 1].at += axes_[count_ - 1].step;
  }

 private:
  struct Axis {
    int64_t size = 0, step = 1, start = 0, end = 0, at = 0, offset = 0;
    uint64_t stride = 0;
    uint32_t extent = 1, index = 0;
  };
  static int64_t where(const Axis& a) { return a.at + a.offset; }

  const TensorMap& map_;
  Axis axes_[kMostTensorDimensions];
  int count_ = 0;
  uint64_t rows_ = 1;
};

// Whether a store may write there: a load is filled where it leaves the tensor, but for a store there is a
// wall before the tensor, and for the pixels of im2col one behind it, too.
bool store_fits(Warp& w, const Op& op, int lane, const TensorMap& map, const TensorPlace& place) {
  const int first = first_spatial(map), spatial = map.im2col ? spatial_dimensions(map) : 0;
  for (int j = 0; j < spatial; ++j)
    if (lower_end(map, j) < 0 || upper_end(map, j) >= size_of(map, j + first)) {
      checks::stores_outside_tensor(w, op, lane, j, lower_end(map, j), upper_end(map, j),
                                    size_of(map, j + first));
      return false;
    }
  for (int i = 0; i < map.rank; ++i)
    if (place.at[i] < 0) {
      checks::stores_before_tensor(w, op, lane, i, place.at[i]);
      return false;
    }
  return true;
}

// Whether the map itself is one that the hardware takes: a kernel may have changed it.
bool map_fits(Warp& w, const Op& op, int lane, const TensorMap& map) {
  const uint32_t row = tensor_box(map, 0) * map.element_bytes;
  if (row == 0 || row % kTensorChunk != 0) {
    checks::uneven_box_row(w, op, lane, row);
    return false;
  }
  if (map.interleave == 0 && map.swizzle != kSwizzleNone && row > swizzle_span(map.swizzle)) {
    checks::box_wider_than_swizzle(w, op, lane, row, swizzle_span(map.swizzle));
    return false;
  }
  // Sizes are kept less one: a size of 0, which only a kernel can put there, is one of 2^32.
  for (int i = 0; i < map.rank; ++i)
    if (map.size_minus_1[i] == ~0u) {
      checks::dimension_without_size(w, op, lane, i);
      return false;
    }
  if (map.fill != 0 && !is_float(map)) {
    checks::fills_integers_with_nan(w, op, lane);
    return false;
  }
  if (map.interleave > 2 || map.swizzle > kSwizzle128 ||
      (map.rank < 3 && (map.interleave != 0 || map.im2col))) {
    checks::odd_interleave(w, op, lane);
    return false;
  }
  return true;
}

bool pixels_fit(Warp& w, const Op& op, int lane, const TensorMap& map, const TensorPlace& place) {
  for (int j = 0; j < spatial_dimensions(map); ++j) {
    const int32_t at = place.at[j + first_spatial(map)];
    if (at >= lower_end(map, j) && at <= upper_end(map, j)) continue;
    checks::outside_bounding_box(w, op, lane, j, at, lower_end(map, j), upper_end(map, j));
    return false;
  }
  return true;
}

bool copy_is_possible(Warp& w, const Op& op, int lane, const TensorMap& map, const TensorPlace& place) {
  const BulkDetail& d = *op.bulk;
  if (d.rank != map.rank) {
    checks::wrong_box_rank(w, op, lane, d.rank, static_cast<int>(map.rank));
    return false;
  }
  if (d.im2col != (map.im2col != 0)) {
    checks::wrong_box_mode(w, op, lane, d.im2col);
    return false;
  }
  if (!map_fits(w, op, lane, map)) return false;
  const int64_t offset = int64_t{place.at[0]} * map.element_bytes;
  if (map.interleave == 0 && offset % kTensorChunk != 0) {
    checks::misaligned_box(w, op, lane, place.at[0], offset);
    return false;
  }
  if (map.im2col && !pixels_fit(w, op, lane, map, place)) return false;
  return d.kind != BulkKind::kStore || store_fits(w, op, lane, map, place);
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

TensorPlace tensor_place(Warp& w, const Op& op, int lane) {
  const BulkDetail& d = *op.bulk;
  TensorPlace place;
  for (int i = 0; i < d.rank; ++i)
    place.at[i] = static_cast<int32_t>(place_value32(w, op, d.coordinates[i], lane));
  const int offsets = d.rank - 2;
  if (!d.im2col || d.offsets[0].at < 0) return place;
  constexpr int kBits[] = {16, 8, 5};
  const int bits = kBits[offsets - 1];
  const uint32_t mask = (1u << bits) - 1;
  uint32_t packed = 0;
  for (int j = 0; j < offsets; ++j) {
    const uint32_t given = place_value32(w, op, d.offsets[j], lane) & 0xffff;
    if (given > mask) checks::offset_beyond_range(w, op, lane, j, given, mask);
    // What is too large for its 5 bits goes into the next one's.
    packed += (bits == 5 ? given : given & mask) << (bits * j);
  }
  for (int j = 0; j < offsets; ++j) place.offset[j] = static_cast<int32_t>(packed >> (bits * j) & mask);
  return place;
}

bool box_fits(Warp& w, const Op& op, int lane, const TensorMap& map, const TensorPlace& place) {
  if (map.base % kTensorChunk != 0) {
    set_launch_error(*w.block, cuda::kMisalignedAddress);
    checks::misaligned_tensor(w, op, lane, map.base);
    return false;
  }
  if (copy_is_possible(w, op, lane, map, place)) return true;
  set_launch_error(*w.block, cuda::kIllegalInstruction);
  return false;
}

BulkType element_type(const TensorMap& map) {
  // By CUtensorMapDataType; PTX has no reduction of the first two.
  constexpr BulkType kElementTypes[] = {BulkType::kBits, BulkType::kBits, BulkType::kU32, BulkType::kS32,
                                        BulkType::kU64,  BulkType::kS64,  BulkType::kF16, BulkType::kF32,
                                        BulkType::kF64,  BulkType::kBf16, BulkType::kF32};
  return map.type < std::size(kElementTypes) ? kElementTypes[map.type] : BulkType::kBits;
}

std::vector<BulkPart> box_parts(const TensorMap& map, const TensorPlace& place, uint32_t shared) {
  const uint32_t row_bytes = tensor_row_bytes(map);
  const bool interleaved = map.interleave != 0;
  const bool swizzles = map.swizzle != kSwizzleNone;
  // Rows narrower than their swizzle leave the rest of it free.
  const uint32_t pitch = swizzles && !interleaved ? swizzle_span(map.swizzle) : row_bytes;
  const int64_t size =
      interleaved ? row_bytes : size_of(map, 0) * map.element_bytes;  // of a row of the tensor
  const int64_t begin = interleaved ? 0 : int64_t{place.at[0]} * map.element_bytes;
  // The bytes of a row of the box that lie in the tensor.
  const int64_t first = std::clamp<int64_t>(-begin, 0, row_bytes);
  const int64_t last = std::clamp<int64_t>(size - begin, first, row_bytes);
  Rows rows(map, place);
  std::vector<BulkPart> parts;
  for (uint64_t row = 0; row < rows.count(); ++row, rows.next()) {
    const uint64_t global = rows.global() + static_cast<uint64_t>(begin);
    const uint32_t to = shared + static_cast<uint32_t>(row) * pitch;
    auto add = [&](int64_t from, int64_t end_of_kind, bool is_inside) {
      const uint32_t step = swizzles ? kTensorChunk : row_bytes;
      while (from < end_of_kind) {
        const int64_t end = std::min<int64_t>(end_of_kind, (from / step + 1) * step);
        const uint32_t linear = to + static_cast<uint32_t>(from);
        parts.push_back({swizzled_address(linear, map.swizzle),
                         is_inside ? global + static_cast<uint64_t>(from) : 0,
                         static_cast<uint32_t>(end - from)});
        from = end;
      }
    };
    if (!rows.inside()) {
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
  return map.fill != 0 ? 0x7ff77ff7u : 0;  // a NaN in every type of floats
}

bool rounds_to_tf32(const TensorMap& map) {
  return map.rounds_to_tf32 != 0 && (map.type == kTensorF32 || map.type == kTensorF32Ftz);
}

}  // namespace vgpu
