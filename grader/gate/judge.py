"""Judges a file by its exercise's gate, from its source to a report."""

from __future__ import annotations

from pathlib import Path

from common.core.progress import Notify
from grader.building.scratch_folder import scratch_folder
from grader.devices.device import device_of
from grader.gate.report import Report
from grader.gate.run import Request, measure
from grader.gate.spec import Gate
from grader.gate.verdict import decide
from grader.records.device_info import DeviceInfo
from grader.spec import Exercise


def judged(
    exercise: Exercise,
    gate: Gate,
    source: Path,
    shown: str,
    device: DeviceInfo,
    notify: Notify,
    *,
    trusted: bool,
) -> Report:
    """`shown` is the file's name in the report."""
    chosen = device_of(device)
    with scratch_folder() as scratch:
        measured = measure(Request(exercise, gate, source, chosen, trusted), scratch, notify)
    return Report(exercise, gate, shown, chosen.info, measured, decide(gate, measured))
