"""Seconds on the GPU from a cold L2, measured as in grading."""

from __future__ import annotations

from collections.abc import Callable


def cold_seconds(work: Callable[[], object]) -> float:
    """L2 is overwritten, then read so that no line is dirty; the stream is held while the host queues
    `work` on it, so that the host's time does not count."""
    from common.gpu.support import begin_timing, end_timing

    begin_timing()
    work()
    return end_timing()
