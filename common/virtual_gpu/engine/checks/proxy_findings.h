// Findings about what ordinary loads, bulk copies and tensor maps see of each other in device memory.
#pragma once

#include "exec/block.h"

namespace vgpu::checks {

// Who wrote a word of device memory in this launch.
struct WrittenBy {
  uint64_t block;
  uint32_t thread, op;
  bool source_read;  // of a bulk store: it was waited for by wait_group.read
};

// A thread, or a bulk copy, reads what a bulk store writes, and nobody has waited for that.
void reads_bulk_store(Warp& w, const Op& op, int lane, uint64_t address, const WrittenBy& store);
// A bulk copy reads what an ordinary store wrote, with no proxy fence between them.
void missing_global_proxy_fence(Warp& w, const Op& op, int lane, uint64_t address, const WrittenBy& store);
// A tensor copy uses a map that was changed, with a fence missing.
void stale_tensor_map(Warp& w, const Op& op, int lane, uint64_t address, const WrittenBy& change,
                      bool released, bool acquired);

}  // namespace vgpu::checks
