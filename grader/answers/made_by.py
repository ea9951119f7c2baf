"""Whether kernels made an answer. Only the virtual GPU can tell: elsewhere its report is empty, and nothing
is judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from common.virtual_gpu.report import Report
from grader.answers.compare import bits
from grader.spec import Call

if TYPE_CHECKING:
    import torch

NOT_IN_A_KERNEL = "not in a kernel"  # the reason of a case
_COPIED_SHARE = 8  # the runtime may copy an eighth of what changes, or a few parameters
_COPIED_FREELY = 4096  # bytes


def not_by_kernels(report: Report, changed: int) -> str:
    """A sentence when kernels did not write the `changed` bytes of a right answer.

    The runtime's own copies do not count, even beside kernels that store elsewhere. Nor do answers that
    kernels move to memory that the host sees: host code may have computed them there.
    """
    if not report.profile or changed == 0:
        return ""
    little = max(changed // _COPIED_SHARE, _COPIED_FREELY)
    carried = sum(launch.counters.host_store_bytes for launch in report.launches)
    if carried > little:
        return (
            f"kernels stored {carried:,} bytes in memory that the host sees as well (cudaMallocHost, "
            f"cudaMallocManaged), where the answer has {changed:,}: keep what you work on in device memory"
        )
    stored = sum(
        launch.counters.global_store_bytes + launch.counters.global_atomic_bytes for launch in report.launches
    )
    few_copies = report.totals.get("copied_bytes", 0) <= little
    if report.launches and (by_runtime(report) == 0 or (stored >= changed and few_copies)):
        return ""
    return (
        f"kernels stored {stored:,} bytes of the {changed:,} that changed, cudaMemcpy and cudaMemset moved "
        f"{by_runtime(report):,}: write the answer in a kernel"
    )


def by_runtime(report: Report) -> int:
    """Bytes that the runtime's own copies and fills moved."""
    return int(report.totals.get("copied_bytes", 0)) + int(report.totals.get("filled_bytes", 0))


def changed_bytes(call: Call, wanted: Mapping[str, torch.Tensor]) -> int:
    """How many bytes of the outputs a right answer changes, counted in whole elements."""
    return sum(
        int((bits(wanted[name]) != bits(call.buffers[name])).sum()) * call.buffers[name].element_size()
        for name in call.outputs
    )
