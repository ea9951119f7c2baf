"""Measure first: how long do seven copies take, and how much of that is launches?

    python benchmarks/copies/reality_check.py     measure, print the tables, write measurement.json

Exercise 03's right answers are computed from it: `./course answers 03 answers.toml`.

On a GPU the copies are torch's, sixteen sets of buffers in one CUDA graph, and a whole step is timed in
several implementations. On the virtual GPU they are the baseline's launches, and times are modelled.
"""

from __future__ import annotations

import functools
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the course, where this file is started by name

from benchmarks.timing.graphs import graph_times
from common.core.errors import CourseError
from common.gpu.devices import find_gpus, first_gpu
from grader.cli.parser import Parser, above_zero
from grader.records.device_info import GPU, KINDS, VIRTUAL, DeviceInfo
from grader.spec import Case, registry
from grader.spec.random_inputs import Random

if TYPE_CHECKING:
    import torch

COPIES = 7
ELEMENT_BYTES = 4
GPU_ELEMENTS = (1, 32, 1024, 16_384, 262_144, 1_048_576)
VIRTUAL_ELEMENTS = (1, 32, 1024, 16_384, 65_536, 131_072)
STEP = "decode, 32 × 2,048"  # the bench case that represents a step
STEP_US = 1000.0  # a decoding step of a small model
WORTH_SHARE = 0.005  # of the step: a smaller gain does not justify maintaining a kernel
SETS, REPLAYS, EAGER_CALLS = 16, 20, 200
USAGE_ERROR = 2
Time = Callable[[Sequence[int]], float]  # microseconds for one copy of each of these many elements


def measure(device: str, step_us: float = STEP_US) -> dict[str, Any]:
    """The measurement behind the answers: see `rows` and `step`; times are of one batch inside a graph."""
    return _on_virtual_gpu(step_us) if DeviceInfo(device, "").modelled else _on_gpu(step_us)


def _rows(elements: Sequence[int], time_of: Time) -> list[dict[str, float]]:
    return [
        {
            "elements": count,
            "bytes": COPIES * count * ELEMENT_BYTES,
            "separate_us": time_of([count] * COPIES),
            "one_us": time_of([COPIES * count]),
        }
        for count in elements
    ]


def _described(device: str, modelled: bool, step_us: float, rows: object, step: object) -> dict[str, Any]:
    return {
        "device": device,
        "modelled": modelled,
        "copies": COPIES,
        "rows": rows,
        "step": step,
        "step_us": step_us,
        "worth_share": WORTH_SHARE,
    }


def _step_case() -> tuple[Any, Case]:
    exercise = registry.find("03")
    return exercise, exercise.bench_case(STEP)


def _on_virtual_gpu(step_us: float) -> dict[str, Any]:
    """The baseline launches a kernel for each copy; the model gives the time of each launch and its body."""
    import torch

    from common.serving.batched_copy import Copy, batched_copy
    from common.serving.device import VirtualDevice
    from common.virtual_gpu.cost import modelled
    from common.virtual_gpu.profiles import find_profile

    exercise, case = _step_case()
    with VirtualDevice([exercise.baseline]) as device:

        def time_of(elements: Sequence[int]) -> float:
            copies = [
                Copy(
                    f"copy {number}",
                    *(device.full(name, (count,), torch.int32, 0) for name in ("from", "to")),
                )
                for number, count in enumerate(elements)
            ]
            device.gpu.reset()
            batched_copy(copies, kernel=exercise.baseline)
            report = device.gpu.report()
            gap = find_profile(report.profile).graph_gap_us * 1e-6
            return modelled(report.launches, gap).seconds * 1e6

        rows = _rows(VIRTUAL_ELEMENTS, time_of)
        sizes = _elements(case)
        step = {
            "copies": len(sizes),
            "bytes": sum(sizes) * ELEMENT_BYTES,
            "separate_us": time_of(sizes),
            "one_us": time_of([sum(sizes)]),
        }
        return _described(f"virtual {device.gpu.report().profile}", True, step_us, rows, step)


def _elements(case: Case) -> list[int]:
    (table, *_) = registry.find("03").inputs(case.size, Random("shapes")).arguments
    return [int(row[2].value * row[3].value) for row in table.rows]  # type: ignore[union-attr]


def _on_gpu(step_us: float) -> dict[str, Any]:
    import torch

    if not torch.cuda.is_available():
        raise CourseError(
            f"torch {torch.__version__} finds no GPU: install a torch that is built for CUDA, or use "
            "`--device virtual`; `./course doctor` shows what this machine has"
        )

    def time_of(elements: Sequence[int]) -> float:
        def pair(count: int) -> tuple[torch.Tensor, torch.Tensor]:
            source = torch.ones(count, dtype=torch.int32, device="cuda")
            return torch.empty_like(source), source

        sets = [[pair(count) for count in elements] for _ in range(SETS)]
        return _in_graph([functools.partial(_copy_each, pairs) for pairs in sets])

    exercise, case = _step_case()
    rows = _rows(GPU_ELEMENTS, time_of)
    ways, eager = {}, {}
    for name, way in exercise.rivals.items():
        sets = [exercise.inputs(case.size, Random(f"set {n}", "cuda")).buffers for n in range(SETS)]
        calls = [lambda way=way, buffers=buffers: way(case.size, buffers) for buffers in sets]
        try:
            calls[0]()  # warm-up: compiles what is compiled on first use
        except CourseError as missing:
            print(f"{name}: {missing}", file=sys.stderr)
            continue
        ways[name], eager[name] = _in_graph(calls), _eager(calls[0])
    sizes = _elements(case)
    step = {
        "copies": len(sizes),
        "bytes": sum(sizes) * ELEMENT_BYTES,
        "separate_us": next(iter(ways.values())),
        "one_us": time_of([sum(sizes)]),
    }
    measured = _described(torch.cuda.get_device_name(), False, step_us, rows, step)
    return {**measured, "ways_us": ways, "ways_eager_us": eager}


def _copy_each(pairs: Sequence[tuple[torch.Tensor, torch.Tensor]]) -> None:
    for destination, source in pairs:
        destination.copy_(source)


def _in_graph(calls: Sequence[Callable[[], None]]) -> float:
    """Microseconds per call, of all calls captured into one graph; the median of several replays."""
    return statistics.median(graph_times({"": calls}, REPLAYS)[""]) * 1e6


def _eager(call: Callable[[], None]) -> float:
    """Microseconds per call without a graph, by the host's clock: the real cost of copies before a replay."""
    import torch

    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(EAGER_CALLS):
        call()
    torch.cuda.synchronize()
    return (time.perf_counter() - began) / EAGER_CALLS * 1e6


def tables(measured: Mapping[str, Any]) -> str:
    """For the terminal."""
    kind = "modelled" if measured["modelled"] else "measured"
    copies = measured["copies"]
    lines = [
        f"{measured['device']}, {kind}, us per batch inside a CUDA graph",
        f"{'elements each':>14} {'bytes in all':>14} {f'{copies} copies':>10} {'one copy':>10} {'ratio':>6}",
    ]
    for row in measured["rows"]:
        ratio = row["separate_us"] / row["one_us"]
        lines.append(
            f"{row['elements']:>14,} {row['bytes']:>14,} {row['separate_us']:>10.2f} {row['one_us']:>10.2f} "
            f"{ratio:>6.2f}"
        )
    step = measured["step"]
    lines += [
        "",
        f"a step ({STEP}), {step['bytes']:,} bytes: {step['copies']} copies {step['separate_us']:.2f} us, "
        f"one copy of as many bytes {step['one_us']:.2f} us",
        f"step_us, the whole step that these copies are part of: assumed to be {measured['step_us']:,g} us",
    ]
    if "ways_us" in measured:
        lines += ["", f"{'the same step':50} {'in a graph':>10} {'without':>10}"]
        lines += [
            f"{name:50} {us:>10.2f} {measured['ways_eager_us'][name]:>10.2f}"
            for name, us in measured["ways_us"].items()
        ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = Parser("python -m benchmarks.copies.reality_check", (__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", choices=KINDS, help="default: a GPU if there is one")
    parser.add_argument("--step-us", type=above_zero, default=STEP_US, help="a whole step of your server")
    parser.add_argument("--measurement", type=Path, default=Path("measurement.json"))
    chosen = parser.parse_args(arguments)
    try:
        _measure(chosen.device, chosen.step_us, chosen.measurement)
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE_ERROR
    return 0


def _measure(device: str | None, step_us: float, written: Path) -> None:
    if written.is_dir() or not written.parent.is_dir():  # checked before the measurement starts
        raise CourseError(f"{written} cannot be written: --measurement must be a file in an existing folder")
    chosen = device or (GPU if find_gpus() else VIRTUAL)
    if not DeviceInfo(chosen, "").modelled:
        first_gpu()
    measured = measure(chosen, step_us)
    print(tables(measured))
    try:
        written.write_text(json.dumps(measured, indent=1) + "\n")
    except OSError as problem:
        raise CourseError(
            f"{written} cannot be written ({problem.strerror}): name another file with --measurement"
        ) from problem
    print(f"\nwritten to {written}; now fill in answers.toml")


if __name__ == "__main__":
    sys.exit(main())
