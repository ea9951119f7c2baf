"""How fast the virtual GPU runs: thread instructions per second, with all checks and without.

    python -m benchmarks.speed [--threads 1] [--repeat 5] [--json OUT] [KERNEL…]

Each kernel runs `--repeat` times in its own process; the best run counts, since everything that disturbs a
run makes it slower. "checked" has every check and counter on, as grading does; "bare" has none.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from pathlib import Path

from benchmarks.output.options import described_parser
from common.build.program import Target, build_program
from common.virtual_gpu.session import run_program

KERNELS = ("kv_store", "divergent_reduction", "matmul_mma", "attention_mma", "attention_scalar", "pure_fma")
BARE = dict.fromkeys(("memory", "race", "init", "sync", "async", "counters"), "off")


def measure(program: Path, kernel: str, options: dict[str, str], repeat: int) -> tuple[float, int]:
    """Best wall time of the launch in seconds, and its thread instructions."""
    best, instructions = float("inf"), 0
    for _ in range(repeat):
        run = run_program(program, [kernel], options=options, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if run.status != 0:
            raise SystemExit(f"{kernel}: {run.ending}\n{run.stdout}{run.stderr}")
        launch = run.report.launches[-1]
        best = min(best, launch.wall_seconds)
        instructions = launch.counters.thread_instructions
    return best, instructions


def main() -> None:
    parser = described_parser(__doc__)
    parser.add_argument("kernels", nargs="*", default=KERNELS, metavar="KERNEL")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads of the engine (0: all)")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    arguments = parser.parse_args()
    program = build_program([Path(__file__).with_name("kernels.cu")], Target.virtual()).path
    threads = {"threads": str(arguments.threads)} if arguments.threads else {}
    rows = []
    print(f"{'kernel':22}{'thread instr.':>14}{'checked':>12}{'G/s':>8}{'bare':>12}{'G/s':>8}")
    for kernel in arguments.kernels:
        checked, instructions = measure(program, kernel, threads, arguments.repeat)
        bare, _ = measure(program, kernel, threads | BARE, arguments.repeat)
        rows.append(
            {
                "kernel": kernel,
                "thread_instructions": instructions,
                "checked_seconds": checked,
                "bare_seconds": bare,
            }
        )
        print(
            f"{kernel:22}{instructions / 1e6:>12.1f} M"
            f"{checked * 1e3:>9.1f} ms{instructions / checked / 1e9:>8.2f}"
            f"{bare * 1e3:>9.1f} ms{instructions / bare / 1e9:>8.2f}",
            flush=True,
        )
    if arguments.json:
        machine = {
            "cpus": os.cpu_count(),
            "machine": platform.machine(),
            "threads": arguments.threads or os.cpu_count(),
        }
        arguments.json.write_text(json.dumps({"machine": machine, "kernels": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
