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

void stores_before_tensor(Warp& w, const Op& op, int lane, int dimension, int32_t at) {
  // Hardware fills what a load finds before the tensor, and stops a store there.
  refused(w, op, lane, "its coordinate " + std::to_string(dimension) + " is " + std::to_string(at),
          "A box may be stored past the end of a tensor, where it is clipped, but not before its beginning. "
          "Begin at 0, and leave the rows or columns before it out of the tile.");
}

}  // namespace vgpu::checks
