// Findings about mbarriers and about what the asynchronous units do with shared memory. The callers pass
// facts; the sentences are here.
#pragma once

#include <string>

#include "exec/block.h"

namespace vgpu::checks {

// `at`: the block whose barrier it is, the warp's own or another one of its cluster.
void no_mbarrier(Warp& w, const Op& op, int lane, const Block& at, uint32_t address);
void mbarrier_init_unordered(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m);
// A thread uses the barrier of `at`, another block of its cluster, and nothing orders the init before that;
// or what does releases nothing.
void remote_init_unordered(Warp& w, const Op& op, int lane, const Block& at, uint32_t address,
                           const Mbarrier& m);
void init_not_released(Warp& w, const Op& op, int lane, const Block& at, uint32_t address, const Mbarrier& m);
void mbarrier_count(Warp& w, const Op& op, int lane, uint32_t address, uint32_t count);
// inval, or another init, while arrivals, bytes or threads that wait are outstanding.
void mbarrier_in_use(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m, bool by_init);
void too_many_arrivals(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m, uint32_t count);
// One instruction brings more arrivals than the phase lacks: the rest go to the next phases.
void too_many_lanes_arrive(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m,
                           uint32_t lanes);
void no_complete_completes(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m);

// A thread touches what a bulk copy brings before it may. False where the stamp is no bulk copy's.
bool use_of_bulk_load(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp, const char* verb);
bool unordered_bulk_load(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp, const char* verb);
// A thread writes what a bulk store or a wgmma still reads.
void overwrites_async_read(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp);

// A bulk copy into shared memory that a thread may still read or write, or that another one fills or reads.
// kBrought: what a copy has brought, which a thread may still want to read.
enum class BulkOver { kCopyInFlight, kAsyncRead, kRead, kWrite, kAtomic, kBrought };
// `use`: by whom, and when where that is known (tick 0: it is not).
void bulk_over_use(Warp& w, const Op& op, int lane, uint32_t address, Stamp use, BulkOver over,
                   const BulkLoad& load);
// The same into the shared memory of `to`, another block of the cluster.
void bulk_over_neighbour(Warp& w, const Op& op, int lane, const Block& to, uint32_t address, uint32_t stamp,
                         BulkOver over);
// The asynchronous proxy reads what nothing orders before it, or what was never written.
void async_reads_unordered(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp);
void async_reads_unwritten(Warp& w, const Op& op, int lane, uint32_t address);
// `verb`: what the asynchronous proxy does with what a thread wrote.
void missing_proxy_fence(Warp& w, const Op& op, int lane, uint32_t address, uint32_t stamp, const char* verb);
// The block has ended, and this copy has not.
void ends_before_store(Block& b, const AsyncRead& read);
void ends_before_load(Block& b, const BulkLoad& load);

// A warp waits for a phase that is over, and so is the next: it cannot see the one it waits for any more.
void missed_phase(Warp& w, const Op& op, int lane, uint32_t address, const Mbarrier& m, uint32_t phase);

void descriptor_leaves(Warp& w, const Op& op, const char* operand, uint32_t address);
// Swizzles as in tensor_map.h: of the descriptor, and of the tensor copy `filled_by` that filled the place.
void descriptor_disagrees(Warp& w, const Op& op, const char* operand, uint32_t address, uint8_t swizzle,
                          uint8_t filled, uint32_t filled_by);
void descriptor_base_offset(Warp& w, const Op& op, const char* operand, uint32_t address, uint32_t offset,
                            uint8_t swizzle, uint32_t filled_by);
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
