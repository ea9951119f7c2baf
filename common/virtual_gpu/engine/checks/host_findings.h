// Findings about calls of the host program. The callers pass facts; the sentences are here.
#pragma once

#include "checks/finding.h"
#include "device/memory.h"

namespace vgpu::checks {

// A copy or fill of a range that is in no allocation; `verb` is "cudaMemcpy reads", "cudaMemset writes".
Finding transfer_of_heap(const char* verb, uint64_t address, uint64_t bytes, const Allocation& a);
Finding transfer_out_of_range(const char* verb, uint64_t address, uint64_t bytes, const DeviceMemory& memory);
// One end of a copy lies where its cudaMemcpyKind, `direction`, forbids it.
Finding transfer_direction(const char* direction, bool is_destination, bool is_host_memory);
Finding unwritten_transfer(const Allocation& from, uint64_t address, uint64_t bytes);
// The same two of an operand of a library call; `verb` is "cublasSgemm reads".
Finding operand_out_of_range(const std::string& verb, uint64_t address, uint64_t bytes,
                             const DeviceMemory& memory);
Finding unwritten_operand(const std::string& function, const Allocation& operand, uint64_t address);

// `call` cannot free `address`; `is_queued`: a cudaFreeAsync of it has not run yet.
Finding bad_free(const char* call, uint64_t address, const DeviceMemory& memory, bool is_queued);
// `reserved` is what a graph allocates at the address, if one does.
Finding bad_free_in_graph(uint64_t address, const DeviceMemory& memory, const Reservation* reserved);
Finding free_before_allocation(const char* call, uint64_t address, const Reservation& reserved);

Finding host_dereference(uint64_t address, bool is_write, const DeviceMemory& memory);

std::string leak_text(const Allocation& leak);

}  // namespace vgpu::checks
