"""Why a call cannot be captured: the error's name, and what to do about it."""

from __future__ import annotations

import re

import pytest

from common.core.paths import REPOSITORY
from grader.devices.captures import require_captured
from grader.devices.failures import CallFailed

TABLE = REPOSITORY / "common" / "virtual_gpu" / "engine" / "cuda_error.def"
CODES = {name: int(code) for name, code in re.findall(r"CUDA_ERROR\((\w+), (\d+)\)", TABLE.read_text())}


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("StreamCaptureUnsupported", "Nothing may be allocated"),
        ("StreamCaptureInvalidated", "Nothing may be allocated"),
        ("StreamCaptureUnjoined", "Every other stream must wait"),
        ("StreamCaptureIsolation", "Every other stream must wait"),
        ("StreamCaptureImplicit", "The default stream cannot be captured"),
        ("CapturedEvent", "Every other stream must wait"),
    ],
)
def test_a_refused_capture_has_the_advice_for_its_error(name: str, advice: str) -> None:
    code = CODES[name]
    with pytest.raises(CallFailed) as failed:
        require_captured("copy", [0, code], 1)
    assert f"copy cannot be captured into a CUDA graph: cudaError{name} ({code}). {advice}" in str(
        failed.value
    )


def test_the_end_of_a_capture_advises_where_the_call_s_own_error_does_not() -> None:
    with pytest.raises(
        CallFailed, match=re.escape(f"cudaErrorInvalidValue ({CODES['InvalidValue']}). Every")
    ):
        require_captured("copy", [CODES["InvalidValue"], CODES["StreamCaptureUnjoined"]], 1)
