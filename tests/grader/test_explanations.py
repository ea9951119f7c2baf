"""A call that failed is explained by the finding that ended it, and by its cause."""

from __future__ import annotations

from common.virtual_gpu.finding import Finding, Place
from common.virtual_gpu.report import Report
from grader.devices.explanations import explain
from grader.devices.session import Outcome

BARRIER = Finding(
    "sync", "a barrier that 3 threads never reach", "BarrierAfterExit", place=(Place("kernel.cu", 18),)
)
HANG = Finding("hang", "the kernel does not end", "Hang", place=(Place("kernel.cu", 30),))


def failed(*findings: Finding) -> Outcome:
    return Outcome(
        reason="error", message="copy returned an error (702)", after={}, report=Report(findings=findings)
    )


def test_a_hang_is_a_timeout_and_its_cause_is_named():
    reason, message = explain(failed(BARRIER, HANG))
    assert reason == "timeout"
    assert message == (
        "copy returned an error (702): the kernel does not end (kernel.cu:30). It follows from this: "
        "a barrier that 3 threads never reach (kernel.cu:18)"
    )


def test_a_finding_without_another_cause_stands_alone():
    assert explain(failed(HANG)) == (
        "timeout",
        "copy returned an error (702): the kernel does not end (kernel.cu:30)",
    )
    assert explain(failed(BARRIER))[0] == "error"
