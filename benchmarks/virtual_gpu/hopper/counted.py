"""What ncu counts of Hopper's own instructions in this folder's programs, beside the virtual GPU's counters.

    python -m benchmarks.virtual_gpu.hopper.counted [--out FILE]

records it on a GPU, with nvcc and ncu. Launches are listed per program in launch order.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import DATA
from benchmarks.output.options import described_parser
from benchmarks.virtual_gpu.counters.comparison import Figure
from benchmarks.virtual_gpu.counters.record import launches_of
from benchmarks.virtual_gpu.hopper.corpus import CAPABILITY, hopper_programs
from benchmarks.virtual_gpu.machine import machine, missing_tools
from common.build.program import Target, build_program
from common.virtual_gpu.report import SECTOR_BYTES

RECORD = DATA / "virtual_gpu" / "hopper_counters_h200.json"
LOADS = Figure(
    "bytes by bulk loads",
    ("bulk_load_bytes",),
    ("l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",),
)
STORES = Figure(
    "bytes by bulk stores",
    ("bulk_store_bytes",),
    (
        "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum",
        "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_red.sum",
    ),
)
PRODUCTS = Figure(
    "wgmma instructions", ("wgmma_instructions",), ("smsp__inst_executed_pipe_tensor_op_gmma.sum",)
)
LOAD_SECTORS = Figure("sectors by bulk loads", ("bulk_load_sectors",), LOADS.metrics, unit=SECTOR_BYTES)
STORE_SECTORS = Figure("sectors by bulk stores", ("bulk_store_sectors",), STORES.metrics, unit=SECTOR_BYTES)
FIGURES = (LOADS, LOAD_SECTORS, STORES, STORE_SECTORS, PRODUCTS)

SECTORS = "The H200 counts bytes in whole sectors. The virtual GPU counts the tensor's own bytes."
FILLED = "The H200 also counts the zeros that fill a box past the tensor's end."
ONE_MORE = "The H200 counts one more for each warp. Other programs agree; why these do not is not known."
# What both count, but not alike, by program and figure.
APART = {
    ("maps_in_memory", LOADS): SECTORS,
    ("tensor_to_products", LOADS): SECTORS,
    **{
        (program, figure): FILLED
        for program in (
            *("im2col_convolution", "im2col_multicast", "map_replaced", "stream_ring", "tensor_2d"),
            *("tensor_fill", "tensor_halo", "tensor_interleaved", "tensor_narrow", "tensor_pooling"),
            *("tensor_ranks", "tensor_transpose", "tensor_types"),
        )
        for figure in (LOADS, LOAD_SECTORS)
    },
    ("tensor_2d", STORES): SECTORS,
    ("tensor_narrow", STORES): SECTORS,
    ("tensor_transpose", STORES): SECTORS,
    ("wgmma_layouts", PRODUCTS): ONE_MORE,
}
UNCOUNTED = {  # newer than the record
    *("cluster_rings", "copies_of_new_stores", "maps_changed", "multicast_one_arrival", "one_arrival"),
    "stores_read_back",
    *("pixels_replaced", "vector_atomics", "wgmma_base_offset", "wgmma_bits"),
}


def recorded() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(RECORD.read_text())["programs"]
    return found


def record(out: Path) -> int:
    metrics = sorted({metric for figure in FIGURES for metric in figure.metrics})
    programs: dict[str, list[dict[str, Any]]] = {}
    failed: dict[str, str] = {}
    sources = hopper_programs()
    with ThreadPoolExecutor() as pool:
        all_built = list(pool.map(lambda one: build_program([one.source], Target.gpu(CAPABILITY)), sources))
    # Hardware counters serve one profiler at a time.
    for program, built in zip(sources, all_built, strict=True):
        try:
            programs[program.name] = launches_of(built.path, metrics)
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            failed[program.name] = str(problem)
        print(f"{program.name}: {len(programs.get(program.name, []))} launches", flush=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(
        json.dumps({**machine("nvcc", "ncu"), "failed": failed, "programs": programs}, indent=1) + "\n"
    )
    for name, reason in failed.items():
        print(f"{name}: {reason}", file=sys.stderr)
    return 1 if failed else 0


def main() -> int:
    parser = described_parser(__doc__)
    parser.add_argument("--out", type=Path, default=RECORD)
    arguments = parser.parse_args()
    if problem := missing_tools("nvcc", "ncu"):
        print(problem, file=sys.stderr)
        return 2
    return record(arguments.out)


if __name__ == "__main__":
    sys.exit(main())
