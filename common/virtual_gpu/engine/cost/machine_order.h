// Orders planned code as ptxas did, where its machine code is known.
#pragma once

#include <optional>

#include "cost/machine_code.h"
#include "cost/plan.h"

namespace vgpu {

// Where in the machine code a piece of PTX went: a region, and how many times it stands there.
struct MachinePlace {
  MachineCode::Region region;
  uint32_t copies = 1;
};

class MachineOrder {
 public:
  MachineOrder(const MachineCode& machine, const KernelCode& kernel) : machine_(machine), kernel_(kernel) {}

  // The loop that a block which branches to itself became, with the most copies of it; and the one with a
  // single copy, which ptxas leaves for the rounds that remain.
  struct LoopPlaces {
    std::optional<MachinePlace> unrolled, single;
  };
  LoopPlaces loop(const ScheduleInput& once) const;

  // Where any other piece of code went; nothing when parts of it cannot be found.
  std::optional<MachinePlace> place(const ScheduleInput& in) const;

  // The ops as they issue there. `in` has as many rounds of the code as there are copies, or one.
  PlannedBlock order(ScheduleInput in, const MachinePlace& place) const;

 private:
  int line_of(const PlannedOp& op) const;
  // As MachineCode's, but only instructions with the letter, unless it is '.'.
  std::vector<uint32_t> made_from(int line, char letter, const MachineCode::Region& region) const;
  std::optional<MachinePlace> copies_in(const ScheduleInput& in, const MachineCode::Region& region) const;

  const MachineCode& machine_;
  const KernelCode& kernel_;
};

}  // namespace vgpu
