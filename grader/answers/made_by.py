"""Whether kernels made an answer. Only the virtual GPU can tell: elsewhere its report is empty, and nothing
is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from common.virtual_gpu.report import Report
from grader.answers.compare import bits
from grader.spec import Buffers, Call

if TYPE_CHECKING:
    import torch

NOT_IN_A_KERNEL = "not in a kernel"  # the reason of a case
_SHARE = 8  # the runtime may copy an eighth of what changes, and the host see as much
_COPIED_FREELY = 4096  # bytes: a few parameters
_SEEN_FREELY = 64  # bytes: a flag or two
_PIECE = 1 << 26  # elements that are compared at once


def not_by_kernels(report: Report, changed: int) -> str:
    """A sentence when kernels did not write the `changed` bytes of a right answer.

    The runtime's own copies do not count, even beside kernels that store elsewhere. Nor do answers to inputs
    that the host got to see: host code may have computed them.
    """
    if not report.profile or changed == 0:
        return ""
    if lack := _seen_by_the_host(report, changed):
        return lack
    little = max(changed // _SHARE, _COPIED_FREELY)
    stored = sum(
        kernel.counters.global_store_bytes + kernel.counters.global_atomic_bytes for kernel in report.kernels
    )
    few_copies = report.totals.get("copied_bytes", 0) <= little
    if report.launches and (_by_runtime(report) == 0 or (stored >= changed and few_copies)):
        return ""
    return (
        f"kernels stored {stored:,} bytes of the {changed:,} that changed, cudaMemcpy and cudaMemset moved "
        f"{_by_runtime(report):,}: write the answer in a kernel"
    )


def _seen_by_the_host(report: Report, changed: int) -> str:
    """A sentence when the call gave so much to the host that it could have made the answer."""
    little = max(changed // _SHARE, _SEEN_FREELY)
    stored = _stored_for_the_host(report)
    if stored > little:
        return (
            f"kernels stored {stored:,} bytes in memory that the host sees as well (cudaMallocHost, "
            f"cudaMallocManaged), where the answer has {changed:,}: keep what you work on in device memory"
        )
    copied = int(report.totals.get("to_host_bytes", 0))
    if copied > little:
        return (
            f"{copied:,} bytes were copied to the host (times of events count, too), where the answer has "
            f"{changed:,}: keep what you work on in device memory"
        )
    printed = int(report.totals.get("printed_bytes", 0))
    waited = report.call.waited if report.call is not None else ""
    if waited and printed >= max(changed, _SEEN_FREELY):
        return (
            f"kernels printed {printed:,} bytes and the call waited for them ({waited}), where the answer "
            f"has {changed:,}: print less, or do not wait in the call"
        )
    return ""


def perhaps_not_by_kernels(report: Report, changed: int) -> str:
    """A sentence when as many bytes as a right answer changes went past the kernels. Few of them may be
    parameters, or a flag: so this counts only for a submission whose other answers are `not_by_kernels`."""
    past = {
        "cudaMemcpy and cudaMemset moved": _by_runtime(report),
        "the host saw": _stored_for_the_host(report)
        + int(report.totals.get("to_host_bytes", 0))
        + int(report.totals.get("printed_bytes", 0)),
    }
    for what, moved in past.items():
        if 0 < changed <= moved:
            enough = "enough for the whole answer, as in other cases"
            return f"{what} {moved:,} bytes, {enough}: write it in a kernel"
    return ""


def _stored_for_the_host(report: Report) -> int:
    return sum(kernel.counters.host_store_bytes for kernel in report.kernels)


def _by_runtime(report: Report) -> int:
    """Bytes that the runtime's own copies and fills moved."""
    return int(report.totals.get("copied_bytes", 0)) + int(report.totals.get("filled_bytes", 0))


def changed_bytes(call: Call, wanted: Buffers) -> int:
    """How many bytes of the outputs a right answer changes, counted in whole elements."""
    return sum(
        int((after != before).sum()) * before.element_size()
        for name in call.outputs
        for after, before in zip(_pieces(wanted[name]), _pieces(call.buffers[name]), strict=True)
    )


def _pieces(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Its bits, piece by piece: comparing all of a cache of 17 GB at once takes as much memory again."""
    return bits(tensor).flatten().split(_PIECE)
