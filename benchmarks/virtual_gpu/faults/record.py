"""Runs compute-sanitizer's four tools over the faulty programs on a GPU and records what each one reports.

    python -m benchmarks.virtual_gpu.faults.record [--hopper] [--out FILE] [NAME…]

Needs a GPU, nvcc and compute-sanitizer; no network. The corrected programs run as well: alone, where they
must succeed, and under the tools as long as time is left. With names, the others keep their entries. With
--hopper, those for sm_90a.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.output.options import described_parser
from benchmarks.virtual_gpu.faults.corpus import RECORD, Fault, all_faults
from benchmarks.virtual_gpu.hopper_faults import corpus as hopper
from benchmarks.virtual_gpu.machine import machine, missing_tools

NEEDED = ("nvcc", "compute-sanitizer")
# Host helpers are not inlined: a leak is then reported where it was allocated, not in the caller.
HOST_FLAGS = ["-Xcompiler", "-g1", "-Xcompiler", "-fno-inline"]
NVCC_FLAGS = ["-std=c++17", "-O3", "-lineinfo", *HOST_FLAGS]
USUAL, HOPPER = "-arch=sm_90", "-gencode=arch=compute_90a,code=sm_90a"
TOOLS: dict[str, list[str]] = {
    "memcheck": ["--leak-check", "full"],
    "racecheck": ["--racecheck-report", "analysis"],
    "initcheck": [],
    "synccheck": [],
}
# Kinds whose marked line is host code, which the tools name in their host backtrace.
HOST_KINDS = {"leak", "host"}
HOST_LINE_PROGRAMS = {"memory_double_free"}

_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)")
_PLACE = re.compile(r"([\w.+-]+\.(?:cuh?|h|hpp|cpp|inl)):(\d+)")


class Finished(NamedTuple):
    status: int | None  # None: stopped at the time limit
    output: str


def run_limited(command: list[str], limit_s: float) -> Finished:
    """Runs a command in its own process group, so that at the limit its children are killed as well."""
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit_s)
            return Finished(process.returncode, output)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return Finished(None, output)


def compile_program(fault: Fault, fixed: bool, folder: Path) -> Path:
    arch = HOPPER if fault.path.parent == hopper.FOLDER else USUAL
    binary = folder / (fault.name + ("_fixed" if fixed else ""))
    defines = ["-DFIXED"] if fixed else []
    command = ["nvcc", *NVCC_FLAGS, arch, *defines, str(fault.path), "-o", str(binary)]
    done = run_limited(command, 120)
    if done.status != 0:
        raise RuntimeError(f"nvcc could not build {fault.path.name} (fixed: {fixed}):\n{done.output}")
    return binary


def run_bare(binary: Path) -> dict[str, Any]:
    done = run_limited([str(binary)], 20)
    printed = dict(line.split(": ", 1) for line in done.output.splitlines() if ": " in line)
    return {"exit": done.status, "result": printed.get("result"), "error": printed.get("error")}


def reports_of(output: str) -> str:
    """The tool's own lines, without those of the program."""
    return "\n".join(line[10:] for line in output.splitlines() if line.startswith("========= "))


def places_in(report: str, host: bool) -> list[str]:
    """file:line of every device frame in order of appearance; of every host frame when `host` is set."""
    chosen = [line for line in report.splitlines() if ("Host Frame" in line) == host]
    return list(dict.fromkeys(f"{name}:{number}" for line in chosen for name, number in _PLACE.findall(line)))


def run_tool(fault: Fault, binary: Path, tool: str) -> dict[str, Any]:
    command = ["compute-sanitizer", "--tool", tool, *TOOLS[tool], "--print-limit", "60", str(binary)]
    done = run_limited(command, 20)
    report = reports_of(done.output)
    summary = _SUMMARY.search(report)
    count = int(summary[1]) if summary else None
    host = bool(fault.kinds & HOST_KINDS) or fault.name in HOST_LINE_PROGRAMS
    places = places_in(report, host)
    wanted = {f"{fault.path.name}:{line}" for line in fault.lines | fault.other_lines}
    text = [line for line in report.splitlines() if line.strip() and "COMPUTE-SANITIZER" not in line]
    return {
        "reported": bool(count),
        "right_line": bool(count) and bool(wanted.intersection(places)),
        "count": count,
        "timed_out": done.status is None,
        "places": places[:8],
        "first": text[0].strip() if count and text else None,
    }


def in_parallel(jobs: int, work: Callable[..., Any], items: Iterable[tuple[Any, ...]]) -> list[Any]:
    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda item: work(*item), items))


def skip_reason(fault: Fault) -> str | None:
    if fault.hangs:
        return "never ends on a GPU"
    return "dies in host code" if fault.segfaults else None


def record(everything: list[Fault], out: Path, jobs: int, limit_s: float, names: list[str]) -> None:
    started = time.monotonic()
    faults = [fault for fault in everything if not names or fault.name in names]
    compiled = [fault for fault in faults if skip_reason(fault) is None]
    entries: dict[str, dict[str, Any]] = {
        fault.name: {
            "kinds": sorted(fault.kinds),
            "lines": sorted(fault.lines),
            "skipped": skip_reason(fault),
        }
        for fault in faults
    }
    with tempfile.TemporaryDirectory(prefix="faults_") as scratch:
        folder = Path(scratch)
        builds = [(fault, False, folder) for fault in compiled] + [(fault, True, folder) for fault in faults]
        binaries = in_parallel(os.cpu_count() or 4, compile_program, builds)
        binary_of = {
            (fault.name, fixed): binary for (fault, fixed, _), binary in zip(builds, binaries, strict=True)
        }
        print(f"built {len(builds)} programs in {time.monotonic() - started:.0f} s", flush=True)

        bare = in_parallel(jobs, run_bare, [(binary,) for binary in binaries])
        for (fault, fixed, _), outcome in zip(builds, bare, strict=True):
            entries[fault.name]["twin" if fixed else "bare"] = outcome

        def under_tool(fault: Fault, fixed: bool, tool: str) -> dict[str, Any] | None:
            if fixed and time.monotonic() - started > limit_s:
                return None
            return run_tool(fault, binary_of[fault.name, fixed], tool)

        # Corrected programs come last: they may be left out when time is short.
        runs = [(fault, False, tool) for fault in compiled for tool in TOOLS]
        runs += [(fault, True, tool) for fault in faults for tool in TOOLS]
        for (fault, fixed, tool), seen in zip(runs, in_parallel(jobs, under_tool, runs), strict=True):
            if fixed:
                reported = None if seen is None else seen["reported"]
                entries[fault.name].setdefault("twin_reported", {})[tool] = reported
                if reported:
                    print(f"{fault.name}: {tool} on the twin: {seen['first']} {seen['places']}", flush=True)
            else:
                entries[fault.name][tool] = seen

    kept = json.loads(out.read_text())["faults"] if names and out.is_file() else {}
    document = {**machine(*NEEDED), "tools": TOOLS, "faults": dict(sorted({**kept, **entries}.items()))}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(document, indent=1) + "\n")
    summarise(entries)
    print(f"wrote {out} after {time.monotonic() - started:.0f} s")


def summarise(entries: dict[str, dict[str, Any]]) -> None:
    for name, entry in entries.items():
        if entry["skipped"]:
            verdict = f"skipped, {entry['skipped']}"
        else:
            mark = {True: "right line", False: "other line"}
            seen = [f"{tool}: {mark[entry[tool]['right_line']]}" for tool in TOOLS if entry[tool]["reported"]]
            verdict = ", ".join(seen) or "nothing reported"
            verdict += f" (result {entry['bare']['result']}, exit {entry['bare']['exit']})"
        twin = entry["twin"]
        noisy = [tool for tool, reported in entry.get("twin_reported", {}).items() if reported]
        trouble = [f"TWIN exit {twin['exit']} {twin}"] if twin["exit"] != 0 else []
        trouble += [f"TWIN reported by {', '.join(noisy)}"] if noisy else []
        print(f"{name:48} {verdict} {' '.join(trouble)}")


def main() -> int:
    parser = described_parser(__doc__)
    parser.add_argument("--hopper", action="store_true", help="the programs for sm_90a")
    parser.add_argument("--out", type=Path, help="another file than the one in benchmarks/data")
    parser.add_argument("--jobs", type=int, default=6, help="sanitizer runs at a time")
    parser.add_argument(
        "--limit", type=float, default=300, help="seconds after which no more corrected programs are checked"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these programs")
    arguments = parser.parse_args()
    faults, out = (hopper.hopper_faults(), hopper.RECORD) if arguments.hopper else (all_faults(), RECORD)
    if unknown := set(arguments.names) - {fault.name for fault in faults}:
        parser.error(f"there is no faulty program {', '.join(sorted(unknown))}")
    if problem := missing_tools(*NEEDED):
        print(problem, file=sys.stderr)
        return 2
    record(faults, arguments.out or out, arguments.jobs, arguments.limit, arguments.names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
