"""Profiles the counter programs with ncu on a GPU and records the figures that the virtual GPU must match.

    python -m benchmarks.virtual_gpu.counters.record [--out FILE]

Needs a GPU, nvcc and ncu; no network. Launches are listed per program in launch order. A metric this ncu or
this GPU does not have is named under "unavailable" and does not stop the run.
"""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import DATA
from benchmarks.output.options import described_parser
from benchmarks.virtual_gpu.machine import machine, missing_tools

PROGRAMS = Path(__file__).resolve().parent
NEEDED = ("nvcc", "ncu")
NVCC_FLAGS = ["-std=c++17", "-O3", "-lineinfo", "-arch=sm_90"]

SPACES = ["global_op_ld", "global_op_st", "global_op_red", "global_op_atom", "local_op_ld", "local_op_st"]
SHARED_OPERATIONS = ["ld", "st", "atom"]
INSTRUCTION_CLASSES = [
    *(
        "branch",
        "ldgsts",
        "ldgsts_cache_access",
        "ldgsts_cache_bypass",
        "ldsm",
        "global_ld",
        "global_st",
        "global_red",
        "global_atom",
    ),
    *("shared_ld", "shared_st", "shared_atom", "local_ld", "local_st"),
]
SASS_SHARED = ["pipe_lsu_wavefronts_mem_shared", "bank_conflicts_pipe_lsu_mem_shared"]
METRICS = [
    *(f"l1tex__t_{what}_pipe_lsu_mem_{space}.sum" for what in ("requests", "sectors") for space in SPACES),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    *(f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum" for op in SHARED_OPERATIONS),
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    *(f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum" for op in SHARED_OPERATIONS),
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum",
    "l1tex__data_pipe_lsu_wavefronts_mem_lg.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "l1tex__t_requests_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_access.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ldgsts_cache_bypass.sum",
    "smsp__l1tex_tmem_reads_mem_lgds_op_ldgsts.sum",
    "l1tex__m_xbar2l1tex_read_sectors.sum",
    "l1tex__m_xbar2l1tex_read_sectors_mem_lg_op_ld.sum",
    "smsp__inst_executed.sum",
    "smsp__thread_inst_executed.sum",
    "smsp__thread_inst_executed_pred_on.sum",
    "smsp__inst_executed_pipe_tensor.sum",
    *(f"smsp__inst_executed_op_{op}.sum" for op in INSTRUCTION_CLASSES),
    *(
        f"smsp__sass_inst_executed_op_{op}.sum"
        for op in ("ldgsts_cache_access", "ldgsts_cache_bypass", "ldsm")
    ),
    *(f"smsp__sass_l1tex_data_{what}_op_{op}.sum" for what in SASS_SHARED for op in ("ldgsts", "ldsm")),
    "sm__inst_executed_pipe_lsu.sum",
    "smsp__inst_executed_pipe_cbu.sum",
    "smsp__sass_branch_targets.sum",
    "smsp__sass_branch_targets_threads_divergent.sum",
    "smsp__sass_branch_targets_threads_uniform.sum",
    "smsp__warps_launched.sum",
    "lts__t_sectors_op_read.sum",
    "lts__t_sectors_op_write.sum",
    "dram__bytes_read.sum",
    "gpu__time_duration.sum",
]


def compile_program(source: Path, folder: Path) -> Path:
    binary = folder / source.stem
    done = subprocess.run(
        ["nvcc", *NVCC_FLAGS, str(source), "-o", str(binary)], capture_output=True, text=True, timeout=180
    )
    if done.returncode != 0:
        raise RuntimeError(f"nvcc could not build {source.name}:\n{done.stderr}")
    return binary


def run_ncu(binary: Path, metrics: list[str], *options: str) -> tuple[list[dict[str, str]], str]:
    """One row per launch, keyed by column; and ncu's whole output, for an error message."""
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
    command += ["--print-kernel-base", "demangled", *options, "--metrics", ",".join(metrics), str(binary)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=150)
    table = [line for line in done.stdout.splitlines() if line.startswith('"')]
    rows = list(csv.DictReader(table))
    # The first row under the header holds the units.
    return [row for row in rows if row.get("ID")], done.stdout[-2000:] + done.stderr[-2000:]


def known_base_names() -> set[str]:
    done = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, timeout=90)
    return {line.split()[0] for line in done.stdout.splitlines() if re.match(r"[a-z]\w*__\w+\s", line)}


def usable_metrics(probe: Path, limit_s: float) -> tuple[list[str], list[str]]:
    """Metrics that ncu lists are used; each other one is tried alone, until the time limit."""
    started = time.monotonic()
    known = known_base_names()
    print("ncu knows of cp.async:", sorted(name for name in known if "ldgsts" in name), flush=True)
    usable: list[str] = []
    unavailable: list[str] = []
    for metric in METRICS:
        base = metric.removesuffix(".sum")
        if base in known:
            usable.append(metric)
            continue
        in_time = time.monotonic() - started < limit_s
        rows = run_ncu(probe, [metric], "--launch-count", "1")[0] if in_time else []
        found = bool(rows) and number(rows[0].get(metric)) is not None
        (usable if found else unavailable).append(metric)
    return usable, unavailable


def number(text: str | None) -> int | float | None:
    try:
        value = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return int(value) if value.is_integer() else value


def launches_of(binary: Path, metrics: list[str]) -> list[dict[str, Any]]:
    rows, said = run_ncu(binary, metrics)
    if not rows:
        raise RuntimeError(f"ncu profiled no launch of {binary.name}. Its output:\n{said}")
    return [
        {
            "kernel": row["Kernel Name"],
            "grid": row["Grid Size"],
            "block": row["Block Size"],
            "metrics": {m: value for m in metrics if (value := number(row.get(m))) is not None},
        }
        for row in rows
    ]


def record(out: Path, limit_s: float) -> int:
    started = time.monotonic()
    sources = sorted(PROGRAMS.glob("*.cu"))
    programs: dict[str, list[dict[str, Any]]] = {}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="counters_") as scratch:
        with ThreadPoolExecutor(os.cpu_count() or 4) as pool:
            binaries = list(pool.map(lambda source: compile_program(source, Path(scratch)), sources))
        usable, unavailable = usable_metrics(binaries[0], limit_s / 6)
        print(
            f"{len(usable)} metrics after {time.monotonic() - started:.0f} s; not here: {unavailable}",
            flush=True,
        )
        # Hardware counters serve one profiler at a time, so the programs run one after the other.
        for binary in binaries:
            if time.monotonic() - started > limit_s:
                failed[binary.name] = "not run: the time limit had passed"
                continue
            try:
                programs[binary.name] = launches_of(binary, usable)
            except (RuntimeError, subprocess.TimeoutExpired) as error:
                failed[binary.name] = str(error)
            print(f"{binary.name}: {len(programs.get(binary.name, []))} launches, "
                  f"{time.monotonic() - started:.0f} s", flush=True)  # fmt: skip
    out.parent.mkdir(parents=True, exist_ok=True)
    document = {**machine(*NEEDED), "unavailable": unavailable, "failed": failed, "programs": programs}
    out.write_text(json.dumps(document, indent=1) + "\n")
    for name, reason in failed.items():
        print(f"{name}: {reason}", file=sys.stderr)
    print(f"wrote {out} after {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


def main() -> int:
    parser = described_parser(__doc__)
    parser.add_argument("--out", type=Path, default=DATA / "virtual_gpu" / "counters_h200.json")
    parser.add_argument("--limit", type=float, default=270, help="seconds after which no more programs start")
    arguments = parser.parse_args()
    if problem := missing_tools(*NEEDED):
        print(problem, file=sys.stderr)
        return 2
    return record(arguments.out, arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
