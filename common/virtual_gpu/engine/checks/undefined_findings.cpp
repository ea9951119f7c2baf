#include "checks/undefined_findings.h"

#include "checks/report.h"

namespace vgpu::checks {
namespace {

const char* words_of(Use use) {
  switch (use) {
    case Use::kNow:
      return "";
    case Use::kBranch:
      return "and a branch depends on it";
    case Use::kAddress:
      return "and an address depends on it";
    case Use::kStore:
      return "and it reaches global memory";
    case Use::kAtomic:
      return "and an atomic uses it";
    case Use::kExchange:
      return "and other threads get it";
  }
  return "";
}

// "", or where and how the value matters.
std::string use_text(const Launch& l, const Origin& o, const Op& op, Use use) {
  if (use == Use::kNow) return "";
  const std::string here = place_text(l, o.op), there = place_text(l, op.index);
  return std::string(", ") + words_of(use) + (here == there ? "" : " (" + there + ")");
}

}  // namespace

void undefined_value(Block& b, const Origin& o, const Op& op, Use use) {
  Finding* f = open_finding(b, o.thread, o.op, o.mistake, kNoOther, 0);
  if (f == nullptr) return;
  const Launch& l = *b.launch;
  const std::string thread = "thread " + thread_text(l, o.thread), used = use_text(l, o, op, use);
  f->address = o.address;
  switch (o.mistake) {
    case Mistake::kUnwrittenGlobal:
      f->allocation = o.from->name;
      f->message = thread + " reads offset " + std::to_string(o.address - o.from->base) + " of " +
                   o.from->name + ", which nothing has written" + used;
      f->advice =
          "Fresh device memory has arbitrary contents: copy data in, cudaMemset it, or write it before "
          "reading.";
      return;
    case Mistake::kUnwrittenShared:
      f->message = thread + " reads " + shared_text(b, static_cast<uint32_t>(o.address)) +
                   ", which no thread of the block has written" + used;
      f->advice = "Shared memory starts with arbitrary contents: write every element before it is read.";
      return;
    case Mistake::kUnwrittenLocal:
      f->message = thread + " reads an element of a local array that it has not written" + used;
      f->advice = "Initialise the array before it is read.";
      return;
    default: {
      const Warp& w = b.warps[o.thread / kLanes];
      const bool missing = !(w.exists >> o.lane & 1);
      f->message = "lane " + std::to_string(o.thread % kLanes) + " shuffles a value from lane " +
                   std::to_string(o.lane) + ", which " +
                   (missing    ? "does not exist: the block is not a whole number of warps"
                    : o.exited ? "has exited"
                               : "does not take part") +
                   used;
      f->advice =
          "A shuffle reads only lanes that execute it: keep all lanes alive and in step until the exchange "
          "is "
          "done.";
    }
  }
}

}  // namespace vgpu::checks
