// What runs beside the threads of a block: mbarriers, the bulk copies that complete on them, and the order
// that a completed phase gives. A block has one from the first such instruction on.
//
// A bulk copy's bytes arrive when somebody waits for its barrier and could not go on without them; a wait
// that is true already brings nothing. So a wait on the wrong parity, or a barrier that does not count the
// bytes, leaves the copy in flight, and the use that follows is found.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "exec/op.h"
#include "exec/products.h"

namespace vgpu {

struct Block;
struct Warp;
enum class BulkReduction : uint8_t;
enum class BulkType : uint8_t;

// What a thread knows when it arrives, and hands to those who wait: accesses up to a tick, by warp.
// `proxied`: those of them that a proxy fence has made visible to the asynchronous proxy, for each space.
// `threads`: single threads of which more is known than of their warp. `blocks`: other blocks of the cluster,
// each as a whole, up to a tick of theirs.
constexpr size_t kMostBlocksOfCluster = 16;
using BlockTicks = std::array<uint32_t, kMostBlocksOfCluster>;  // by rank
enum class Proxied : uint8_t { kShared, kGlobal };
constexpr size_t kProxiedSpaces = 2;
struct OrderClock {
  std::array<uint32_t, kLanes> known{};
  std::array<std::array<uint32_t, kLanes>, kProxiedSpaces> proxied{};
  BlockTicks blocks{};
  std::unordered_map<uint32_t, uint32_t> threads;
  void note_thread(uint32_t thread, uint32_t tick) {
    uint32_t& mine = threads[thread];
    if (mine < tick) mine = tick;
  }
  void join(const OrderClock& other);
};

struct Mbarrier {
  uint32_t count = 0;    // arrivals of a phase
  uint32_t pending = 0;  // of them, those that the current phase lacks
  uint32_t phase = 0;
  int64_t bytes = 0;           // that the current phase still expects; negative: more came than it expects
  int64_t expected_bytes = 0;  // of the current phase
  uint32_t init_tick = 0, init_who = 0;
  // The latest instruction of which one lane ended a phase and others arrived at the next: how many lanes it
  // had.
  uint32_t crowd = 0, crowd_op = 0;
  bool init_fenced = false;        // fence.mbarrier_init of the thread that initialised it
  bool init_released = false;      // to the other blocks of the cluster
  uint32_t expect_op = ~0u;        // the latest expect_tx
  std::vector<uint16_t> arrivals;  // by thread, ever; empty before the first
  // Some arrivals are not among them: those from other blocks, of a thread's cp.async, with a count, or last.
  bool uncounted = false;
  std::array<uint32_t, kLanes> last_arrival{};  // by warp: tick
  uint32_t last_arrive_op = ~0u;
  uint32_t arrival_who = 0, arrival_phase = ~0u;  // of the latest arrival
  std::array<uint32_t, kLanes> seen{};            // by warp: phases that were over when it last could go on
  bool waited_for = false;                        // by anybody, ever
  OrderClock arriving, completed;
};

struct BulkPart {
  uint32_t shared = 0;
  uint64_t global = 0;  // 0: `fill` instead
  uint32_t bytes = 0;
};

// A copy into this block's shared memory that has not arrived.
struct BulkLoad {
  uint32_t op = 0, thread = 0;
  uint32_t barrier = 0;  // shared address
  uint32_t barrier_phase = 0;
  uint64_t bytes = 0;  // that the barrier counts
  std::vector<BulkPart> parts;
  std::vector<uint8_t> data;  // of a copy from shared memory: what it read when it was issued
  BulkReduction reduction{};  // with what is there
  BulkType type{};
  BlockTicks known{};    // of a copy from another block: what its warp knew of all blocks
  uint32_t fill = 0;     // of places outside of a tensor: a pattern of 4 bytes
  uint8_t layout = 0;    // of a box of several dimensions: 1 + the swizzle of its tensor map
  bool to_tf32 = false;  // rounds each float of the tensor
};

// An arrival that waits for a thread's cp.async.
struct CopyArrival {
  uint32_t warp = 0, tick = 0;
  int lane = 0;
  uint32_t barrier = 0, op = 0;
};

// Shared memory that a bulk store or a wgmma reads until its group is waited for.
struct AsyncRead {
  uint32_t op = 0, thread = 0;
  uint32_t group = 0;  // groups that the thread (or warp) had committed before
  bool by_warp = false;
  uint32_t product = 0;  // of a wgmma: how many its warp had issued before
  std::vector<BulkPart> parts;
};

// A bulk store into device memory, whose bytes are there when its group is waited for.
struct AsyncWrite {
  uint32_t number = 0;  // of ProxyWrites
  uint32_t thread = 0, group = 0;
};

struct MbarrierWait {
  uint32_t op = ~0u;
  uint32_t barrier = 0;
  bool by_parity = true;
  uint32_t wanted = 0;  // parity, or phase
  bool failed = false;
  uint32_t phase = 0;  // that the barrier was in
};

// What the products of a warpgroup read of shared memory is over for all of its warps at once: among the
// threads of an OrderClock it has a place of its own, behind all that a block can have.
constexpr uint32_t kProductReader = kLanes * kLanes;
inline uint32_t product_reader(uint32_t thread) {
  return kProductReader + thread / (kWarpsOfGroup * kLanes);
}

struct AsyncUnit {
  explicit AsyncUnit(Block& b);
  void start_block();

  Block& block;
  std::map<uint32_t, Mbarrier> barriers;  // by shared address
  std::vector<BulkLoad> loads;            // oldest first
  std::vector<CopyArrival> arrivals;
  std::vector<AsyncRead> reads;
  std::vector<AsyncWrite> writes;
  std::vector<uint32_t> committed;      // bulk groups, by thread
  std::vector<uint32_t> cluster_round;  // by thread: in which it arrived at the barrier of the cluster
  uint32_t released_to_cluster = 0;     // tick of the latest release to other blocks but by that barrier
  std::vector<uint32_t> fenced[kProxiedSpaces];  // by thread: the tick of its latest proxy fence
  bool fences_global = false;                    // there was one for device memory
  std::vector<uint8_t> layout;        // by 16 bytes of shared memory: BulkLoad::layout of the latest copy
  std::vector<uint16_t> read_counts;  // by word of shared memory: how many of `reads` it is in
  Products products[kLanes];          // by warp
  std::map<uint32_t, std::vector<GroupProduct>> open_products;  // by warpgroup
  std::map<uint32_t, std::vector<ProductsOver>> products_over;  // by warpgroup, oldest first
  uint32_t product_waits = 0;                                   // warps that stand at a wait for products
  uint32_t proxied[kProxiedSpaces][kLanes][kLanes] = {};        // of OrderClock, by warp that knows it
  BlockTicks blocks[kLanes] = {};                               // likewise; only in a cluster
  // By single thread: until when a proxy fence of a thread that knew of it covers what it did.
  std::unordered_map<uint32_t, uint32_t> proxied_threads[kProxiedSpaces];
  std::unordered_map<uint32_t, uint32_t> threads[kLanes];  // of OrderClock, by warp that knows it
  MbarrierWait waits[kLanes];                              // the latest of each warp

  void learn(uint32_t warp, uint32_t thread, uint32_t tick) {
    uint32_t& mine = threads[warp][thread];
    if (mine < tick) mine = tick;
  }
  bool knows(uint32_t warp, uint32_t thread, uint32_t tick) const {
    const auto found = threads[warp].find(thread);
    return found != threads[warp].end() && tick <= found->second;
  }
  // Whether a proxy fence has made what `thread` did at `tick` visible to the asynchronous proxy, for the
  // lane.
  bool is_proxied(const Warp& w, int lane, uint32_t tick, uint32_t thread, Proxied space) const;
  // Spaces of which the clocks need to say what is visible to the asynchronous proxy.
  size_t spaces() const { return fences_global ? kProxiedSpaces : 1; }
  // Warps have met at a barrier of the block.
  void meet(uint32_t warps, bool everyone);
};

AsyncUnit& async_unit(Block& b);

// What the lanes of the warp know goes into the clock, and back.
void release_to(Warp& w, Mask lanes, OrderClock& clock);
void acquire_from(Warp& w, const OrderClock& clock);

// The barrier at a shared address for an operation of this lane; nullptr, with a finding, where there is
// none.
Mbarrier* find_mbarrier(Warp& w, const Op& op, int lane, uint32_t address);
// The phase is over when it lacks neither arrivals nor bytes.
void settle_mbarrier(Block& b, Mbarrier& m);
// The bytes of a copy have come.
void complete_bytes(Block& b, const BulkLoad& load);
// Lets arrive what is under way to this barrier: in a cluster, if the phase ends by that. What comes for a
// later phase, or before the rest of it, stays under way: a copy over it is then found.
void bring_in(Block& b, uint32_t barrier);
// The same for barriers whose waiting warps would wait for ever, whether a phase ends or not.
void bring_in_rest(Block& b);

// Marks shared memory as in use by the asynchronous proxy, and as free again.
void mark_load(Block& b, const BulkLoad& load);
void mark_read(Block& b, const AsyncRead& read);
// The reads that `done` names are over.
void finish_reads(Block& b, const std::vector<bool>& done);

}  // namespace vgpu
