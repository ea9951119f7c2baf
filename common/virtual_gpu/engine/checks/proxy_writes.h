// What a launch has written to device memory, and by which way: ordinary stores, or bulk copies. Between the
// two ways nothing is visible by itself. A bulk store's bytes are there when its thread has waited for its
// group; a bulk copy sees ordinary stores behind a proxy fence; a tensor copy sees a changed tensor map
// behind a fence of its own. Only kernels with bulk copies pay for this; each CPU thread has its own.
//
// Blocks know little of each other here: between them, any fence since the store counts, whoever ran it.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exec/op.h"
#include "exec/shape.h"
#include "exec/side_by_side.h"

namespace vgpu {

struct Block;
struct BulkPart;
struct Warp;

enum class MapFence : uint8_t { kRelease, kAcquire };

class ProxyWrites {
 public:
  explicit ProxyWrites(const DeviceMemory& memory) : pieces_(memory) {}
  ~ProxyWrites();
  ProxyWrites(const ProxyWrites&) = delete;

  // Lanes load, store or update by ordinary instructions.
  void access(Warp& w, const Op& op, const uint64_t* address, uint32_t bytes, Mask mask, const Shape& shape,
              bool reads, bool writes);
  // A bulk store writes these parts. The number is for bulk_store_over(), or its source was waited for.
  uint32_t bulk_store(Warp& w, const Op& op, int lane, const std::vector<BulkPart>& parts);
  void bulk_store_over(uint32_t number) { writes_[number].state = State::kOver; }
  void bulk_source_read(uint32_t number) { writes_[number].state = State::kSourceRead; }
  // A bulk copy reads a part.
  void bulk_read(Warp& w, const Op& op, int lane, const BulkPart& part);
  // A tensor copy uses the map at this address.
  void use_map(Warp& w, const Op& op, int lane, uint64_t address);
  // tensormap.cp_fenceproxy has written the map there: it has released it, too.
  void map_copied(uint64_t address);

  void async_fence() { latest_async_fence_ = ++fences_; }
  void map_fence(const Block& b, MapFence fence, uint64_t address);

 private:
  enum class State : uint8_t { kOrdinary, kReleasedMap, kUnderWay, kSourceRead, kOver };
  struct Write {  // of the lanes of a warp by one instruction, or of a bulk store
    uint64_t block = 0;
    uint32_t op = 0, thread = 0;  // the first of its warp, where lanes wrote
    uint32_t tick = 0;            // of the block
    uint32_t fences = 0;          // that had been run before
    State state{};
  };

  static constexpr int kShift = 16;
  static constexpr uint64_t kWords = 1u << (kShift - 2);
  static constexpr int kLaneBits = 5;
  static constexpr size_t kMostWrites = 1u << 22;  // 128 MiB; later ones are not looked at

  // By word: the number of its latest write and the lane; 0 where the launch has not written.
  uint32_t at(uint64_t word) const {
    const uint32_t* piece = pieces_[pieces_.index_of(word << 2)];
    return piece == nullptr ? 0 : piece[word % kWords];
  }
  uint32_t* piece_of(uint64_t word);
  void put(uint64_t word, uint64_t end, uint32_t entry);
  uint32_t number_of(const Warp& w, const Op& op);
  bool is_bulk(uint32_t number) const { return writes_[number].state >= State::kUnderWay; }
  uint32_t thread_of(uint32_t entry) const;
  void check_words(Warp& w, const Op& op, int lane, uint64_t word, uint64_t end);
  bool is_fenced(const Warp& w, int lane, const Write& write, uint32_t thread) const;

  PieceTable<uint32_t*, kShift> pieces_;
  std::vector<uint64_t> used_;
  std::vector<Write> writes_ = std::vector<Write>(1);
  uint32_t latest_of_[64] = {};  // by op
  bool any_bulk_ = false;
  uint32_t fences_ = 0, latest_async_fence_ = 0;
  std::unordered_map<uint64_t, uint32_t> releases_;             // of tensor maps, by block
  std::map<std::pair<uint64_t, uint64_t>, uint32_t> acquires_;  // by block and address
};

}  // namespace vgpu
