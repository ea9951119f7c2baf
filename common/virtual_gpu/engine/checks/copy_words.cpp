#include "checks/copy_words.h"

#include "checks/report.h"
#include "exec/module.h"

namespace vgpu {
namespace {

// By the name of a function that the copy was inlined from.
constexpr struct {
  const char* function;
  CopyWords words;
} kInterfaces[] = {
    {"__pipeline_memcpy_async", {"__pipeline_commit()", "__pipeline_wait_prior(N)"}},
    {"cuda::", {"producer_commit()", "cuda::pipeline_consumer_wait_prior<N>()"}},
    {"copy_async", {"commit_copies()", "wait_for_copies<N>()"}},
};
constexpr CopyWords kInstructions{"cp.async.commit_group", "cp.async.wait_group N"};

}  // namespace

CopyWords copy_words(const Launch& launch, uint32_t op) {
  const std::vector<SourcePlace> places = launch.module.place(launch.kernel.origins[op].loc);
  for (const auto& interface : kInterfaces)
    for (const SourcePlace& place : places)
      if (place.function.find(interface.function) != std::string::npos) return interface.words;
  return kInstructions;
}

std::string early_use_advice(const Launch& launch, const AsyncCopies& copies, const PendingCopy& copy,
                             int lane) {
  const size_t at = static_cast<size_t>(lane);
  const CopyWords words = copy_words(launch, copy.op);
  if (copies.committed[at] <= copy.group[at])
    return std::string(
               "The copy belongs to no group yet: a wait counts only groups that were committed. Put ") +
           words.commit + " behind the copies, then wait.";
  // Groups that were committed between the wait and this line do not count for the wait.
  const bool waited = copies.committed_at_wait[at] > copy.group[at];
  const uint32_t since = (waited ? copies.committed_at_wait[at] : copies.committed[at]) - copy.group[at] - 1;
  return (waited ? "The last wait left the copy in flight: "
                 : std::string("Wait for the copy's group before this line: ")) +
         words.wait + " leaves the newest N groups in flight, and " +
         (since == 0   ? "none was"
          : since == 1 ? "one was"
                       : std::to_string(since) + " were") +
         " committed after this one" + (waited ? " before that wait" : "") + ", so N must be " +
         (since == 0 ? "0." : std::to_string(since) + " or less.");
}

}  // namespace vgpu
