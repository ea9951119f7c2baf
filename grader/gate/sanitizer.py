"""NVIDIA's compute-sanitizer over calls of a library, if it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from common.core.paths import REPOSITORY
from common.core.progress import Notify
from grader.bench import one_call
from grader.gate.measured import MEMCHECK, RACECHECK, Look
from grader.spec import Case, Exercise

TOOLS = (MEMCHECK, RACECHECK)
# torch makes API calls that may fail and handles that; only errors of kernels count.
_OPTIONS = {MEMCHECK: ("--report-api-errors", "no"), RACECHECK: ()}
_FOUND = 9  # the exit status for findings
_SECONDS = 180
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")
_OWN_LINE = "========= "


def installed() -> bool:
    return shutil.which("compute-sanitizer") is not None


def absent(why: str) -> list[Look]:
    return [Look(tool, lack=why) for tool in TOOLS]


def look(exercise: Exercise, cases: Sequence[Case], library: Path, notify: Notify) -> list[Look]:
    if not installed():
        return absent("compute-sanitizer is not installed")
    looks = []
    for tool in TOOLS:
        results = [_look(exercise, case, library, tool, notify) for case in cases]
        found = [found for found, _ in results if found]
        looks.append(Look(tool, len(cases), found, next((lack for _, lack in results if lack), "")))
    return looks


def _look(exercise: Exercise, case: Case, library: Path, tool: str, notify: Notify) -> tuple[str, str]:
    notify(f"{tool} at {case.name}")
    command = ["compute-sanitizer", "--tool", tool, *_OPTIONS[tool], "--error-exitcode", str(_FOUND)]
    command += one_call.command(exercise.id, case, library)
    try:
        done = subprocess.run(
            command, cwd=REPOSITORY, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return "", f"compute-sanitizer did not end: {problem}"
    return judge(case.name, done.returncode, done.stdout + done.stderr)


def judge(case: str, status: int, output: str) -> tuple[str, str]:
    """The first finding, or why it could not look; both empty when there is neither."""
    own = [line.removeprefix(_OWN_LINE).strip() for line in output.splitlines() if line.startswith(_OWN_LINE)]
    summary = _SUMMARY.search("\n".join(own))
    if summary is None:
        last = next((line for line in reversed(output.splitlines()) if line.strip()), "it printed nothing")
        return "", f"compute-sanitizer did not run: {last.strip()}"
    if int(summary[1]) or status == _FOUND:
        first = next((line for line in own if line and "COMPUTE-SANITIZER" not in line), "")
        return f"{case}: {first}", ""
    return ("", "") if status == 0 else ("", f"the call under compute-sanitizer ended with status {status}")
