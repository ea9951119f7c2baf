"""The bench on other machines: each shape is a task, with all kernels, which one worker measures in turns.

On a GPU the kernels of a shape are thus compared on the same card, one shape at a time per card.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from common.core.progress import Notify
from grader.bench.bench import kernels_of, measure, result_file
from grader.bench.shapes import shapes_for
from grader.building.scratch_folder import scratch_folder
from grader.classes.class_run import ClassRun
from grader.classes.measuring import Measurement, question_in, record_of, results_of
from grader.devices.device import device_of
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.spec import Exercise

GRADER = f"{__name__}:measure_shape"


def bench_elsewhere(
    run: ClassRun, exercises: Sequence[Exercise], *, large: bool
) -> dict[str, dict[str, Any]]:
    """By exercise, what `bench` gives."""
    left_out: dict[str, list[str]] = {}
    wanted: list[Measurement] = []
    for exercise in exercises:
        chosen, left_out[exercise.id] = shapes_for(exercise, modelled=run.device.modelled, large=large)
        kernels = {name: path.read_text() for name, path in kernels_of(exercise).items()}
        wanted += [
            Measurement(shape.name, exercise.id, {"shape": shape.name, "kernels": kernels})
            for shape in chosen
        ]
    results = results_of(run, wanted)
    found = {}
    for exercise in exercises:
        own = [result for one, result in zip(wanted, results, strict=True) if one.exercise == exercise.id]
        info = DeviceInfo(**own[0]["device"]) if own else run.device
        found[exercise.id] = result_file(
            exercise, info, _joined([result["entry"] for result in own], left_out[exercise.id])
        )
    return found


def _joined(entries: Sequence[Mapping[str, Any]], left_out: Sequence[str]) -> dict[str, Any]:
    """One entry of many. Figures of the card itself are medians over the cards and times of the run."""
    shapes = [shape for entry in entries for shape in entry["shapes"]]
    steps = [shape for entry in entries for shape in entry.get("steps", ())]
    figures = {
        name: statistics.median(entry[name] for entry in entries)
        for name in ("copy_bandwidth", "clock_mhz")
        if entries and name in entries[0]
    }
    return {
        "shapes": shapes,
        **({"steps": steps} if steps else {}),
        **figures,
        **({"left_out": list(left_out)} if left_out else {}),
    }


def measure_shape(
    exercise: Exercise,
    source: Path,
    *,
    submission: str,
    device: DeviceInfo,
    seed: str | None = None,
    notify: Notify = lambda text: None,
) -> Record:
    """On the node: one shape, as the question in `source` has it."""
    question = question_in(source)
    chosen = device_of(device)
    with scratch_folder() as scratch:
        sources = {}
        for name, text in question["kernels"].items():
            sources[name] = scratch / f"{name}.cu"
            sources[name].write_text(text)
        shape = question["shape"]
        entry = measure(exercise, chosen, notify, large=True, sources=sources, only=shape)
    return record_of(submission, exercise.id, device, {"entry": entry, "device": asdict(chosen.info)})
