"""A profiled call, made up: one launch with two lines, and two warps whose copies overlap with work."""

from __future__ import annotations

from typing import Any

from grader.notebook.seen import Seen

SOURCE = "__global__ void k() {\n  copy();  // <script>alert(1)</script>\n  wait();\n  work();\n}\n"
_COUNTERS = {
    "async_requests": 8,
    "async_sectors": 128,
    "shared_load_requests": 4,
    "shared_load_wavefronts": 12,
    "shared_load_conflicts": 8,
    "warp_instructions": 64,
    "thread_instructions": 2048,
    "by_class": {},
}


def spans() -> list[list[Any]]:
    """Each warp starts a copy, computes for 100 cycles, waits for the copy and then computes again."""
    made: list[list[Any]] = []
    for warp in (0, 1):
        at = 100.0 + warp
        made += [
            [warp, "async copy", 2, at, at, at + 500],
            [warp, "math", 4, at + 2, at + 2, at + 6],
            [warp, "async wait", 3, at + 100, at + 500, at + 500],
            [warp, "shared load", 4, at + 502, at + 502, at + 525],
            [warp, "barrier", 3, at + 504, at + 504, at + 600],
            [warp, "tensor", 4, at + 600, at + 601, at + 630],
        ]
    return made


def launch(kernel: str = "k<1>(int)") -> dict[str, Any]:
    return {
        "index": 0,
        "kernel": kernel,
        "mangled": "k",
        "grid": [4, 1, 1],
        "block": [64, 1, 1],
        "dynamic_shared": 0,
        "static_shared": 4096,
        "stream": 0,
        "graph": False,
        "error": 0,
        "error_name": "cudaSuccess",
        "registers": 32,
        "registers_estimated": False,
        "occupancy": {"blocks_per_sm": 16, "warps_per_sm": 32, "fraction": 0.5, "limiter": "shared"},
        "counters": _COUNTERS,
        "waits_at": "",
        "not_modelled": "",
        "not_modelled_at": "",
        "unlike_replayed": 1.0,
        "distinct_load_sectors": 128,
        "distinct_plain_load_sectors": 128,
        "distinct_store_sectors": 0,
        "lines": [
            {"file": "kernel.cu", "line": 2, "counters": {"async_requests": 8, "async_sectors": 128}},
            {"file": "kernel.cu", "line": 4, "counters": {"warp_instructions": 64}},
        ],
        "modelled_seconds": 4e-6,
        "cost": {
            "body_seconds": 1e-6,
            "floor_seconds": 3e-6,
            "gap_seconds": 1e-6,
            "limiter": "latency",
            "sentence": "latency bounds it",
            "round_trips": 2,
            "terms": {"latency": 1e-6, "dram": 2e-7, "issue": 0.0},
        },
        "wall_seconds": 0.1,
        "timeline": {"resident": 4, "cut": False, "cycles_per_second": 2e9, "spans": spans()},
    }


def seen(source: str = SOURCE, wrong: str = "", launches: list[dict[str, Any]] | None = None) -> Seen:
    return Seen.from_dict(brought_back(source, wrong, launches))


def brought_back(
    source: str = SOURCE, wrong: str = "", launches: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """What the grader process answers."""
    return {
        "file": "kernel.cu",
        "source": source,
        "case": "64 tokens",
        "sizes": {"tokens": 64},
        "report": {
            "profile": "h200",
            "findings": [],
            "launches": [launch()] if launches is None else launches,
        },
        "seconds": 4e-6,
        "seconds_in_a_graph": 1.5e-6,
        "protocol": "cold",
        "wrong": wrong,
    }
