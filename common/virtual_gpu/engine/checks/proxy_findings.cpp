#include "checks/proxy_findings.h"

#include "checks/async_findings.h"
#include "checks/report.h"

namespace vgpu::checks {
namespace {

// "offset 64 of cudaMalloc #2"; the finding has the allocation, too.
std::string device_place(const Block& b, uint64_t address, Finding& f) {
  const Allocation* a = b.launch->env.memory.find(address);
  f.address = address;
  f.allocation = a != nullptr ? a->name : "";
  return "offset " + std::to_string(address - (a != nullptr ? a->base : 0)) + " of " + f.allocation;
}

std::string writer(const Block& b, const WrittenBy& by) {
  std::string text = "thread " + thread_text(*b.launch, by.thread);
  if (by.block != b.linear) {
    const Dim3& g = b.launch->request.grid;
    const Dim3 index{static_cast<uint32_t>(by.block % g.x), static_cast<uint32_t>(by.block / g.x % g.y),
                     static_cast<uint32_t>(by.block / (uint64_t{g.x} * g.y))};
    text += " of block " + dim_text(index);
  }
  return text;
}

std::string written_at(const Block& b, const WrittenBy& by) {
  return " (" + place_text(*b.launch, by.op) + ")";
}

bool is_bulk_copy(const Block& b, const Op& op) {
  return b.launch->kernel.origins[op.index].opcode.find(".async.bulk") != std::string_view::npos;
}

}  // namespace

void reads_bulk_store(Warp& w, const Op& op, int lane, uint64_t address, const WrittenBy& store) {
  const Block& b = *w.block;
  const auto build = [&](Finding& f) {
    const std::string reader =
        is_bulk_copy(b, op) ? "the " + async_name(b, op.index) + " of " + who(w, lane) : who(w, lane);
    f.message = reader + " reads " + device_place(b, address, f) + ", which the " + async_name(b, store.op) +
                " of " + writer(b, store) + written_at(b, store) +
                " may not have written yet: nothing waits for that";
    f.advice = store.source_read
                   ? "cp.async.bulk.wait_group.read waits until the copy has read shared memory, not until "
                     "it has written: let that thread run cp.async.bulk.wait_group 0, without .read, "
                   : "Let that thread commit the copy and wait for all of it, cp.async.bulk.commit_group "
                     "and cp.async.bulk.wait_group 0, without .read, ";
    f.advice += store.block == b.linear ? "then put a barrier before this line."
                                        : "then tell this block, by a flag or a counter that it releases.";
  };
  report(w, op, lane, Mistake::kReadOfBulkStore, build, store.op);
}

void missing_global_proxy_fence(Warp& w, const Op& op, int lane, uint64_t address, const WrittenBy& store) {
  const Block& b = *w.block;
  const auto build = [&](Finding& f) {
    f.message = "the " + async_name(b, op.index) + " of " + who(w, lane) + " reads " +
                device_place(b, address, f) + ", which " + writer(b, store) +
                " wrote in this launch by an ordinary store" + written_at(b, store) +
                ": no fence.proxy.async for global memory stands between them";
    f.advice =
        "Let each writer run fence.proxy.async.global (or fence.proxy.async) after its writes, then put the "
        "barrier, then this copy. A barrier alone does not make them visible to the asynchronous proxy, and "
        "fence.proxy.async.shared::cta is for shared memory alone.";
  };
  report(w, op, lane, Mistake::kMissingGlobalProxyFence, build, store.op);
}

void stale_tensor_map(Warp& w, const Op& op, int lane, uint64_t address, const WrittenBy& change,
                      bool released, bool acquired) {
  const Block& b = *w.block;
  const auto build = [&](Finding& f) {
    const std::string place = device_place(b, address, f);
    f.message = "the " + async_name(b, op.index) + " of " + who(w, lane) + " uses the tensor map at " +
                place + ", which " + writer(b, change) + " changed in this launch" + written_at(b, change) +
                ": no ";
    if (!released) f.message += "fence.proxy.tensormap::generic.release";
    if (!released && !acquired) f.message += " and no ";
    if (!acquired) f.message += "fence.proxy.tensormap::generic.acquire";
    f.message += " stands between them";
    f.advice = "The copy may take the map as it was before. ";
    if (!released)
      f.advice +=
          "Let who changes it run fence.proxy.tensormap::generic.release.gpu behind the change, or change a "
          "copy in shared memory and bring it here by tensormap.cp_fenceproxy. ";
    if (!acquired)
      f.advice +=
          "Let the thread that copies run fence.proxy.tensormap::generic.acquire.gpu [map], 128 first, "
          "behind "
          "the barrier that orders it after the change.";
  };
  report(w, op, lane, Mistake::kStaleTensorMap, build, change.op);
}

}  // namespace vgpu::checks
