#include "copies.h"

#include <algorithm>
#include <cstring>

#include "arrays.h"
#include "capture.h"
#include "connection.h"
#include "errors.h"
#include "pointers.h"

namespace vgpu {

namespace {

using wire::Request;
using wire::Side;

// With unified addressing the kind matters only for pageable memory, which must be a host side under it.
bool is_host_source(cudaMemcpyKind kind) {
  return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost || kind == cudaMemcpyDefault;
}
bool is_host_destination(cudaMemcpyKind kind) {
  return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost || kind == cudaMemcpyDefault;
}

struct Piece {
  uint64_t dst, src;
  size_t width, height;
};

cudaError_t request_copy(const CopyPlan& plan, const Piece& piece, Side dst_side, Side src_side, bool async) {
  wire::Copy message{};
  message.dst = piece.dst;
  message.src = piece.src;
  message.dst_pitch = dst_side == Side::kStaging ? piece.width : plan.dst_pitch;
  message.src_pitch = src_side == Side::kStaging ? piece.width : plan.src_pitch;
  message.width = piece.width;
  message.height = piece.height;
  message.stream = plan.stream;
  message.dst_side = dst_side;
  message.src_side = src_side;
  message.async = async;
  message.kind = static_cast<uint32_t>(plan.kind);
  return Connection::get().ask(Request::kCopy, message);
}

uint64_t at(const void* base, size_t offset) {
  return reinterpret_cast<uint64_t>(base) + offset;
}

cudaError_t copy_on_host(const CopyPlan& plan) {
  const cudaError_t error = Connection::get().ask(Request::kStreamSync, wire::Id{plan.stream});
  if (error != cudaSuccess) return error;
  for (size_t row = 0; row < plan.height; ++row) {
    std::memmove(reinterpret_cast<void*>(at(plan.dst, row * plan.dst_pitch)),
                 reinterpret_cast<const void*>(at(plan.src, row * plan.src_pitch)), plan.width);
  }
  return cudaSuccess;
}

void pack(uint8_t* staging, const void* host, size_t pitch, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row) {
    std::memcpy(staging + row * width, reinterpret_cast<const void*>(at(host, row * pitch)), width);
  }
}

void unpack(void* host, const uint8_t* staging, size_t pitch, size_t width, size_t height) {
  for (size_t row = 0; row < height; ++row) {
    std::memcpy(reinterpret_cast<void*>(at(host, row * pitch)), staging + row * width, width);
  }
}

// The two steps of a captured copy whose other side is pageable: a graph's host function moves the rows
// between the program's memory and pinned memory, whenever the graph runs.
struct HostRows {
  void* dst;
  const void* src;
  size_t dst_pitch, src_pitch, width, height;
};

void CUDART_CB move_rows(void* data) {
  const auto& rows = *static_cast<const HostRows*>(data);
  for (size_t row = 0; row < rows.height; ++row)
    std::memcpy(reinterpret_cast<void*>(at(rows.dst, row * rows.dst_pitch)),
                reinterpret_cast<const void*>(at(rows.src, row * rows.src_pitch)), rows.width);
}

// Graphs may run as long as the process lives, and so lives what their copies use.
cudaError_t capture_through_pinned(const CopyPlan& plan, bool upload) {
  Connection& connection = Connection::get();
  wire::Address pinned{};
  const wire::Malloc wanted{plan.width * plan.height, wire::MemoryKind::kPinned, 1, plan.stream};
  if (const cudaError_t error = connection.ask(Request::kMalloc, wanted, &pinned); error != cudaSuccess)
    return error;
  void* const packed = reinterpret_cast<void*>(pinned.address);
  CopyPlan device = plan;
  if (upload) {
    device.src = packed;
    device.src_pitch = plan.width;
  } else {
    device.dst = packed;
    device.dst_pitch = plan.width;
  }
  auto* const rows =
      upload ? new HostRows{packed, plan.src, plan.width, plan.src_pitch, plan.width, plan.height}
             : new HostRows{plan.dst, packed, plan.dst_pitch, plan.width, plan.width, plan.height};
  const Piece whole{at(device.dst, 0), at(device.src, 0), plan.width, plan.height};
  auto on_host = [&] {
    return connection.ask(Request::kHostFunction,
                          wire::HostFunction{plan.stream, reinterpret_cast<uint64_t>(&move_rows),
                                             reinterpret_cast<uint64_t>(rows)});
  };
  auto on_device = [&] { return request_copy(device, whole, Side::kAddress, Side::kAddress, true); };
  const cudaError_t first = upload ? on_host() : on_device();
  if (first != cudaSuccess) return first;
  return upload ? on_device() : on_host();
}

// One side is pageable: the data go through the staging area, as many whole rows at a time as fit, or a part
// of a row where not even one does. The host has been read when an upload returns, and written when a
// download does.
cudaError_t copy_through_staging(const CopyPlan& plan, bool upload) {
  Connection& connection = Connection::get();
  if (const cudaError_t error = connection.ready(); error != cudaSuccess) return error;
  const std::lock_guard<std::mutex> lock(connection.staging_mutex());
  const size_t room = connection.staging_bytes();
  const size_t piece_width = std::min(plan.width, room), piece_rows = std::max<size_t>(1, room / plan.width);
  for (size_t row = 0; row < plan.height; row += piece_rows) {
    const size_t rows = std::min(piece_rows, plan.height - row);
    for (size_t column = 0; column < plan.width; column += piece_width) {
      const size_t dst_offset = row * plan.dst_pitch + column, src_offset = row * plan.src_pitch + column;
      Piece piece{at(plan.dst, dst_offset), at(plan.src, src_offset),
                  std::min(piece_width, plan.width - column), rows};
      (upload ? piece.src : piece.dst) = 0;
      const auto* source = static_cast<const char*>(plan.src) + src_offset;
      auto* destination = static_cast<char*>(plan.dst) + dst_offset;
      if (upload) pack(connection.staging(), source, plan.src_pitch, piece.width, rows);
      const cudaError_t error =
          upload ? request_copy(plan, piece, Side::kAddress, Side::kStaging, plan.timing == Timing::kAsync)
                 : request_copy(plan, piece, Side::kStaging, Side::kAddress, false);
      if (error != cudaSuccess) return error;
      if (!upload) unpack(destination, connection.staging(), plan.dst_pitch, piece.width, rows);
    }
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t copy(const CopyPlan& given) {
  CopyPlan plan = given;
  if (plan.kind < cudaMemcpyHostToHost || plan.kind > cudaMemcpyDefault)
    return cudaErrorInvalidMemcpyDirection;
  if (plan.width == 0 || plan.height == 0) return cudaSuccess;
  if (plan.dst == nullptr || plan.src == nullptr) return cudaErrorInvalidValue;
  if (plan.height > 1 && (plan.dst_pitch < plan.width || plan.src_pitch < plan.width)) {
    return cudaErrorInvalidPitchValue;
  }
  const PointerClass dst = classify(plan.dst), src = classify(plan.src);
  const bool to_pageable = dst == PointerClass::kPageable, from_pageable = src == PointerClass::kPageable;
  const bool right_way =
      (!to_pageable || is_host_destination(plan.kind)) && (!from_pageable || is_host_source(plan.kind));
  // A kind that hardware does not mind is none of the engine's business; a wrong one goes there as written,
  // to be refused with a finding.
  if (right_way) plan.kind = cudaMemcpyDefault;
  if (to_pageable && from_pageable) return right_way ? copy_on_host(plan) : cudaErrorInvalidValue;
  const bool is_captured = plan.timing == Timing::kAsync && is_capturing(plan.stream);
  if ((to_pageable || from_pageable) && is_captured) return capture_through_pinned(plan, from_pageable);
  if (to_pageable || from_pageable) return copy_through_staging(plan, from_pageable);
  // Between two places of the device even cudaMemcpy does not hold up the host.
  const bool async =
      plan.timing == Timing::kAsync || (dst == PointerClass::kDevice && src == PointerClass::kDevice);
  const Piece whole{at(plan.dst, 0), at(plan.src, 0), plan.width, plan.height};
  return request_copy(plan, whole, Side::kAddress, Side::kAddress, async);
}

namespace {

char* corner(const cudaPitchedPtr& block, const cudaPos& position, size_t slice) {
  return static_cast<char*>(block.ptr) + (position.z + slice) * block.pitch * block.ysize +
         position.y * block.pitch + position.x;
}

}  // namespace

cudaError_t copy_3d(const cudaMemcpy3DParms* parameters, uint64_t stream, Timing timing) {
  if (parameters == nullptr) return cudaErrorInvalidValue;
  const cudaMemcpy3DParms& p = *parameters;
  if (p.srcArray != nullptr || p.dstArray != nullptr) {
    cudaMemcpy3DParms plain = p;
    const cudaError_t error = without_arrays(&plain);
    return error != cudaSuccess ? error : copy_3d(&plain, stream, timing);
  }
  const cudaExtent& extent = p.extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
  if (p.srcPtr.ptr == nullptr || p.dstPtr.ptr == nullptr) return cudaErrorInvalidValue;
  if (extent.depth > 1 && (p.srcPtr.ysize < extent.height || p.dstPtr.ysize < extent.height)) {
    return cudaErrorInvalidValue;
  }
  for (size_t slice = 0; slice < extent.depth; ++slice) {
    const cudaError_t error =
        copy({corner(p.dstPtr, p.dstPos, slice), corner(p.srcPtr, p.srcPos, slice), extent.width,
              extent.height, p.dstPtr.pitch, p.srcPtr.pitch, p.kind, stream, timing});
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// Fills do not hold up the host, not even cudaMemset's: they are ordered by their stream.
cudaError_t fill(void* dst, size_t pitch, int value, size_t width, size_t height, uint64_t stream) {
  if (width == 0 || height == 0) return cudaSuccess;
  if (dst == nullptr || classify(dst) == PointerClass::kPageable) return cudaErrorInvalidValue;
  if (height > 1 && pitch < width) return cudaErrorInvalidValue;
  wire::Memset message{};
  message.dst = at(dst, 0);
  message.pitch = pitch;
  message.width = width;
  message.height = height;
  message.stream = stream;
  message.value = static_cast<uint8_t>(value);
  message.element_bytes = 1;
  message.async = classify(dst) == PointerClass::kDevice;
  return Connection::get().ask(Request::kMemset, message);
}

cudaError_t fill_3d(const cudaPitchedPtr& dst, int value, const cudaExtent& extent, uint64_t stream) {
  for (size_t slice = 0; slice < extent.depth; ++slice) {
    const cudaError_t error =
        fill(corner(dst, {0, 0, 0}, slice), dst.pitch, value, extent.width, extent.height, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace vgpu
