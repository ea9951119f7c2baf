// mbarrier.* and the fences of the asynchronous proxy, as ops. Operands are in Op::list, see async_detail.h.
#pragma once

#include "exec/op.h"

namespace vgpu {

void mbarrier_init(Warp&, const Op&);
void mbarrier_init_fence(Warp&, const Op&);
void mbarrier_inval(Warp&, const Op&);
void mbarrier_bytes(Warp&, const Op&);  // expect_tx, complete_tx
void mbarrier_arrive(Warp&, const Op&);
void mbarrier_copy_arrive(Warp&, const Op&);  // cp.async.mbarrier.arrive
void mbarrier_wait(Warp&, const Op&);         // test_wait, try_wait
void mbarrier_pending_count(Warp&, const Op&);
// Op::groups has a bit for each Proxied that it is for.
void proxy_fence(Warp&, const Op&);  // fence.proxy.async
// fence.proxy.tensormap::generic: a release has no BulkDetail; an acquire has one with the map's address.
void map_fence(Warp&, const Op&);

}  // namespace vgpu
