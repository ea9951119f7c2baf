"""Where attention over a mix of widths spends its time: DRAM throughput, occupancy, shared memory.

    python -m benchmarks.bucketed.profile [--device gpu|virtual] [--kernel FILE.cu]

On a GPU, ncu profiles one call from a cold cache (batch 8, 16,384 tokens, budget 0.25).
On the virtual GPU, one call of a bench case of exercise 04 runs with all its counters; times and what follows
from them are modelled. `./course profile 04` shows the same line by line.
"""

from __future__ import annotations

import argparse
import csv
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.output.options import described_parser
from common.core.errors import CourseError
from common.gpu.devices import find_gpus
from common.serving.bucketed.kernel_backend import VARIABLE
from common.virtual_gpu.report import SECTOR_BYTES, Launch
from grader.records.device_info import GPU, KINDS, VIRTUAL, DeviceInfo
from grader.spec import registry

BUDGET, BATCH, TOKENS, HEADS, HEAD_DIM = 0.25, 8, 16_384, 32, 128
_NCU_SECONDS = 400
Figures = Mapping[str, str]

# A row's label, ncu's metric, and how its base unit is shown.
METRICS: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("time, µs", "gpu__time_duration.sum", lambda value: f"{value / 1e3:.1f}"),
    ("read from DRAM, MB", "dram__bytes_read.sum", lambda value: f"{value / 1e6:.1f}"),
    ("DRAM throughput", "dram__throughput.avg.pct_of_peak_sustained_elapsed", lambda value: f"{value:.1f} %"),
    (
        "occupancy reached",
        "sm__warps_active.avg.pct_of_peak_sustained_active",
        lambda value: f"{value:.1f} %",
    ),
    ("occupancy possible", "sm__maximum_warps_per_active_cycle_pct", lambda value: f"{value:.1f} %"),
    ("shared memory per block, B", "launch__shared_mem_per_block", lambda value: f"{value:,.0f}"),
    ("bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", lambda value: f"{value:,.0f}"),
    ("registers per thread", "launch__registers_per_thread", lambda value: f"{value:.0f}"),
    ("warp instructions", "smsp__inst_executed.sum", lambda value: f"{value:,.0f}"),
)


def ncu_command() -> list[str]:
    """The whole command line: this module calls the kernel between the profiler's start and stop."""
    metrics = ",".join(metric for _, metric, _ in METRICS)
    return [
        *("ncu", "--profile-from-start", "off", "--cache-control", "all", "--clock-control", "none"),
        *("--csv", "--page", "raw", "--print-units", "base", "--metrics", metrics),
        *(sys.executable, "-m", "benchmarks.bucketed.profile", "--call"),
    ]


def on_gpu() -> dict[str, Figures]:
    """By kernel, in the order of launches."""
    if shutil.which("ncu") is None:
        raise CourseError(
            "ncu is not installed (it comes with the CUDA toolkit, as nsight-compute): install it, or "
            "use `--device virtual` for the counters of the virtual GPU"
        )
    command = ncu_command()
    print(shlex.join(command), flush=True)
    done = subprocess.run(command, capture_output=True, text=True, timeout=_NCU_SECONDS, check=False)
    found = parse_ncu(done.stdout)
    if not found:
        said = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise CourseError(
            f"ncu profiled no launch. Its output:\n{said}\nIf it names ERR_NVGPUCTRPERM, only root may read "
            "counters: run as root, or have the administrator set NVreg_RestrictProfilingToAdminUsers=0"
        )
    return found


def parse_ncu(text: str) -> dict[str, Figures]:
    """The figures of each launch in ncu's table, whose first row under the header holds the units."""
    lines = [line for line in text.splitlines() if line.startswith('"')]
    rows = [row for row in csv.DictReader(lines) if row.get("ID")]
    return {
        f"{row['ID']} {_short(row['Kernel Name'])}": {
            label: _shown(row.get(metric), show) for label, metric, show in METRICS
        }
        for row in rows
    }


def _short(kernel: str) -> str:
    """A kernel's name without its return type, template arguments and parameters."""
    return kernel.removeprefix("void ").partition("(")[0].partition("<")[0]


def _shown(value: str | None, show: Callable[[float], str]) -> str:
    try:
        return show(float((value or "").replace(",", "")))
    except ValueError:
        return "–"  # this ncu or this GPU does not have it


def call_once() -> None:
    """The call that ncu profiles: one attention."""
    import torch

    from benchmarks.bucketed.allocations import bench_widths, by_importance
    from benchmarks.bucketed.context import Context
    from benchmarks.bucketed.stored import stored
    from common.serving.bucketed.kernel_backend import KernelBackend
    from common.serving.device import gpu

    context = Context(BATCH, HEADS, TOKENS, HEAD_DIM, "cuda")
    backend = KernelBackend(gpu())
    widths = by_importance(bench_widths(TOKENS, BUDGET), context.importance)
    buckets = stored(backend, context.keys, context.values, widths, torch.float32)

    def attend() -> None:
        backend.attend(buckets, context.queries, None, HEAD_DIM**-0.5)
        torch.cuda.synchronize()

    attend()
    torch.cuda.profiler.start()
    attend()
    torch.cuda.profiler.stop()


def on_virtual(kernel: Path | None) -> dict[str, Figures]:
    from grader.actions.profile import chosen_case, profile

    exercise = registry.find("04")
    fitting = [case for case in exercise.bench if not case.gpu_only]
    named = next((case.name for case in fitting if case.name.endswith(f"budget {BUDGET:.2f}")), None)
    case = chosen_case(exercise, named)
    print(f"{case.name} on the virtual GPU; times are modelled", flush=True)
    found = profile(exercise, kernel or exercise.solution, case)
    if found.wrong:
        print(f"the kernel's answer is wrong: {found.wrong}")
    return {f"{launch.index} {_short(launch.kernel)}": modelled(launch) for launch in found.report.launches}


def modelled(launch: Launch) -> Figures:
    """The same rows for a launch on the virtual GPU, without those that only hardware has."""
    read = launch.distinct_load_sectors * SECTOR_BYTES
    counters, occupancy = launch.counters, launch.occupancy
    conflicts = counters.shared_load_conflicts + counters.shared_store_conflicts
    rate = read / launch.modelled_seconds if launch.modelled_seconds else 0.0
    return {
        "time, µs": f"{launch.modelled_seconds * 1e6:.1f} (modelled)",
        "read from DRAM, MB": f"{read / 1e6:.1f}",
        "DRAM throughput": f"{rate / 1e12:.2f} TB/s (modelled)",
        "occupancy possible": f"{100 * occupancy.fraction:.1f} %, by {occupancy.limiter}",
        "shared memory per block, B": f"{launch.static_shared + launch.dynamic_shared:,}",
        "bank conflicts": f"{conflicts:,}",
        "registers per thread": f"{launch.registers}",
        "warp instructions": f"{counters.warp_instructions:,} (PTX)",
    }


def table(launches: Mapping[str, Figures]) -> str:
    """A column for each launch."""
    labels = [label for label, *_ in METRICS]
    rows: list[Sequence[str]] = [("", *launches)]
    rows += [(label, *(figures.get(label, "–") for figures in launches.values())) for label in labels]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = described_parser(__doc__)
    parser.add_argument("--device", choices=KINDS, help="a GPU if there is one and it has ncu")
    parser.add_argument("--kernel", metavar="FILE.cu", type=Path, help="another kernel than the solution")
    parser.add_argument("--call", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.kernel is not None:
        os.environ[VARIABLE] = str(options.kernel.absolute())
    if options.call:
        call_once()
        return 0
    chosen = options.device or (GPU if find_gpus() and shutil.which("ncu") else VIRTUAL)
    try:
        print(table(on_virtual(options.kernel) if DeviceInfo(chosen, "").modelled else on_gpu()))
    except CourseError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
