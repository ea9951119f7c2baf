"""Results that nobody measured, for tests of tables and charts: plausible times from a formula."""

from __future__ import annotations

from typing import Any

from benchmarks.flash.decode import BATCHES, CONTEXTS, HEAD_DIM, HEADS, OURS
from benchmarks.flash.shapes import Shape, all_shapes
from benchmarks.flash.ways import BACKENDS, CUDNN, EFFICIENT, FLASH, V2, kernel_ways

ABOUT = {
    "device": "no device: figures of a test",
    "driver": None,
    "clock_mhz": [1980, 1980],
    "clock_mhz_busy": 1755,
    "multiprocessors": 132,
    "copy_bytes_per_second": 4_260_000_000_000,
    "throttled": None,
    "finished": True,
}
# TFLOP/s of a full GPU, by the place in the ladder, and of torch's.
_RATES = (3.0, 40.0, 25.0, 110.0, 120.0, 150.0, 205.0, 215.0, 262.0)
_TORCH = {FLASH: 255.0, CUDNN: 380.0, EFFICIENT: 120.0}


def latency() -> dict[str, Any]:
    return {**ABOUT, "shapes": [_shape(shape) for shape in all_shapes()]}


def _shape(shape: Shape) -> dict[str, Any]:
    ladder = zip(kernel_ways(), _RATES, strict=True)
    rates = {(way.name, way.kind): rate for way, rate in ladder if shape.head_dim in way.head_dims}
    rates |= {(name, "torch"): rate for name, rate in _TORCH.items()}
    # A few heads fill the GPU in part.
    fill = min(1.0, shape.heads_in_all * shape.length / (132 * 128))
    times = {key: 3 + shape.flops / (rate * fill) * 1e-6 for key, rate in rates.items()}
    base = times[V2, "v2"]
    slow = {name: f"a call takes {took / 1e3:.0f} ms" for (name, _), took in times.items() if took > 20e3}
    ways = [
        {**_times(took, base / took), "name": name, "kind": kind, "tflops": shape.flops / took * 1e-6}
        for (name, kind), took in times.items()
        if name not in slow
    ]
    return {**shape.plain(), "ways": ways, "left_out": slow}


def decode() -> dict[str, Any]:
    shares = {OURS: 0.9, **dict(zip(BACKENDS, (0.6, 0.95, 0.55), strict=True))}
    shapes = []
    for batch in BATCHES:
        for context in CONTEXTS:
            moved = 4 * batch * HEADS * HEAD_DIM * (context + 1)
            times = {name: 6 + moved / share / 4.26e6 for name, share in shares.items()}
            ways = [
                {
                    **_times(took, times[OURS] / took),
                    "name": name,
                    "kind": "decode" if name == OURS else "torch",
                    "share_of_copy_bandwidth": moved / took / 4.26e6,
                }
                for name, took in times.items()
            ]
            about = {"batch": batch, "heads": HEADS, "context": context, "head_dim": HEAD_DIM}
            shapes.append({**about, "bytes": moved, "ways": ways, "left_out": {}})
    return {**ABOUT, "shapes": shapes}


def _times(took: float, ratio: float) -> dict[str, float]:
    ends = {"ratio_low": 0.98 * ratio, "ratio_high": 1.03 * ratio, "samples": 40, "error": 4.2e-4}
    return {"microseconds": took, "low": 0.98 * took, "high": 1.04 * took, "ratio": ratio, **ends}
