#include "checks/bulk_operands.h"

#include "checks/async_findings.h"
#include "checks/report.h"

namespace vgpu::checks {
namespace {

// "its size, 20, is not a multiple of 16".
void refused(Warp& w, const Op& op, int lane, const std::string& what, const std::string& advice) {
  report(w, op, lane, Mistake::kBulkOperand, [&](Finding& f) {
    f.message = "the " + async_name(*w.block, op.index) + " of " + who(w, lane) + " is not possible: " + what;
    f.advice = advice;
  });
}

constexpr const char* kSpatial[] = {"W", "H", "D"};

std::string from_to(int64_t first, int64_t last) {
  return std::to_string(first) + " to " + std::to_string(last);
}

const char* text(BulkOperand operand) {
  switch (operand) {
    case BulkOperand::kSize:
      return "its size";
    case BulkOperand::kSource:
      return "its source address";
    case BulkOperand::kDestination:
      return "its destination address";
    case BulkOperand::kShared:
      return "its shared address";
  }
  return "";
}

}  // namespace

void misaligned_bulk(Warp& w, const Op& op, int lane, BulkOperand operand, uint64_t value, uint32_t unit) {
  refused(
      w, op, lane,
      std::string(text(operand)) + ", " + (value > 0xffffffff ? hex(value) : std::to_string(value)) +
          ", is not a multiple of " + std::to_string(unit),
      "Bulk copies move whole pieces of 16 bytes between addresses that are multiples of 16; declare shared "
      "arrays with __align__(128).");
}

void empty_bulk(Warp& w, const Op& op, int lane) {
  refused(w, op, lane, "its size is 0", "Copy at least 16 bytes.");
}

void no_tensor_map(Warp& w, const Op& op, int lane, uint64_t address) {
  refused(w, op, lane, "there is no tensor map at " + hex(address),
          "Make it with cuTensorMapEncodeTiled on the host, and pass it as a const __grid_constant__ "
          "CUtensorMap parameter (or copy it to device memory, aligned to 64 bytes).");
}

void no_tensor_map_copied(Warp& w, const Op& op, int lane, uint64_t address) {
  refused(w, op, lane, "there is no tensor map at " + hex(address),
          "Copy one that cuTensorMapEncodeTiled made to this place first.");
}

void misaligned_tensor(Warp& w, const Op& op, int lane, uint64_t address) {
  refused(w, op, lane,
          "the tensor of its tensor map begins at " + hex(address) + ", which is not a multiple of 16",
          "After a tensormap.replace of the address, the tensor begins at a multiple of 16 bytes.");
}

void dimension_without_size(Warp& w, const Op& op, int lane, int dimension) {
  refused(w, op, lane,
          "dimension " + std::to_string(dimension) + " of its tensor map has a size of 0, or 2^32 elements",
          "A map keeps both alike, and an H200 refuses to copy by it: replace the size by at least 1.");
}

void wrong_box_rank(Warp& w, const Op& op, int lane, int rank, int of_map) {
  refused(w, op, lane,
          "it names " + std::to_string(rank) + " coordinates, and its tensor map has " +
              count_of(static_cast<uint64_t>(of_map), "dimension"),
          "Use the form of the instruction that has the map's number of dimensions.");
}

void misaligned_box(Warp& w, const Op& op, int lane, int32_t first, int64_t bytes) {
  refused(w, op, lane,
          "its first coordinate, " + std::to_string(first) + ", lies " + std::to_string(bytes) +
              " bytes into a row, which is not a multiple of 16",
          "Along the first dimension a box begins at a multiple of 16 bytes.");
}

void wrong_box_mode(Warp& w, const Op& op, int lane, bool is_im2col) {
  refused(w, op, lane,
          is_im2col ? "it is of the im2col kind, and its tensor map is tiled"
                    : "it is tiled, and its tensor map is of the im2col kind",
          "Tiled copies need a map of cuTensorMapEncodeTiled, those with .im2col one of "
          "cuTensorMapEncodeIm2col.");
}

void uneven_box_row(Warp& w, const Op& op, int lane, uint32_t bytes) {
  refused(
      w, op, lane,
      "a row of its box has " + count_of(bytes, "byte") + ", which is not a multiple of 16 above 0",
      "After a tensormap.replace of element type or box, the first dimension of the box times the bytes of "
      "an element is a multiple of 16.");
}

void box_wider_than_swizzle(Warp& w, const Op& op, int lane, uint32_t bytes, uint32_t span) {
  refused(w, op, lane,
          "a row of its box has " + count_of(bytes, "byte") + ", and the swizzle of its tensor map spans " +
              std::to_string(span),
          "Make the box as wide as the swizzle, or narrower.");
}

void fills_integers_with_nan(Warp& w, const Op& op, int lane) {
  refused(w, op, lane, "its tensor map fills with NaN, and its elements are integers",
          "Only floats can be filled with NaN: take the fill mode of zeros (0).");
}

void odd_interleave(Warp& w, const Op& op, int lane) {
  refused(w, op, lane,
          "the interleave, swizzle and number of dimensions of its tensor map do not go together",
          "Interleaved tensors have 3 to 5 dimensions.");
}

void replaces_corners(Warp& w, const Op& op, int lane, bool rank, int ordinal) {
  report(w, op, lane, Mistake::kBulkOperand, [&](Finding& f) {
    f.message = who(w, lane) + " replaces " +
                (rank ? "the rank" : "dimension " + std::to_string(ordinal) + " of the box") +
                " of a tensor map of the im2col kind, which " +
                (rank ? "changes how many bits each corner of its bounding box has"
                      : "has corners of its bounding box in that place");
    f.advice =
        "Make a map of each shape with cuTensorMapEncodeIm2col; replace addresses, sizes, strides and the "
        "channels of a pixel (dimension 0 of the box) in it.";
  });
}

void outside_bounding_box(Warp& w, const Op& op, int lane, int spatial, int32_t at, int64_t first,
                          int64_t last) {
  refused(w, op, lane,
          std::string("its coordinate along ") + kSpatial[spatial] + " is " + std::to_string(at) +
              ", and the bounding box of its tensor map goes from " + from_to(first, last),
          "A copy of the im2col kind starts at a pixel of the bounding box; what is loaded for it may lie "
          "outside: "
          "that is what the offsets are for.");
}

void offset_beyond_range(Warp& w, const Op& op, int lane, int spatial, uint32_t offset, uint32_t most) {
  report(w, op, lane, Mistake::kBulkOperand, [&](Finding& f) {
    f.message = "the " + async_name(*w.block, op.index) + " of " + who(w, lane) + " has the offset " +
                std::to_string(offset) + " along " + kSpatial[spatial] + ", where it may be 0 to " +
                std::to_string(most);
    f.advice =
        "Offsets have no sign and share 16 bits: all of them along W alone, 8 each along W and H, 5 each "
        "along W, H "
        "and D. What does not fit is lost or changes the next one. Begin the bounding box further left "
        "instead.";
  });
}

void stores_outside_tensor(Warp& w, const Op& op, int lane, int spatial, int64_t first, int64_t last,
                           int64_t size) {
  refused(
      w, op, lane,
      std::string("its bounding box goes from ") + from_to(first, last) + " along " + kSpatial[spatial] +
          ", and the tensor from " + from_to(0, size - 1),
      "Pixels outside of a tensor can be loaded, but not stored. Store with a map whose bounding box lies in "
      "the tensor.");
}

void stores_before_tensor(Warp& w, const Op& op, int lane, int dimension, int32_t at) {
  // Hardware fills what a load finds before the tensor, and stops a store there.
  refused(w, op, lane, "its coordinate " + std::to_string(dimension) + " is " + std::to_string(at),
          "A box may be stored past the end of a tensor, where it is clipped, but not before its beginning. "
          "Begin at 0, and leave the rows or columns before it out of the tile.");
}

}  // namespace vgpu::checks
