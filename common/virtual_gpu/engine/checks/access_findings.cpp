#include "checks/access_findings.h"

#include "checks/report.h"

namespace vgpu::checks {
namespace {

const char* verb_of(Direction direction) {
  switch (direction) {
    case Direction::kLoad:
      return "reads";
    case Direction::kStore:
      return "writes";
    case Direction::kAtomic:
      return "updates";
    case Direction::kAsync:
      return "copies asynchronously from";
  }
  return "touches";
}

// "thread (3,0,0) reads 4 bytes"
std::string act(const LaneAccess& a) {
  return who(a.w, a.lane) + " " + verb_of(a.direction) + " " + bytes_text(a.bytes);
}

// Opens the finding of one mistake and gives it the address.
template <class Build>
void report_access(const LaneAccess& a, Mistake mistake, Build build) {
  report(a.w, a.op, a.lane, mistake, [&](Finding& f) {
    f.address = a.address;
    build(f);
  });
}

void beside(Finding& f, const LaneAccess& a, const Allocation& near, int64_t distance) {
  const std::string size = " (" + bytes_text(near.bytes) + ")";
  const uint64_t away = static_cast<uint64_t>(distance < 0 ? -distance : distance);
  f.allocation = near.name;
  f.message = act(a) + " at ";
  if (a.address >= near.base && a.address < near.end())
    f.message += "offset " + std::to_string(a.address - near.base) + " of " + near.name +
                 " and runs past its end" + size;
  else if (distance < 0)
    f.message += bytes_text(away) + " before the start of " + near.name + size;
  else
    f.message += (away == 0 ? "the first byte" : bytes_text(away)) + " past the end of " + near.name + size;
  f.advice = "Guard the access with the number of elements, and check how the index is computed.";
}

}  // namespace

void bad_address(const LaneAccess& a, const Surroundings& around) {
  const bool null = a.address < 4096;
  const Mistake mistake = around.freed      ? Mistake::kUseAfterFree
                          : around.reserved ? Mistake::kGraphMemoryTooEarly
                          : null            ? Mistake::kNullPointer
                          : around.meant    ? Mistake::kWrappedOffset
                          : around.wild     ? Mistake::kWildAddress
                                            : Mistake::kOutOfBounds;
  report_access(a, mistake, [&](Finding& f) {
    const std::string what = act(a) + " at ";
    if (const Allocation* freed = around.freed) {
      f.allocation = freed->name;
      f.message = what + "offset " + std::to_string(a.address - freed->base) + " of " + freed->name;
      if (freed->from_program) {
        f.message += ", which has been freed" + (freed->where.empty() ? "" : " (" + freed->where + ")");
        f.advice = "Free memory only after the last kernel that uses it has finished.";
      } else {
        f.message += ", a buffer of an earlier call that is no longer there";
        f.advice = "Use the pointers of this call: do not keep any of an earlier one.";
      }
    } else if (const auto& reserved = around.reserved) {
      f.allocation = reserved->name;
      f.message = what + "offset " + std::to_string(a.address - reserved->base) + " of " + reserved->name +
                  ", which its graph has not allocated yet";
      f.advice =
          "A captured cudaMallocAsync allocates when its graph runs: use the memory there, or after it.";
    } else if (null) {
      f.message = what + hex(a.address) + ": a null pointer";
      f.advice = "Check what the host passed: an allocation that failed, or an argument in the wrong place.";
    } else if (const Allocation* meant = around.meant) {
      f.allocation = meant->name;
      f.message = what + hex(a.address) + ", a multiple of 4 GiB away from " + meant->name +
                  ": it looks like an offset that has wrapped at 32 bits";
      f.advice = "Compute offsets in 64 bits: make one factor an int64_t before it is multiplied.";
    } else if (around.wild && !DeviceMemory::in_device_arena(a.address)) {
      f.message = what + hex(a.address) + ", which is no device memory: it looks like a host address";
      f.advice =
          "Kernels reach only memory from cudaMalloc and its kin: copy the data to the device first, and "
          "pass the device pointer.";
    } else if (around.nearest) {
      beside(f, a, *around.nearest, around.distance);
    } else {
      f.message = what + hex(a.address) + ", where nothing was ever allocated";
      f.advice = "Check the pointer and the offset arithmetic (an int overflow?).";
    }
  });
}

void misaligned(const LaneAccess& a, const std::string& allocation) {
  report_access(a, Mistake::kMisaligned, [&](Finding& f) {
    f.allocation = allocation;
    f.message = act(a) + " at " + hex(a.address) + (allocation.empty() ? "" : " in " + allocation) +
                ", which is not a multiple of " + std::to_string(a.bytes);
    f.advice =
        "A vector access needs an address that is a multiple of its size: check the offset, or fall back to "
        "narrower accesses.";
  });
}

void out_of_shared(const LaneAccess& a) {
  report_access(a, Mistake::kSharedOutOfBounds, [&](Finding& f) {
    const SharedRegion* near = nullptr;
    uint64_t best = ~0ull;
    for (const SharedRegion& r : a.w.block->launch->shared_regions) {
      const uint64_t d = a.address < r.begin ? r.begin - a.address : a.address + a.bytes - r.end;
      if (d < best) best = d, near = &r;
    }
    f.message = act(a) + " ";
    if (!near) {
      f.message += "of shared memory, but the launch has none";
      f.advice = "Give the launch its dynamic shared memory: the third argument of <<<grid, block, bytes>>>.";
      return;
    }
    f.allocation = near->name;
    f.message +=
        a.address < near->begin  ? bytes_text(near->begin - a.address) + " before the start of " + near->name
        : a.address == near->end ? "at the first byte past the end of " + near->name
        : a.address > near->end  ? bytes_text(a.address - near->end) + " past the end of " + near->name
                                 : "across the end of " + near->name;
    f.message += " (shared, " + bytes_text(near->end - near->begin) + ")";
    f.advice =
        "Check the index against the array's size, and the dynamic shared memory against what the kernel "
        "uses.";
  });
}

void out_of_local(const LaneAccess& a, uint32_t end) {
  report_access(a, Mistake::kLocalOutOfBounds, [&](Finding& f) {
    f.message = act(a) + (a.address < kLocalBegin ? " before the start of" : " past the end of") +
                " its local memory (" + bytes_text(end - kLocalBegin) + " of local arrays)";
    f.advice = "A local array was indexed outside its bounds: check the index.";
  });
}

void out_of_parameters(Warp& w, const Op& op, int lane, uint64_t offset) {
  report(w, op, lane, Mistake::kParametersOutOfBounds, [&](Finding& f) {
    f.message = "a read outside of the kernel's parameters, at offset " + std::to_string(offset);
    f.advice = "Check the index into the parameter struct.";
  });
}

void race_between_blocks(const LaneAccess& a, const GlobalRaceMap::Party& other, bool other_writes,
                         bool no_fence, bool both_volatile) {
  const auto build = [&](Finding& f) {
    const Launch& launch = *a.w.block->launch;
    const Allocation* touched = launch.env.memory.find(a.address);
    f.address = a.address;
    f.allocation = touched ? touched->name : "";
    f.between = "blocks";
    f.message = "two blocks touch offset " + std::to_string(a.address - (touched ? touched->base : 0)) +
                " of " + f.allocation + " in one launch: this one " + verb_of(a.direction) + ", block " +
                std::to_string(other.block - 1) + (other_writes ? " writes" : " reads") + " (" +
                place_text(launch, other.op) + ")";
    if (no_fence)
      f.advice =
          "An atomic tells this block that the other is done, but not that its writes have arrived: "
          "__threadfence() between them and the atomic. Where one thread counts for its whole block, put "
          "__syncthreads() before that fence: the other threads must have written, too.";
    else if (both_volatile)
      f.advice =
          "volatile orders nothing: this block may see the word before or after the other writes it. Let the "
          "other block write its data, __threadfence(), then raise a flag; wait for that flag in a loop.";
    else
      f.advice = "Blocks run in no given order: use an atomic, or give each block its own part.";
  };
  report(a.w, a.op, a.lane, Mistake::kRaceBetweenBlocks, build, other.op);
}

void lanes_collide(Warp& w, const Op& op, int lane, uint64_t address, ptx::Space space) {
  const auto build = [&](Finding& f) {
    const Allocation* a = space == ptx::Space::kGlobal ? w.block->launch->env.memory.find(address) : nullptr;
    if (a != nullptr) f.allocation = a->name;
    f.message = "lanes of one warp write different values to " +
                (a != nullptr ? "offset " + std::to_string(address - a->base) + " of " + a->name
                              : shared_text(*w.block, static_cast<uint32_t>(address))) +
                " in the same instruction: which one stays is undefined";
    f.advice = "Let one lane write, give each lane a place of its own, or use an atomic.";
    f.address = address;
  };
  report(w, op, lane, Mistake::kLanesCollide, build, op.index);
}

void bad_texture(Warp& w, const Op& op, int lane, uint64_t handle) {
  report(w, op, lane, Mistake::kWildAddress, [&](Finding& f) {
    f.address = handle;
    f.message = who(w, lane) + " uses " + hex(handle) + ", which is no texture or surface object";
    f.advice = "Pass what cudaCreateTextureObject or cudaCreateSurfaceObject gave, and destroy it after use.";
  });
}

void outside_surface(Warp& w, const Op& op, int lane, const int64_t (&at)[3], const wire::Texture& surface,
                     Direction direction) {
  report(w, op, lane, Mistake::kOutOfBounds, [&](Finding& f) {
    const uint32_t bytes = uint32_t{op.access.bytes} * op.access.vec;
    f.message = who(w, lane) + " " + verb_of(direction) + " " + bytes_text(bytes) + " at byte " +
                std::to_string(at[0]) + " of row " + std::to_string(at[1]) +
                (surface.depth > 1 ? " of slice " + std::to_string(at[2]) : "") + " of a surface of " +
                std::to_string(surface.width) + " x " + std::to_string(surface.height) +
                (surface.depth > 1 ? " x " + std::to_string(surface.depth) : "") + " elements of " +
                bytes_text(texel_bytes(surface));
    f.advice =
        "Guard the access with the sizes. The first coordinate of a surface counts bytes: multiply it by "
        "the size of an element.";
  });
}

void printf_text(Warp& w, const Op& op, int lane, uint64_t address) {
  report(w, op, lane, Mistake::kPrintfText, [&](Finding& f) {
    f.address = address;
    f.message = "printf is given " + hex(address) + " for a %s, which is no address of device memory";
    f.advice = "Give it a pointer to a string in device code: a host string cannot be read here.";
  });
}

}  // namespace vgpu::checks
