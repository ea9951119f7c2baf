// Whole messages over a Unix stream socket: interrupted and partial transfers finished, descriptors received.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <vector>

namespace vgpu {

// Both are false when the other end has gone. Neither raises SIGPIPE.
bool send_all(int socket, iovec* parts, int count);
// Descriptors that travel with the bytes are appended to `descriptors` (close-on-exec) where it is given.
bool receive_all(int socket, void* data, size_t bytes, std::vector<int>* descriptors = nullptr);

}  // namespace vgpu
