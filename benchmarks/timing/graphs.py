"""Interleaved timing of several kernels inside CUDA graphs; and the file that a GPU benchmark writes."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.core.files import write_json
from common.gpu.devices import first_gpu
from grader.timing.statistics import median_interval, ratio_interval

if TYPE_CHECKING:
    import torch

Call = Callable[[], object]
_WARM_UP = 3


def captured(calls: Sequence[Call]) -> torch.cuda.CUDAGraph:
    """A graph of these calls, each on its own buffers, one after the other."""
    import torch

    for call in calls:  # loads modules, which a capture cannot
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()
    return graph


def event_seconds(work: Call) -> float:
    """Seconds between two events around work on the current stream, which is idle before and after."""
    import torch

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    work()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) * 1e-3


def in_turns(
    measures: Mapping[str, Callable[[], float]], turns: int, seed: int = 0
) -> dict[str, list[float]]:
    """Samples of each measure, taken in rounds of shuffled order, so that drift of the clock cancels."""
    order = random.Random(seed)
    samples: dict[str, list[float]] = {name: [] for name in measures}
    for turn in range(turns + _WARM_UP):
        for name in order.sample(list(measures), len(measures)):
            taken = measures[name]()
            if turn >= _WARM_UP:
                samples[name].append(taken)
    return samples


def graph_times(ways: Mapping[str, Sequence[Call]], turns: int = 60) -> dict[str, list[float]]:
    """Seconds per call of each kernel inside a graph of all its calls."""
    graphs = {name: captured(calls) for name, calls in ways.items()}

    def measure(name: str) -> Callable[[], float]:
        return lambda: event_seconds(graphs[name].replay) / len(ways[name])

    return in_turns({name: measure(name) for name in ways}, turns)


def summary(samples: Mapping[str, Sequence[float]], against: str) -> dict[str, dict[str, float]]:
    """Medians in microseconds and ratios over `against`, each with its 95 % interval."""
    made = {}
    for name, taken in samples.items():
        seconds, ratio = median_interval(taken), ratio_interval(samples[against], taken)
        made[name] = {
            "microseconds": round(seconds.value * 1e6, 3),
            "low": round(seconds.low * 1e6, 3),
            "high": round(seconds.high * 1e6, 3),
            "ratio": round(ratio.value, 4),
            "ratio_low": round(ratio.low, 4),
            "ratio_high": round(ratio.high, 4),
            "samples": len(taken),
        }
    return made


def write_result(folder: Path, stem: str, result: Mapping[str, Any]) -> Path:
    """STEM_GPU.json in the folder."""
    gpu = first_gpu()
    name = gpu.name.lower().removeprefix("nvidia ").replace(" ", "-")
    path = folder / f"{stem}_{name}.json"
    write_json(path, {"gpu": gpu.name, "driver": gpu.driver, **result})
    return path
