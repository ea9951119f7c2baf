// Findings about mbarriers and about what the asynchronous units do with shared memory. The callers pass
// facts; the sentences are here.
#pragma once

#include <string>

#include "exec/block.h"

namespace vgpu::checks {

void no_mbarrier(Warp& w, const Op& op, int lane, uint32_t address);
void mbarrier_init_unordered(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m);
void mbarrier_count(Warp& w, const Op& op, int lane, uint32_t address, uint32_t count);
// inval, or another init, while arrivals, bytes or threads that wait are outstanding.
void mbarrier_in_use(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m, bool by_init);
void too_many_arrivals(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m, uint32_t count);
void no_complete_completes(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m);

// A thread touches what a bulk copy brings before it may. False where the stamp is no bulk copy's.
bool use_of_bulk_load(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp, const char* verb);
bool unordered_bulk_load(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp, const char* verb);
// A thread writes what a bulk store or a wgmma still reads.
void overwrites_async_read(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp);

// A bulk copy into shared memory that a thread may still read or write, or that another one fills or reads.
enum class BulkOver { kCopyInFlight, kAsyncRead, kRead, kWrite, kAtomic };
void bulk_over_use(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp, BulkOver over);
// The asynchronous proxy reads what nothing orders before it, or what was never written.
void async_reads_unordered(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp);
void async_reads_unwritten(Warp& w, const Op& op, int lane, uint32_t address);
void missing_proxy_fence(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp);
// The block has ended, and the copy that `op` of `thread` started has not.
void ends_before_copy(Block& b, uint32_t thread, uint32_t op, bool is_store);

// A warp waits for a phase that is over, and so is the next: it cannot see the one it waits for any more.
void missed_phase(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m, uint32_t phase);

void descriptor_leaves(Warp& w, const Op& op, const char* operand, uint32_t address);
// Swizzles as in tensor_map.h: of the descriptor, and of the tensor copy `filled_by` that filled the place.
void descriptor_disagrees(Warp& w, const Op& op, const char* operand, uint32_t address, uint8_t swizzle,
                          uint8_t filled, uint32_t filled_by);
void descriptor_base_offset(Warp& w, const Op& op, const char* operand, uint32_t offset);
void partial_warpgroup(Warp& w, const Op& op, uint32_t first_warp, uint32_t warps);
void different_products(Warp& w, const Op& op, uint32_t other_op);
void absent_warps(Block& b, uint32_t first_warp, const GroupProduct& product);
// `changed_by`: the instruction that changed the product's registers; ~0: there was no wgmma.fence at all.
void missing_product_fence(Warp& w, const Op& op, uint32_t changed_by);
// An instruction touches registers of a product in flight; `is_input`: of its A.
void registers_in_flight(Warp& w, const Op& op, uint32_t product, bool writes, bool is_input);

void no_such_block(Warp& w, const Op& op, int lane, uint32_t rank, uint32_t count);
void block_has_exited(Warp& w, const Op& op, int lane, uint32_t rank);

// "wgmma", "bulk copy" or "bulk reduction".
std::string async_name(const Block& b, uint32_t op);
// "bar[+0 bytes] is in phase 1 and lacks 1 of 4 arrivals and 2048 bytes", for barriers that a warp waits at.
std::string mbarrier_standings(const Block& b);

}  // namespace vgpu::checks
