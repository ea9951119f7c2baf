"""Run tests in several processes where pytest-xdist is missing, such as a GPU machine without a network.

    python -m tests.in_processes 8 LOGS tests/gpu/test_attacks.py -k "not cheat"

Tests are dealt out one by one. LOGS gets a file for each process; what is printed are the last line of each,
the tests that failed and the sum. Reports of a sanitizer (VGPU_SANITIZER) are counted, too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

_OUTCOMES = re.compile(r"(\d+) (passed|failed|skipped|errors?|xfailed|xpassed)\b")
_REPORT = re.compile(r"(?:ERROR|WARNING): \w+Sanitizer|runtime error: ")
_PYTEST = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


def collected(arguments: Sequence[str]) -> list[str]:
    command = [*_PYTEST, "--collect-only", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout[-4000:] + done.stderr[-4000:])
    return [line for line in done.stdout.splitlines() if "::" in line and not line.startswith(" ")]


def run(processes: int, logs: Path, tests: Sequence[str]) -> Counter[str]:
    """How many tests passed, failed and so on, and how many reports of a sanitizer there are."""
    logs.mkdir(parents=True, exist_ok=True)
    started = []
    for number in range(min(processes, len(tests))):
        arguments = logs / f"tests_{number}.txt"
        arguments.write_text("\n".join(tests[number::processes]))
        with (logs / f"log_{number}.txt").open("w") as log:
            command = [*_PYTEST, "--tb=short", "--durations=5", f"@{arguments}"]
            started.append(subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT))
    for process in started:
        process.wait()
    counts: Counter[str] = Counter()
    for number in range(len(started)):
        text = (logs / f"log_{number}.txt").read_text(errors="replace")
        last = text.rstrip().splitlines()[-1] if text.strip() else "nothing"
        print(f"process {number}: {last}")
        print(*(line for line in text.splitlines() if line.startswith(("FAILED", "ERROR"))), sep="\n", end="")
        counts.update({outcome: int(count) for count, outcome in _OUTCOMES.findall(last)})
        counts["sanitizer reports"] += len(_REPORT.findall(text))
    return counts


if __name__ == "__main__":
    os.environ.setdefault("COURSE_JOBS", "1")
    wanted = collected(sys.argv[3:])
    result = run(int(sys.argv[1]), Path(sys.argv[2]), wanted)
    print(f"{len(wanted)} tests: {', '.join(f'{count} {name}' for name, count in sorted(result.items()))}")
    sys.exit(bool(result["failed"] or result["error"] or result["errors"] or result["sanitizer reports"]))
