// Bulk copies as ops: cp.async.bulk, cp.reduce.async.bulk and their tensor forms.
#pragma once

#include "exec/op.h"

namespace vgpu {

struct Block;
struct Warp;
struct BulkPart;

void bulk_copy(Warp&, const Op&);
void bulk_commit(Warp&, const Op&);
void bulk_wait(Warp&, const Op&);
void remote_store(Warp&, const Op&);  // st.async, red.async

// tensor_map_ops.cpp
void replace_map_field(Warp&, const Op&);  // tensormap.replace
void copy_map(Warp&, const Op&);           // tensormap.cp_fenceproxy

// Whether the asynchronous proxy may read these parts of shared memory on behalf of the lane: they must have
// been written, in order, and made visible to it. Reports the first mistake.
void check_async_source(Warp& w, const Op& op, int lane, const BulkPart* parts, size_t count);

// A block has ended: nothing may be on its way to or from its shared memory.
void check_async_end(Block& b);

}  // namespace vgpu
