"""The evidence from which mechanisms are judged: launches, counters, ptxas figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from common.build.resources import KernelResources
from common.virtual_gpu.profiles import DEFAULT_PROFILE, find_profile
from common.virtual_gpu.report import Launch
from grader.spec import Case


@dataclass(frozen=True)
class Evidence:
    """One call on the virtual GPU, and ptxas's figures of the file."""

    case: Case
    launches: Sequence[Launch]
    resources: Sequence[KernelResources]
    runtime_copies: int = 0  # cudaMemcpy and cudaMemset, which do a kernel's work without being one
    # Of the device that the virtual GPU models.
    multiprocessors: int = field(default_factory=lambda: find_profile(DEFAULT_PROFILE).sms)
