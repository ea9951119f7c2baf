"""Random kernels on a GPU, which makes the record, or on the virtual GPU, which is compared with it.

    python -m benchmarks.virtual_gpu.random_kernels --device gpu --count 4000   # writes the record
    python -m benchmarks.virtual_gpu.random_kernels --count 200                 # compares
    python -m benchmarks.virtual_gpu.random_kernels --show 17                   # one kernel's source

On a GPU it needs nvcc and nvidia-smi. With another seed than the record's, the virtual GPU's digests are
printed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from benchmarks.virtual_gpu.machine import machine, missing_tools
from benchmarks.virtual_gpu.random_kernels.devices import RunFailed, run_on_gpu, run_on_virtual_gpu
from benchmarks.virtual_gpu.random_kernels.exceptions import exception
from benchmarks.virtual_gpu.random_kernels.kernels import KERNELS_PER_FILE, file_text
from benchmarks.virtual_gpu.random_kernels.records import (
    RECORD,
    KernelFile,
    Record,
    read_record,
    write_record,
)
from grader.records.device_info import KINDS, VIRTUAL, DeviceInfo

SEED = 20261118


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.virtual_gpu.random_kernels",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--device", choices=KINDS, default=VIRTUAL)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=KERNELS_PER_FILE, help="kernels, in whole files")
    parser.add_argument("--first", type=int, default=0, help="leave out the kernels before this one")
    parser.add_argument("--record", type=Path, default=RECORD, metavar="FILE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="files at once")
    parser.add_argument("--options", default="", help='of the virtual GPU, as in VGPU_OPTIONS: "threads=1"')
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print a program with this kernel alone")
    arguments = parser.parse_args()
    if arguments.show is not None:
        print(file_text(arguments.seed, [arguments.show]), end="")
        return 0
    first = arguments.first // KERNELS_PER_FILE
    places = range(first, first + -(-arguments.count // KERNELS_PER_FILE))
    files = [KernelFile(arguments.seed, place) for place in places]
    if DeviceInfo(arguments.device, "").modelled:
        return _compare(files, arguments.record, arguments.jobs, arguments.options)
    return _record(files, arguments.record, arguments.jobs)


def _record(files: list[KernelFile], path: Path, jobs: int) -> int:
    if problem := missing_tools("nvcc"):
        print(problem, file=sys.stderr)
        return 2
    if files[0].place != 0:
        print("a record begins with kernel 0: leave --first out", file=sys.stderr)
        return 2
    started = time.monotonic()
    with ThreadPoolExecutor(jobs) as pool:
        digests = list(pool.map(run_on_gpu, files))
    rows = [(file.digest, row) for file, row in zip(files, digests, strict=True)]
    write_record(Record(files[0].seed, rows, machine("nvcc")), path)
    kernels = sum(len(row) for row in digests)
    print(f"{kernels} kernels; wrote {path} ({time.monotonic() - started:.0f} s)")
    return 0


def _compare(files: list[KernelFile], path: Path, jobs: int, options: str) -> int:
    record = read_record(path) if path.is_file() else None
    if record is not None and record.seed != files[0].seed:
        record = None
    different = excepted = failed = kernels = 0
    with ThreadPoolExecutor(jobs) as pool:
        for file, got in zip(files, pool.map(partial(_run_or_reason, options=options), files), strict=True):
            if isinstance(got, str):
                print(f"FAILED file {file.place}: {got}", flush=True)
                failed += 1
                continue
            kernels += len(got)
            want = record.expected(file) if record else got
            for number, mine, theirs in zip(file.numbers, got, want, strict=True):
                if record is None:
                    print(number, mine)
                elif mine != theirs and exception(file.seed, number):
                    excepted += 1
                elif mine != theirs:
                    print(
                        f"kernel {number}: {mine} here, {theirs} on the {record.machine['gpu']}", flush=True
                    )
                    different += 1
    said = f"{different} differ from the record, and {excepted} that are known to"
    if record is None:
        said = "no record of this seed to compare with"
    print(f"{kernels} kernels ran, {said}, {failed} files failed")
    return 1 if different or failed else 0


def _run_or_reason(file: KernelFile, options: str) -> list[str] | str:
    try:
        return run_on_virtual_gpu(file, options)
    except (RunFailed, ValueError) as problem:
        return str(problem)


if __name__ == "__main__":
    sys.exit(main())
