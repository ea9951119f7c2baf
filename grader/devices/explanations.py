"""Explains why a call failed, with a reason and a sentence that help to fix it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from common.virtual_gpu.causes import by_cause
from common.virtual_gpu.report import Finding
from grader.devices.session import Outcome

_SIGNALS = {
    "SIGSEGV": "Host code used an invalid address: most often a device pointer, which only "
    "kernels may dereference, an index past the end of a host array, or endless recursion",
    "SIGBUS": "Host code used an address past the end of its memory: check host arrays",
    "SIGFPE": "Host code divided a whole number by zero: look for a size or a count that may be 0 here",
    "SIGABRT": "Host code gave up: an assert that failed, an uncaught exception, or a heap that "
    "was written past the end of an allocation",
    "SIGILL": "Host code ran an invalid instruction: most often the end of a function without a return",
}
_REASON_OF_KIND = {"hang": "timeout", "limit": "timeout", "trap": "crash"}


def explain(outcome: Outcome) -> tuple[str, str]:
    """The reason and the sentence for a call that failed: from the device's finding if there is one, else
    from its message when it refused a launch."""
    seen = _seen(outcome.report.findings)
    if seen is not None:
        finding, cause = seen
        reason = _REASON_OF_KIND.get(finding.kind, outcome.reason)
        why = "" if cause is finding else f". It follows from this: {_sentence(cause)}"
        return reason, f"{outcome.message}: {_sentence(finding)}{why}"
    more = next(iter(outcome.report.messages), "") if outcome.reason == "error" else ""
    return outcome.reason, (f"{outcome.message}: {more}" if more else outcome.message) + _usually(outcome)


def _sentence(finding: Finding) -> str:
    place = f" ({Path(finding.file).name}:{finding.line})" if finding.file else ""
    return f"{finding.message}{place}"


def _usually(outcome: Outcome) -> str:
    """The usual cause of the signal that ended a process, and what to try."""
    if outcome.reason != "crash":
        return ""
    return next((f". {meaning}" for name, meaning in _SIGNALS.items() if name in outcome.message), "")


def _seen(findings: Sequence[Finding]) -> tuple[Finding, Finding] | None:
    """The finding that made the call fail, and its cause."""
    causes = by_cause(findings)
    for kinds in (("hang", "limit", "trap", "unsupported", "host"), ("memory", "sync")):
        for cause in causes:
            for finding in (cause.finding, *cause.effects):
                if finding.kind in kinds:
                    return finding, cause.finding
    return None
