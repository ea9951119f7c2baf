// Asynchronous copies in the words of the interface that the program's author used.
#pragma once

#include <string>

#include "exec/block.h"

namespace vgpu {

struct CopyWords {
  const char* commit;
  const char* wait;  // for all groups but the newest N
};

// Of the cp.async with this index.
CopyWords copy_words(const Launch& launch, uint32_t op);

// What to do about a copy that a thread issued and that is used too early by somebody who may: commit it, or
// wait for its group.
std::string early_use_advice(const Launch& launch, const AsyncCopies& copies, const PendingCopy& copy,
                             int lane);

}  // namespace vgpu
