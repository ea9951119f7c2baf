"""Explains why calls cannot be captured into a CUDA graph."""

from __future__ import annotations

from collections.abc import Sequence

from common.build.engine.error_names import error_name
from grader.devices.failures import CallFailed

CANNOT_BE_CAPTURED = "not captured"  # the reason of a CallFailed
_FORBIDDEN = (
    "nothing may be allocated, freed or waited for while a call is captured: no cudaMalloc, no cudaMemcpy "
    "without Async, no synchronisation"
)
_DEFAULT_STREAM = "the default stream cannot be captured: launch on the stream that was given"
_EITHER = f"{_FORBIDDEN}; and {_DEFAULT_STREAM}"
_JOIN = (
    "every other stream must wait for an event of the given stream first, and the given stream for an event "
    "of theirs at the end"
)
# Advice by the error of the capture.
_ADVICE = {
    "cudaErrorStreamCaptureUnsupported": _FORBIDDEN,
    "cudaErrorStreamCaptureInvalidated": _EITHER,
    "cudaErrorStreamCaptureUnjoined": _JOIN,
    "cudaErrorStreamCaptureIsolation": _JOIN,
    "cudaErrorStreamCaptureImplicit": _DEFAULT_STREAM,
    "cudaErrorCapturedEvent": _JOIN,
}


def require_captured(entry: str, codes: Sequence[int], nodes: int) -> None:
    """Raises CallFailed unless every call of a capture succeeded, including its end, and the graph has a
    node.

    `codes` are the calls' return codes in order, the end of the capture last.
    """
    if code := next((code for code in codes if code), 0):
        name = error_name(code)
        advice = _ADVICE.get(name) or _ADVICE.get(error_name(codes[-1]), "")
        raise CallFailed(
            CANNOT_BE_CAPTURED,
            f"{entry} cannot be captured into a CUDA graph: {name} ({code})"
            + (f". {advice[0].upper()}{advice[1:]}" if advice else ""),
        )
    if nodes == 0:
        raise CallFailed(CANNOT_BE_CAPTURED, f"{entry} put nothing on the stream that it was given")


def not_as_outside(which: str, wrong: str) -> str:
    """The sentence for a captured call whose replayed graph gave the wrong answer `wrong`."""
    return (
        f"{which} in a CUDA graph gives another answer than outside: {wrong}. All work of a call must be "
        "launched by that call, on the stream that was given, and read its inputs when the graph runs"
    )
