// The request of the drop-in cuBLAS.
#include "blas/run.h"
#include "server/dispatch.h"

namespace vgpu {
namespace {

void blas_call(Session& session, const wire::Blas& in, Reply& reply) {
  // What is graded is the student's own kernels.
  if (session.is_graded)
    return session.refuse(reply, cuda::kNotPermitted,
                          std::string(in.function, strnlen(in.function, sizeof in.function)) +
                              " is not available here: a submission computes in its own kernels");
  if ((reply.error = blas::check(in)) != 0) return;
  BlasTask task{in, session.caller, std::make_shared<wire::BlasNumber>()};
  const bool answers = in.op >= wire::BlasOp::kDot && in.c.address == 0;
  if (!answers) {
    if (session.make_room(reply)) reply.error = session.streams.submit(in.stream, std::move(task));
    return;
  }
  if ((reply.error = session.streams.refuse_during_capture()) != 0) return;
  const std::shared_ptr<wire::BlasNumber> number = task.number;
  Progress progress;
  reply.error = session.streams.submit_and_run(in.stream, std::move(task), &progress);
  if (reply.error != 0) return;
  session.answer(progress, reply);
  if (progress.ok()) reply.put(*number);
}

const RequestRow kBlasRequests[] = {
    request<&blas_call>(wire::Request::kBlas),
};

}  // namespace

std::span<const RequestRow> blas_requests() {
  return kBlasRequests;
}

}  // namespace vgpu
