// Values that nothing has defined: read from memory that was never written, or shuffled from a lane that is
// not there. They do no harm until they matter, so they are followed through registers and memory, bit by
// bit, to a branch, an address, an atomic or a store to global memory. Only there are they reported.
//
// A warp without such a value runs as if this did not exist. The load that brings the first one ends the
// fast loop (Warp::run_end), and the instructions after it are followed until no such value is left.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "exec/op.h"

namespace vgpu {

enum class Mistake : uint8_t;
struct Allocation;
struct Block;
struct Code;
struct Warp;

// Where an undefined value came from.
struct Origin {
  Mistake mistake{};
  uint32_t op = 0;      // the load or the shuffle
  uint32_t thread = 0;  // in the block
  uint64_t address = 0;
  const Allocation* from = nullptr;  // of device memory
  int lane = -1;                     // of a shuffle: the lane that was to give the value
  bool exited = false;               // … and whether it had exited
  bool reported = false;
};

// What one lane of a register lacks. `computed`: some arithmetic has used it, so it is no mere copy.
struct UndefinedLane {
  uint64_t bits = 0;  // of a predicate: 1
  uint32_t origin = 0;
  bool computed = false;
  void add(const UndefinedLane& other) {
    if (bits == 0) origin = other.origin;
    bits |= other.bits;
    computed |= other.computed;
  }
};

struct UndefinedByte {
  uint32_t origin = 0;
  uint8_t bits = 0;
  bool computed = false;
};

// A byte of what the load at hand has read.
struct LoadedByte {
  int lane = 0;
  uint32_t at = 0;  // in the lane's bytes
  UndefinedByte what;
};

// Registers of a warp, in all its frames, by their place.
struct UndefinedRegisters {
  struct Value {
    Mask lanes = 0;
    UndefinedLane lane[kLanes];
  };
  std::unordered_map<const uint8_t*, Value> values;
  bool any() const { return !values.empty(); }
  UndefinedLane at(const uint8_t* place, int lane) const;
  Mask lanes_at(const uint8_t* place) const;
  void set(const uint8_t* place, int lane, const UndefinedLane& what);
  void clear(const uint8_t* place, Mask lanes);
  void clear_frame(const uint8_t* begin, const uint8_t* end);
};

// Memory of a block's own.
struct UndefinedMemory {
  std::vector<Origin> origins;
  std::vector<LoadedByte> loaded;
  std::unordered_map<uint32_t, UndefinedByte> shared;  // stored there, by address
  std::unordered_map<uint64_t, UndefinedByte> local;   // by local_key
  void clear();
  uint32_t add(const Origin& origin);
};
uint64_t local_key(const Warp& w, int lane, uint32_t address);

enum class Use : uint8_t { kNow, kBranch, kAddress, kStore, kAtomic, kExchange };

// The value of `origin` matters in `op`: reports it, once.
void report_undefined(Block& b, uint32_t origin, const Op& op, Use use);

// A load found that nothing wrote `bytes` bytes, the first of them `at` bytes into what the lane reads.
void note_unwritten(Warp& w, const Op& op, int lane, const Origin& origin, uint32_t at, uint32_t bytes);
// Undefined bytes that were stored in shared memory, and that this load reads.
void note_moved(Warp& w, const uint32_t* address, uint32_t bytes, Mask mask);
// The same for an instruction that uses what it reads: reports them.
void report_moved(Warp& w, const Op& op, const uint32_t* address, uint32_t bytes, Mask mask);
// The registers of the load at hand take over what was noted.
void take_loaded(Warp& w, const Op& op);
// Defined values were stored in shared memory.
void forget_shared(Block& b, const uint32_t* address, uint32_t bytes, Mask mask);

// Runs [op, end) and follows undefined values, until none is left. Returns the op to go on with.
const Op* run_followed(Warp& w, const Code& code, const Op* op, const Op* end, Mask mask);
// What a block of code does not read any more need not be followed.
void forget_dead(Warp& w, const Code& code, uint32_t block, Mask mask);
// The operands of an instruction that ends a block of code.
void follow_control(Warp& w, const Code& code, const Op& op, Mask mask);
void follow_copied_word(Warp& w, const uint8_t* from, const uint8_t* to, Mask lanes);

}  // namespace vgpu
