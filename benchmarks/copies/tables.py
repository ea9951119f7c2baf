"""The tables in the answers to exercises 02 and 03, made from the committed measurements on the H200.

`benchmarks/documents/make_tables.py` writes them between the marks of solutions/02_fused_copy/answers.md and
solutions/03_batched_copy/answers.md. All times are microseconds.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import DATA
from benchmarks.output.markdown import table
from common.core.paths import MEASURED
from grader.spec import registry
from grader.spec.question import Accepted

FOLDER = DATA / "copies"
FUSED, BATCHED = "02_fused_copy", "03_batched_copy"
_CODE = re.compile(r"(torch\.\w+|\.copy_|cudaMemcpy2DAsync)")  # in the names of ways to copy
BLOCKS = (64, 128, 256, 512, 1024)
DEPTHS = (1, 2, 4, 8)
ONE_BY_ONE, AS_ONE = "one by one", "fused"

# Columns of a table: a kernel's name in the measurements, and its name in the table.
THREADS = {
    "thread_per_element": "a thread for each element",
    "warp_vectorised": "a warp for each row",
    "solution": "solution",
}
SIZES = {"solution": "parameters with names", "sizes_in_an_array": "an array of copies"}
GRAPHS = {
    "six .copy_": "six `.copy_`",
    "torch._foreach_copy_": "`_foreach_copy_`",
    "solution": "solution",
    "one contiguous .copy_ of the same bytes": "one contiguous `.copy_`",
}
KERNELS = {
    "a .copy_ for each": "a `.copy_` for each",
    "contiguous": "contiguous",
    "strided": "strided",
    "solution": "hybrid",
    "Triton, one launch": "Triton, one launch",
    "cudaMemcpy2DAsync for each": "`cudaMemcpy2DAsync`",
}
STREAMS = {
    "baseline": "a launch for each",
    "streams_joined": "the same on seven streams",
    "solution": "one launch",
}


def fused_overhead() -> str:
    """The times of six copies and of one launch: on the host, on a stream, in a graph."""
    calls = {case["name"]: case for case in _record(FUSED)["speed"]["cases"] if _is_of_host(case)}
    graphs = {shape["case"]: shape["results"] for shape in _bench(FUSED)}
    rows = []
    for step in _steps():
        case = calls[_case(step)]
        six, one = (graphs[_case(step)][name]["seconds"] * 1e6 for name in ("six .copy_", "solution"))
        rows.append(
            [
                _case(step),
                _change(case["baseline_seconds"] * 1e6, case["seconds"] * 1e6),
                *(_change(*_both(step[f"{what} time of prepare_for_replay"])) for what in ("host", "device")),
                _change(six, one, digits=2),
            ]
        )
    return table(
        [
            "batch × columns",
            "host: six `.copy_` → the C function",
            "host: `prepare_for_replay`",
            "device, from event to event: `prepare_for_replay`",
            "in a graph: six `.copy_` → the kernel",
        ],
        rows,
    )


def fused_threads() -> str:
    return _kernels(FUSED, THREADS)


def fused_sizes() -> str:
    return _kernels(FUSED, SIZES)


def fused_graphs() -> str:
    return _kernels(FUSED, GRAPHS, mark_fastest=False)


def fused_blocks() -> str:
    """By threads of a block with eight units in flight, and by units in flight with 128 threads."""
    rows = []
    for entry in _read("copy_choices_h200.json")["block sizes"]:
        times = {name: result["microseconds"] for name, result in entry["results"].items()}
        shown = [_choice(threads, DEPTHS[-1]) for threads in BLOCKS]
        shown += [_choice(128, depth) for depth in DEPTHS[:-1]]
        slowest = max(times.values()) / min(times.values()) - 1
        rows.append([entry["case"], *(f"{times[name]:.2f}" for name in shown), _percent(slowest)])
    header = [f"{threads:,} × 8" for threads in BLOCKS] + [f"128 × {depth}" for depth in DEPTHS[:-1]]
    return table(["batch × columns", *header, "slowest of 20 over fastest"], rows)


def fused_noise() -> str:
    """The same code was measured under two names: their difference is noise."""
    ratios = [
        entry["results"][_choice(128, 8)]["microseconds"] / entry["results"]["as chosen"]["microseconds"]
        for entry in _read("copy_choices_h200.json")["block sizes"]
    ]
    worst = max(abs(ratio - 1) for ratio in ratios)
    return (
        f"The solution was measured twice, under two names: the two differ by up to {_percent(worst, 1)}.\n"
    )


def fused_steps() -> str:
    """Each step of the exercise against as many `.copy_` calls."""
    rows = []
    for entry in _read("copy_choices_h200.json")["steps"]:
        copies, kernel = entry["results"].values()
        times = [f"{result['microseconds']:.2f}" for result in (copies, kernel)]
        rows.append([entry["step"], entry["case"], *times, _interval(kernel)])
    header = ["step", "batch (× columns)", "`.copy_` calls", "one launch", "speedup (95 % interval)"]
    return table(header, rows, right_from=2)


def decode_step() -> str:
    """The whole step, one at a time and in a row."""
    rows = []
    for step in _steps():
        alone = [
            step["GPU while replaying"][way]["replay alone, microseconds"] for way in (ONE_BY_ONE, AS_ONE)
        ]
        row = [_case(step)]
        for what in ("step latency", "step in a row"):
            row += [_change(*_both(step[what])), _interval(step[what][AS_ONE], digits=3)]
        rows.append([*row, " / ".join(f"{us:,.1f}" for us in alone)])
    speedup = "speedup (95 % interval)"
    header = ["batch × keys", "one at a time", speedup, "in a row", speedup, "graph alone, engine by engine"]
    return table(header, rows)


def decode_rates() -> str:
    """Copies and replays per second, and how busy the GPU is."""
    rows = []
    for step in _steps():
        rates, busy = step["a second"], step["GPU while replaying"]
        rows.append(
            [
                _case(step),
                *(f"{rates[ONE_BY_ONE][what]:,} → {rates[AS_ONE][what]:,}" for what in ("copies", "replays")),
                " → ".join(f"{busy[way]['nvidia-smi utilisation']:.0f} %" for way in (ONE_BY_ONE, AS_ONE)),
                " → ".join(
                    _percent(busy[way]["share of the step in which the graph runs"])
                    for way in (ONE_BY_ONE, AS_ONE)
                ),
            ]
        )
    header = [
        "batch × keys",
        "copies per second",
        "replays per second",
        "nvidia-smi",
        "graph's share of the step",
    ]
    return table(header, rows)


def reality_rows() -> str:
    measured = _read("reality_check_h200.json")
    rows = [
        [
            f"{row['elements']:,}",
            f"{row['bytes']:,}",
            f"{row['separate_us']:.2f}",
            f"{row['one_us']:.2f}",
            f"{row['separate_us'] / row['one_us']:.1f}",
        ]
        for row in measured["rows"]
    ]
    header = ["elements each", "bytes in all", f"{measured['copies']} copies", "one copy", "ratio"]
    return table(header, rows, right_from=0)


def reality_ways() -> str:
    measured = _read("reality_check_h200.json")
    rows = [
        [_CODE.sub(r"`\1`", name), f"{us:.2f}", f"{measured['ways_eager_us'][name]:.1f}"]
        for name, us in measured["ways_us"].items()
    ]
    return table(["the step, decode, 32 × 2,048", "in a graph", "without one, on the host's clock"], rows)


def reality_answers() -> str:
    """The right answers for this measurement."""
    measured = _read("reality_check_h200.json")
    sheet = next(sheet for sheet in registry.find(BATCHED).sheets if sheet.measured_by)
    rows = []
    for question in sheet.questions:
        assert callable(question.truth)
        truth = question.truth(measured, {})
        if isinstance(truth, Accepted):
            shown, why = " or ".join(f"`{word}`" for word in truth.credits), truth.why
        else:
            shown, why = f"{truth:,.0f}" if truth >= 1000 else f"{truth:.3g}", question.why
        rows.append([f"`{question.name}`", shown, why])
    return table(["answer", "right", "because"], rows, right_from=3)


def batched_kernels() -> str:
    return _kernels(BATCHED, KERNELS)


def batched_streams() -> str:
    return _kernels(BATCHED, STREAMS)


def _kernels(exercise: str, columns: Mapping[str, str], *, mark_fastest: bool = True) -> str:
    """Times in a graph, one row per shape; the fastest of each row in bold."""
    rows = []
    for shape in _bench(exercise):
        times = [f"{shape['results'][name]['seconds'] * 1e6:.2f}" for name in columns]
        fastest = min(times, key=float) if mark_fastest else None
        rows.append([shape["case"], *(f"**{time}**" if time == fastest else time for time in times)])
    return table(["batch × columns" if exercise == FUSED else "batch of copies", *columns.values()], rows)


@functools.cache
def _read(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((folder / name).read_text())
    return figures


def _record(exercise: str) -> dict[str, Any]:
    return _read(f"nvidia-h200-{exercise}-reference.json", DATA / "records")


def _bench(exercise: str) -> Sequence[Mapping[str, Any]]:
    shapes: list[dict[str, Any]] = _read("nvidia-h200.json", MEASURED)["exercises"][exercise]["shapes"]
    return shapes


def _steps() -> Iterable[Mapping[str, Any]]:
    shapes: list[dict[str, Any]] = _read("decode_step_h200.json")["shapes"]
    return shapes


def _case(step: Mapping[str, Any]) -> str:
    return f"{step['batch']} × {step['keys']:,}"


def _is_of_host(case: Mapping[str, Any]) -> bool:
    return bool(case["protocol"] == "host")


def _both(figures: Mapping[str, Any]) -> tuple[float, float]:
    return figures[ONE_BY_ONE]["microseconds"], figures[AS_ONE]["microseconds"]


def _change(before: float, after: float, digits: int = 1) -> str:
    return f"{before:,.{digits}f} → {after:,.{digits}f}"


def _interval(result: Mapping[str, Any], digits: int = 2) -> str:
    value, low, high = (f"{result[name]:.{digits}f}" for name in ("ratio", "ratio_low", "ratio_high"))
    return f"{value} ({low}–{high})"


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _choice(threads: int, depth: int) -> str:
    return f"{threads} threads, {depth} deep"


MAKERS: dict[str, Callable[..., str]] = {
    maker.__name__: maker
    for maker in (
        *(fused_overhead, fused_threads, fused_sizes, fused_graphs, fused_blocks, fused_noise, fused_steps),
        *(decode_step, decode_rates),
        *(reality_rows, reality_ways, reality_answers, batched_kernels, batched_streams),
    )
}
