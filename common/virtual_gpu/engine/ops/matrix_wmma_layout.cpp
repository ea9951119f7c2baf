// Where wmma.load and wmma.store put the elements of a matrix. The layouts are those of sm_80 to sm_90
// hardware (read off an H200); they do not depend on whether the matrix is row- or column-major in memory.
#include <array>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/matrix.h"
#include "ops/matrix_names.h"
#include "ops/matrix_wmma_shape.h"

namespace vgpu {
namespace {

using matrix::concat;
using matrix::shape_name;
using matrix::WmmaShape;

// A register, or for accumulators a pair of sums, is a block of 8 lines over the warp: lane 4 * g + t holds
// `width` elements of line g, from width * t on. Lines run along rows or, transposed, along columns.
struct Block {
  int row, col;
  bool transposed;
};

WmmaElement place(const Block& block, int width, int lane, int element) {
  const int line = lane / 4;
  const int along = width * (lane % 4) + element;
  return {static_cast<uint8_t>(block.row + (block.transposed ? along : line)),
          static_cast<uint8_t>(block.col + (block.transposed ? line : along))};
}

std::vector<Block> transposed(std::vector<Block> blocks) {
  for (Block& b : blocks) b = {b.col, b.row, !b.transposed};
  return blocks;
}

// Tiles of 16 rows, each tile column by column of blocks, in a column of blocks the upper half first: A of
// mma, once or twice.
std::vector<Block> tall_blocks(int rows, int k, int block_k) {
  std::vector<Block> blocks;
  for (int tile = 0; tile < rows; tile += 16) {
    for (int col = 0; col < k; col += block_k) {
      blocks.push_back({tile, col, false});
      blocks.push_back({tile + 8, col, false});
    }
  }
  return blocks;
}

// B of mma, for each group of 8 columns of the result.
std::vector<Block> column_blocks(int k, int cols, int block_k) {
  std::vector<Block> blocks;
  for (int col = 0; col < cols; col += 8) {
    for (int row = 0; row < k; row += block_k) blocks.push_back({row, col, true});
  }
  return blocks;
}

struct Fragment {
  char operand;  // 'a', 'b' or 'c'; c also stands for the d of a store
  WmmaShape shape;
  const char* type;
  int element_bytes;
  int repeats;  // how often the fragment holds its blocks
};

std::vector<Block> fragment_blocks(const Fragment& f) {
  const auto [m, n, k] = f.shape;
  if (f.operand == 'c') {
    if (m == 8 && n == 8) return {{0, 0, false}};
    if (m == 8) return transposed(tall_blocks(n, 8, 8));
    std::vector<Block> blocks;
    for (int col = 0; col < n; col += 8) {
      for (const Block& b : tall_blocks(m, 8, 8)) blocks.push_back({b.row, b.col + col, false});
    }
    return blocks;
  }
  const int block_k = f.element_bytes == 8 ? 4 : 16 / f.element_bytes;
  const bool is_a = f.operand == 'a';
  if (m == 8 && n == 8) return {{0, 0, !is_a}};
  // In m8n32, A and B trade places: the product is computed as that of the transposes.
  if (m == 8) return is_a ? transposed(column_blocks(k, 8, block_k)) : transposed(tall_blocks(n, k, block_k));
  return is_a ? tall_blocks(m, k, block_k) : column_blocks(k, n, block_k);
}

class Layouts {
 public:
  Layouts() {
    for (const WmmaShape shape : {WmmaShape{16, 16, 16}, WmmaShape{32, 8, 16}, WmmaShape{8, 32, 16}}) {
      for (const char operand : {'a', 'b'}) {
        // f16 fragments are eight registers in every shape (see matrix_wmma_shape.h).
        const int lines = operand == 'a' ? shape.m : shape.n;
        add({operand, shape, "f16", 2, 32 / lines});
        add({operand, shape, "bf16", 2, 1});
        add({operand, shape, "s8", 1, 1});
        add({operand, shape, "u8", 1, 1});
      }
      add({'c', shape, "f16", 2, 1});
      add({'c', shape, "f32", 4, 1});
      add({'c', shape, "s32", 4, 1});
    }
    const WmmaShape tf32_shape{16, 16, 8};
    add({'a', tf32_shape, "tf32", 4, 1});
    add({'b', tf32_shape, "tf32", 4, 1});
    add({'c', tf32_shape, "f32", 4, 1});
    const WmmaShape f64_shape{8, 8, 4};
    for (const char operand : {'a', 'b', 'c'}) add({operand, f64_shape, "f64", 8, 1});
  }

  const WmmaLayout* find(const std::string& opcode) const {
    const auto found = by_opcode_.find(opcode);
    return found == by_opcode_.end() ? nullptr : &found->second;
  }

 private:
  void add(const Fragment& f) {
    const std::vector<Block> blocks = fragment_blocks(f);
    // Of one line, a lane holds two sums of an accumulator, or what a register holds of A or B.
    const int width = f.operand == 'c' ? 2 : f.element_bytes == 8 ? 1 : 4 / f.element_bytes;
    WmmaLayout layout;
    layout.rows = f.operand == 'b' ? f.shape.k : f.shape.m;
    layout.cols = f.operand == 'a' ? f.shape.k : f.shape.n;
    layout.element_bytes = f.element_bytes;
    layout.register_bytes = f.element_bytes == 8 ? 8 : 4;
    layout.elements_per_register = layout.register_bytes / f.element_bytes;
    layout.distinct = static_cast<int>(blocks.size()) * width / layout.elements_per_register;
    layout.registers = f.repeats * layout.distinct;
    std::vector<WmmaElement>& table = tables_.emplace_back();
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int repeat = 0; repeat < f.repeats; ++repeat) {
        for (const Block& block : blocks) {
          for (int i = 0; i < width; ++i) table.push_back(place(block, width, lane, i));
        }
      }
    }
    layout.table = table.data();
    for (const bool row_major : {true, false}) {
      layout.row_major = row_major;
      const std::string rest = concat({".sync.aligned.", row_major ? "row." : "col.",
                                       shape_name(f.shape.m, f.shape.n, f.shape.k), ".", f.type});
      layout.is_store = false;
      by_opcode_[concat({"wmma.load.", {&f.operand, 1}, rest})] = layout;
      if (f.operand != 'c') continue;
      layout.is_store = true;
      by_opcode_[concat({"wmma.store.d", rest})] = layout;
    }
  }

  std::deque<std::vector<WmmaElement>> tables_;
  std::unordered_map<std::string, WmmaLayout> by_opcode_;
};

constexpr std::array<std::string_view, 4> kStateSpaces = {".global.", ".shared.", ".shared::cta.",
                                                          ".shared::cluster."};

}  // namespace

const WmmaLayout* wmma_layout(std::string_view opcode) {
  static const Layouts layouts;
  std::string plain(opcode);
  for (const std::string_view space : kStateSpaces) {
    if (const size_t at = plain.find(space); at != std::string::npos) {
      plain.erase(at, space.size() - 1);
      break;
    }
  }
  return layouts.find(plain);
}

}  // namespace vgpu
