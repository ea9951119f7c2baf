"""Where a submission's kernels run. A session holds one library in a worker process and calls it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from common.virtual_gpu.report import Report
from grader.spec import Call

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Outcome:
    """What a call left behind. `reason` is empty when it returned 0, else a word, and `message` a sentence.

    `after` holds every buffer but scratch as the device has it now, whatever the worker said or did.
    """

    reason: str = ""
    message: str = ""
    after: Mapping[str, torch.Tensor] = field(default_factory=dict)
    report: Report = field(default_factory=Report)  # of the virtual GPU
    seconds: float = 0.0  # that the call and all it made others do took, without waiting for a CPU

    @property
    def ok(self) -> bool:
        return not self.reason

    @property
    def runtime_copies(self) -> int:
        """Copies and fills that the call asked of the runtime, as the virtual GPU counted them."""
        return int(self.report.totals.get("copies", 0)) + int(self.report.totals.get("fills", 0))


class Session(Protocol):
    """One worker with one library."""

    def run(self, entry: str, call: Call, seconds: float) -> Outcome: ...

    def close(self) -> None:
        """End the worker. The next call gets another, which remembers nothing."""
        ...

    @property
    def output(self) -> str:
        """What the library has printed: text for the student and nothing else."""
        ...

    def __enter__(self) -> Session: ...

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None: ...
