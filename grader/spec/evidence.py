"""The evidence from which mechanisms are judged: launches, counters, ptxas figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from common.build.resources import KernelResources
from common.virtual_gpu.report import Launch
from grader.spec import Case


@dataclass(frozen=True)
class Evidence:
    """One call on the virtual GPU, and ptxas's figures of the file."""

    case: Case
    launches: Sequence[Launch]
    resources: Sequence[KernelResources]
    runtime_copies: int = 0  # cudaMemcpy and cudaMemset, which can replace a kernel
