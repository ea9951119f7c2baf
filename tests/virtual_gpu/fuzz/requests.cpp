// Any requests of a program, among them those of the harness that bound its calls: each gets a reply, and the
// report can be written at the end. An input is a sequence of requests: number, sender, length and payload.
#include <cstring>

#include "server/dispatch.h"
#include "small_session.h"

namespace {

struct Frame {
  uint8_t op, by_harness;
  uint16_t bytes;
};

constexpr int kMostRequests = 256;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  vgpu::Session session(vgpu::small_device(), [] { return false; });
  for (int served = 0; served < kMostRequests && size >= sizeof(Frame); ++served) {
    Frame frame;
    std::memcpy(&frame, data, sizeof frame);
    data += sizeof frame, size -= sizeof frame;
    const size_t bytes = std::min<size_t>(frame.bytes, size);
    vgpu::Message message;
    message.op = frame.op;
    message.payload = {data, bytes};
    vgpu::serve(session, frame.by_harness & 1 ? vgpu::Role::kHarness : vgpu::Role::kProgram, message);
    data += bytes, size -= bytes;
  }
  session.end_program();
  session.json();
  return 0;
}
