"""The virtual GPU's counters compared with ncu's: which figures mean the same thing, which differ and why.

RECORD holds what ncu counted on an H200 for every launch of this folder's programs. A figure of the virtual
GPU equals it, unless DIFFERENCES names the launch, the figure and the exact value the virtual GPU gives
instead.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import DATA
from common.virtual_gpu.report import Counters

FOLDER = Path(__file__).resolve().parent
RECORD = DATA / "virtual_gpu" / "counters_h200.json"
RECORDED: dict[str, list[dict[str, Any]]] = json.loads(RECORD.read_text())["programs"]


@dataclass(frozen=True)
class Figure:
    """One quantity that both sides count: the sum of some of our counters, and of some of ncu's metrics."""

    name: str
    counters: tuple[str, ...]
    metrics: tuple[str, ...]
    unit: int = 1  # of ncu's: so many are one of ours

    def virtual(self, counters: Counters) -> int:
        """A name with a colon is an instruction class."""
        return sum(
            counters.by_class.get(name.removeprefix("class:"), 0)
            if name.startswith("class:")
            else getattr(counters, name)
            for name in self.counters
        )

    def measured(self, metrics: dict[str, int]) -> int:
        return sum(metrics[metric] for metric in self.metrics) // self.unit


def _tag(what: str, *spaces: str) -> tuple[str, ...]:
    return tuple(f"l1tex__t_{what}_pipe_lsu_mem_{space}.sum" for space in spaces)


def _shared(what: str, operation: str) -> tuple[str]:
    return (f"l1tex__data_{what}_mem_shared_op_{operation}.sum",)


_WAVEFRONTS, _CONFLICTS = "pipe_lsu_wavefronts", "bank_conflicts_pipe_lsu"
_COPIES = tuple(f"smsp__sass_inst_executed_op_ldgsts_cache_{kind}.sum" for kind in ("access", "bypass"))

LOAD_REQUESTS = Figure(
    "global load requests", ("global_load_requests", "async_requests"), _tag("requests", "global_op_ld")
)
LOAD_SECTORS = Figure(
    "global load sectors", ("global_load_sectors", "async_sectors"), _tag("sectors", "global_op_ld")
)
STORE_REQUESTS = Figure("global store requests", ("global_store_requests",), _tag("requests", "global_op_st"))
STORE_SECTORS = Figure("global store sectors", ("global_store_sectors",), _tag("sectors", "global_op_st"))
ATOMIC_REQUESTS = Figure(
    "global atomic requests",
    ("global_atomic_requests",),
    _tag("requests", "global_op_red", "global_op_atom"),
)
ATOMIC_SECTORS = Figure(
    "global atomic sectors", ("global_atomic_sectors",), _tag("sectors", "global_op_red", "global_op_atom")
)
COPIES = Figure("cp.async instructions", ("async_requests",), _COPIES)
LOAD_WAVEFRONTS = Figure("shared load wavefronts", ("shared_load_wavefronts",), _shared(_WAVEFRONTS, "ld"))
LOAD_CONFLICTS = Figure("shared load conflicts", ("shared_load_conflicts",), _shared(_CONFLICTS, "ld"))
STORE_WAVEFRONTS = Figure("shared store wavefronts", ("shared_store_wavefronts",), _shared(_WAVEFRONTS, "st"))
STORE_CONFLICTS = Figure("shared store conflicts", ("shared_store_conflicts",), _shared(_CONFLICTS, "st"))
ATOMIC_WAVEFRONTS = Figure(
    "shared atomic wavefronts", ("shared_atomic_wavefronts",), _shared(_WAVEFRONTS, "atom")
)
MATRIX_LOADS = Figure(
    "ldmatrix instructions", ("class:matrix_load",), ("smsp__sass_inst_executed_op_ldsm.sum",)
)
TENSOR = Figure("tensor instructions", ("matrix_instructions",), ("smsp__inst_executed_pipe_tensor.sum",))
LOCAL = tuple(
    Figure(f"local {verb} {what}", (f"local_{verb}_{what}",), _tag(what, f"local_op_{short}"))
    for verb, short in (("load", "ld"), ("store", "st"))
    for what in ("requests", "sectors")
)
DIVERGENT = Figure(
    "divergent branches", ("divergent_branches",), ("smsp__sass_branch_targets_threads_divergent.sum",)
)
FIGURES = (
    *(LOAD_REQUESTS, LOAD_SECTORS, STORE_REQUESTS, STORE_SECTORS, ATOMIC_REQUESTS, ATOMIC_SECTORS, COPIES),
    *(LOAD_WAVEFRONTS, LOAD_CONFLICTS, STORE_WAVEFRONTS, STORE_CONFLICTS, ATOMIC_WAVEFRONTS),
    *(MATRIX_LOADS, TENSOR, *LOCAL, DIVERGENT),
)


@dataclass(frozen=True)
class Difference:
    """A figure of one launch that differs from ncu's. `kernel` is for the reader; a test checks it."""

    program: str
    launch: int
    kernel: str
    figure: Figure
    virtual: int
    reason: str


PREDICATED = (
    "PTX has a branch here. ptxas turned it into predicated instructions, which do not branch, so the "
    "hardware counts nothing. The lanes diverge all the same."
)
CONSTANT = (
    "No matrix work: ptxas often loads a constant into a register with HFMA2.MMA, which runs on the tensor "
    "pipe, once or twice per warp."
)
SCATTERED = (
    "With lanes in more than four 128-byte lines the hardware sometimes touches a sector once more than "
    "the rule predicts (never less, at most two more per request)."
)
AGGREGATED = (
    "All lanes add to one word of shared memory. ptxas sums a warp's values with REDUX first and lets one "
    "lane add; PTX, and so the virtual GPU, still has 32 adds. The H200's figure also varies between "
    "runs (260 to 267), because warps contend."
)
UNROLLED = (
    "Rows of 100 columns give lanes 0–3 four trips and the others three. ptxas unrolls the first two loops "
    "by four, so the two groups load separately: 18 requests per row instead of 12. Simulated by hand, that "
    "unrolling gives the H200's requests and sectors exactly."
)

DIFFERENCES = (
    Difference("atomics", 6, "global_histogram", ATOMIC_SECTORS, 5752, SCATTERED),
    Difference("atomics", 6, "global_histogram", TENSOR, 0, CONSTANT),
    Difference("atomics", 7, "compare_and_swap", ATOMIC_SECTORS, 5752, SCATTERED),
    Difference("atomics", 10, "shared_one_counter", ATOMIC_WAVEFRONTS, 4096, AGGREGATED),
    Difference("atomics", 10, "shared_one_counter", DIVERGENT, 320, PREDICATED),
    Difference("divergent_branches", 0, "branch_by_lane", DIVERGENT, 128, PREDICATED),
    Difference("divergent_branches", 3, "collatz_steps", TENSOR, 0, CONSTANT),
    Difference("local_arrays", 0, "same_index", TENSOR, 0, CONSTANT),
    Difference("local_arrays", 1, "index_by_lane", TENSOR, 0, CONSTANT),
    Difference("partial_warps", 0, "guarded_tail", DIVERGENT, 1, PREDICATED),
    Difference("partial_warps", 3, "every_third_lane", DIVERGENT, 320, PREDICATED),
    Difference("partial_warps", 4, "one_lane_a_warp", DIVERGENT, 320, PREDICATED),
    Difference("partial_warps", 5, "short_block", DIVERGENT, 1, PREDICATED),
    Difference("reductions", 0, "tree_reduction", TENSOR, 0, CONSTANT),
    Difference("reductions", 0, "tree_reduction", DIVERGENT, 384, PREDICATED),
    Difference("reductions", 1, "divergent_tree_reduction", TENSOR, 0, CONSTANT),
    Difference("reductions", 1, "divergent_tree_reduction", DIVERGENT, 3072, PREDICATED),
    Difference("reductions", 2, "shuffle_reduction", TENSOR, 0, CONSTANT),
    Difference("reductions", 2, "shuffle_reduction", DIVERGENT, 640, PREDICATED),
    Difference("row_softmax", 0, "row_softmax", LOAD_REQUESTS, 3996, UNROLLED),
    Difference("row_softmax", 0, "row_softmax", LOAD_SECTORS, 14481, UNROLLED),
    Difference("row_softmax", 0, "row_softmax", DIVERGENT, 999, UNROLLED),
)


def difference(program: str, launch: int, figure: Figure) -> Difference | None:
    return next(
        (d for d in DIFFERENCES if (d.program, d.launch, d.figure) == (program, launch, figure)), None
    )


def expected(program: str, launch: int, figure: Figure) -> int:
    """What the virtual GPU must count."""
    known = difference(program, launch, figure)
    return known.virtual if known else figure.measured(RECORDED[program][launch]["metrics"])


def short_name(kernel: str) -> str:
    """A kernel's name as ncu prints it, without return type and parameters: "matmul<8>"."""
    name = re.sub(r"^void ", "", kernel)
    depth = 0
    for index, char in enumerate(name):
        depth += (char == "<") - (char == ">")
        if char == "(" and depth == 0:
            return re.sub(r"\((\w+)\)", "", name[:index])  # casts in template arguments: <(int)4>
    return name
