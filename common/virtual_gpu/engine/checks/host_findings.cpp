#include "checks/host_findings.h"

#include "checks/words.h"

namespace vgpu::checks {
namespace {

// Farther than this from any allocation, naming the nearest would mislead.
constexpr int64_t kNearBytes = 1 << 20;

// "cudaMalloc #3, 16 bytes from its start"
std::string describe_address(const DeviceMemory& memory, uint64_t address) {
  if (const Allocation* a = memory.find(address))
    return a->name + ", " + bytes_text(address - a->base) + " from its start";
  if (const Allocation* freed = memory.find_freed(address))
    return freed->name + ", which was freed by " + freed->where;
  if (const auto reserved = memory.find_reserved(address))
    return reserved->name + ", which its graph has not allocated yet";
  int64_t distance = 0;
  const Allocation* near = memory.nearest(address, &distance);
  if (near == nullptr || std::abs(distance) > kNearBytes)
    return hex(address) + ", which is not in any memory allocated on the device";
  if (distance == 0) return hex(address) + ", just past the end of " + near->name;
  const uint64_t away = static_cast<uint64_t>(distance < 0 ? -distance : distance);
  return hex(address) + ", " + bytes_text(away) +
         (distance < 0 ? " before the start of " : " past the end of ") + near->name;
}

Finding about(Mistake mistake, uint64_t address, const Allocation* allocation) {
  Finding f;
  f.mistake = mistake;
  f.address = address;
  if (allocation != nullptr) f.allocation = allocation->name;
  return f;
}

}  // namespace

Finding transfer_out_of_range(const char* verb, uint64_t address, uint64_t bytes,
                              const DeviceMemory& memory) {
  const Allocation* a = memory.find(address);
  const Allocation* freed = a == nullptr ? memory.find_freed(address) : nullptr;
  Finding f = about(Mistake::kTransferOutOfRange, address, a != nullptr ? a : freed);
  f.message = std::string(verb) + " " + bytes_text(bytes) + " ";
  if (a != nullptr) {
    f.message += "from offset " + std::to_string(address - a->base) + " of " + a->name + ", which has " +
                 bytes_text(a->bytes) + ": " + std::to_string(bytes - (a->end() - address)) +
                 " past its end.";
    f.advice = "Check the size: it is in bytes, and counts from the pointer that is passed.";
  } else if (freed != nullptr) {
    f.message += "at " + hex(address) + " in " + freed->name + ", which was freed by " + freed->where + ".";
    f.advice = "Free memory only when nothing uses it any more.";
  } else {
    f.message += "at " + describe_address(memory, address) + ".";
    f.advice = "Pass a pointer that cudaMalloc returned, and check the direction of the copy.";
  }
  return f;
}

Finding transfer_of_heap(const char* verb, uint64_t address, uint64_t bytes, const Allocation& a) {
  Finding f = about(Mistake::kTransferOutOfRange, address, &a);
  f.message = std::string(verb) + " " + bytes_text(bytes) + " of " + a.name +
              ", which a kernel allocated: the host's calls do not reach the heap of device code.";
  f.advice = "Copy the data to memory from cudaMalloc in a kernel first.";
  return f;
}

Finding transfer_direction(const char* direction, bool is_destination, bool is_host_memory) {
  Finding f;
  f.mistake = Mistake::kTransferDirection;
  f.message = std::string("A copy marked ") + direction + " has a " +
              (is_destination ? "destination" : "source") +
              (is_host_memory ? " in host memory." : " in device memory.");
  f.advice = "The destination comes first: cudaMemcpy(dst, src, bytes, kind).";
  return f;
}

Finding unwritten_transfer(const Allocation& from, uint64_t address, uint64_t bytes) {
  Finding f = about(Mistake::kUnwrittenTransfer, address, &from);
  f.message = "cudaMemcpy brings " + bytes_text(bytes) + " of " + from.name +
              " to the host, but nothing has written them.";
  f.advice = "Check that the kernel that fills this memory was launched, without an error, on this pointer.";
  return f;
}

Finding operand_out_of_range(const std::string& verb, uint64_t address, uint64_t bytes,
                             const DeviceMemory& memory) {
  Finding f = transfer_out_of_range(verb.c_str(), address, bytes, memory);
  f.advice = memory.find(address) != nullptr
                 ? "Check the sizes, leading dimensions and increments: they count elements."
                 : "Pass a pointer that cudaMalloc returned: libraries work on device memory.";
  return f;
}

Finding unwritten_operand(const std::string& function, const Allocation& operand, uint64_t address) {
  Finding f = about(Mistake::kUnwrittenTransfer, address, &operand);
  f.message = function + " reads " + operand.name + ", " + bytes_text(address - operand.base) +
              " from its start, but nothing has written there.";
  f.advice = "Fill every element that the call reads. With beta = 0, the result is not read.";
  return f;
}

Finding bad_free(const char* call, uint64_t address, const DeviceMemory& memory, bool is_queued) {
  const Allocation* live = memory.find(address);
  const Allocation* freed = live == nullptr ? memory.find_freed(address) : nullptr;
  Finding f = about(Mistake::kBadFree, address, live != nullptr ? live : freed);
  f.message = std::string(call) + " was given ";
  if (live != nullptr && live->base != address) {
    f.message += "a pointer into the middle of " + live->name + ".";
    f.advice = "Free the pointer that the allocation returned.";
  } else if (live != nullptr && is_queued) {
    f.message += live->name + " a second time: a cudaFreeAsync of it is queued already.";
    f.advice = "Free each allocation once.";
  } else if (live != nullptr) {
    f.message += live->name + ", which is not its to free.";
    f.advice = "Memory from cudaMallocHost goes back with cudaFreeHost, all other with cudaFree.";
  } else if (freed != nullptr) {
    f.message += freed->name + " a second time: it was freed by " + freed->where + ".";
    f.advice = "Free each allocation once; set the pointer to nullptr afterwards.";
  } else {
    f.message += describe_address(memory, address) + ".";
    f.advice = "Free only what an allocation returned.";
  }
  return f;
}

Finding bad_free_in_graph(uint64_t address, const DeviceMemory& memory, const Reservation* reserved) {
  Finding f = about(Mistake::kBadFree, address, nullptr);
  f.message = "cudaFreeAsync inside a capture was given ";
  if (reserved == nullptr) {
    f.message += describe_address(memory, address) + ", which no graph allocates.";
    f.advice = "Memory from outside a capture is freed outside: allocate it inside, or free it later.";
  } else if (reserved->base != address) {
    f.message += "a pointer into the middle of " + reserved->name + ".";
    f.advice = "Free the pointer that the allocation returned.";
  } else {
    f.message += reserved->name + " a second time: this graph frees it already.";
    f.advice = "Free each allocation once in a graph.";
  }
  return f;
}

Finding free_before_allocation(const char* call, uint64_t address, const Reservation& reserved) {
  Finding f = about(Mistake::kBadFree, address, nullptr);
  f.allocation = reserved.name;
  f.message = std::string(call) + " frees " + reserved.name +
              ", which no launch of its graph has allocated at that point.";
  f.advice = "Free it on the stream of the launch, or let that stream wait for an event behind it.";
  return f;
}

Finding host_dereference(uint64_t address, bool is_write, const DeviceMemory& memory) {
  const Allocation* a = memory.find(address);
  Finding f = about(Mistake::kHostDereference, address, a != nullptr ? a : memory.find_freed(address));
  f.message = std::string("Host code ") + (is_write ? "wrote through" : "read") + " a device pointer into " +
              describe_address(memory, address) + ".";
  f.advice = "Device memory is not the host's: bring the data over with cudaMemcpy.";
  return f;
}

std::string leak_text(const Allocation& leak) {
  return leak.name + " was never freed.";
}

}  // namespace vgpu::checks
