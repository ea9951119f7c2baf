// Findings about what a kernel does to memory. The callers pass facts; the sentences are here.
#pragma once

#include "checks/global_race.h"
#include "exec/access.h"

namespace vgpu::checks {

// What one lane does.
struct LaneAccess {
  Warp& w;
  const Op& op;
  int lane;
  uint64_t address;
  uint32_t bytes;
  Direction direction;
};

// What lies at and around an address that is in no allocation, or at the end of one.
struct Surroundings {
  const Allocation* freed;
  std::shared_ptr<Reservation> reserved;  // by a graph that has not run
  const Allocation* nearest;
  int64_t distance;         // from the nearest; negative: before its start
  bool wild;                // nothing is near
  const Allocation* meant;  // where it would be if its offset had not wrapped at 32 bits; or nullptr
};

void bad_address(const LaneAccess& access, const Surroundings& around);
void misaligned(const LaneAccess& access, const std::string& allocation);
void out_of_shared(const LaneAccess& access);
void out_of_local(const LaneAccess& access, uint32_t end);
void out_of_parameters(Warp& w, const Op& op, int lane, uint64_t offset);
void race_between_blocks(const LaneAccess& access, const GlobalRaceMap::Party& other, bool other_writes,
                         bool no_fence, bool both_volatile);
// Lanes of a warp store different values in one place; `space` is where.
void lanes_collide(Warp& w, const Op& op, int lane, uint64_t address, ptx::Space space);
// A fetch from a handle that is no texture or surface object.
void bad_texture(Warp& w, const Op& op, int lane, uint64_t handle);
// `at`: the byte in its row, the row and the slice that a surface does not have.
void outside_surface(Warp& w, const Op& op, int lane, const int64_t (&at)[3], const wire::Texture& surface,
                     Direction direction);
void printf_text(Warp& w, const Op& op, int lane, uint64_t address);

}  // namespace vgpu::checks
