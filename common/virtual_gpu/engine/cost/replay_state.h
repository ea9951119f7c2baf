// Where the warps and blocks of a replay are: what they wait for, and what they have in flight.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "cost/plan.h"
#include "cost/trace.h"

namespace vgpu {

struct Arrival {
  double time = 0;
  int trips = 0;
  bool of_product = false;  // a product that follows need not wait for it
};

// A warp, and how far it is in its trace.
struct WarpRun {
  const WarpTrace* trace = nullptr;
  size_t event = 0, end = 0;  // block events
  uint32_t rounds = 0;        // of the loop that is counted
  const PlannedBlock* code = nullptr;
  size_t at = 0;                                // op in `code`
  uint32_t memory_begin = 0, memory_count = 0;  // events of the code at hand
  uint32_t memory_seen = 0;                     // where the last one was found
  double next = 0;                              // it may issue again
  int trips = 0;
  double lines_free = 0, dram_free = 0;  // its last look-up, and access to DRAM, is done
  std::vector<Arrival> values;
  Arrival copies;                   // issued, not yet in a group
  std::deque<Arrival> groups;       // of cp.async, oldest first
  double stores = 0, products = 0;  // when those that are in no group yet are done
  std::deque<double> store_groups;
  std::deque<double> product_groups;
  int slot = 0, scheduler = 0;
  bool at_barrier = false, asleep = false;
  int shown = -1;     // its number in the timeline, if it is there
  int barrier = -1;   // its span there, for the barrier at which it waits
  double wanted = 0;  // it was done with the instruction before
};

// A phase of a barrier that counts: who has arrived so far, and who sleeps until all have.
struct PhaseRun {
  uint32_t arrived = 0;
  Arrival at;
  std::vector<int> sleepers;
};

struct BlockRun {
  const BlockTrace* trace = nullptr;
  std::unordered_map<uint32_t, PhaseRun> phases;  // by BlockTrace::phase_key
  int live = 0, waiting = 0;
  double release = 0, end = 0;
  int trips = 0;
  std::vector<int> warps;
};

}  // namespace vgpu
