// The table of requests: what each carries, who may send it, and what it still does after a sticky error.
#pragma once

#include <cstring>
#include <span>
#include <type_traits>

#include "cuda_error.h"
#include "server/session.h"

namespace vgpu {

enum class Role { kProgram, kHarness };
enum class Sender { kProgram, kHarness, kBoth };
enum class AfterError { kRefused, kServed };

struct RequestRow {
  wire::Request op;
  Sender sender;
  AfterError after_error;
  void (*serve)(Session&, Bytes payload, Reply&);
};

namespace detail {

template <class F>
struct Handler;
// Nothing expected.
template <>
struct Handler<void (*)(Session&, Reply&)> {
  template <auto F>
  static void serve(Session& session, Bytes payload, Reply& reply) {
    if (!payload.empty()) {
      reply.error = cuda::kInvalidValue;
    } else {
      F(session, reply);
    }
  }
};
// Bytes of any length.
template <>
struct Handler<void (*)(Session&, Bytes, Reply&)> {
  template <auto F>
  static void serve(Session& session, Bytes payload, Reply& reply) {
    F(session, payload, reply);
  }
};
// Exactly one struct.
template <class T>
struct Handler<void (*)(Session&, const T&, Reply&)> {
  template <auto F>
  static void serve(Session& session, Bytes payload, Reply& reply) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (payload.size() != sizeof(T)) {
      reply.error = cuda::kInvalidValue;
      return;
    }
    T value;
    std::memcpy(&value, payload.data(), sizeof value);
    F(session, value, reply);
  }
};
// One struct and bytes behind it.
template <class T>
struct Handler<void (*)(Session&, const T&, Bytes, Reply&)> {
  template <auto F>
  static void serve(Session& session, Bytes payload, Reply& reply) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (payload.size() < sizeof(T)) {
      reply.error = cuda::kInvalidValue;
      return;
    }
    T value;
    std::memcpy(&value, payload.data(), sizeof value);
    F(session, value, payload.subspan(sizeof value), reply);
  }
};

}  // namespace detail

// A row for a handler; its parameters say what the payload must be.
template <auto F>
constexpr RequestRow request(wire::Request op, Sender sender = Sender::kProgram,
                             AfterError after_error = AfterError::kRefused) {
  return {op, sender, after_error, &detail::Handler<decltype(F)>::template serve<F>};
}

std::span<const RequestRow> session_requests();
std::span<const RequestRow> module_requests();
std::span<const RequestRow> memory_requests();
std::span<const RequestRow> stream_requests();
std::span<const RequestRow> graph_requests();
std::span<const RequestRow> blas_requests();
std::span<const RequestRow> texture_requests();
std::span<const RequestRow> harness_requests();

// Serves one request of a peer that has said hello.
Reply serve(Session& session, Role role, const Message& message);

}  // namespace vgpu
