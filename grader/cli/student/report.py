"""`./course report`: one HTML page from the grading records and the benchmarks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.paths import MEASURED
from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.course import student
from grader.records.record import Record
from grader.render.pages.report_page import report_page
from grader.words import numbers


def main(arguments: list[str]) -> int:
    parser = Parser("./course report", __doc__)
    add = parser.add_argument
    add("--grades", metavar="DIR", type=Path, default=shared.DEFAULT_GRADES, help="default: grades/")
    add("--benchmarks", metavar="DIR", type=Path, default=MEASURED, help="default: common/measured/")
    add("--output", metavar="FILE", type=Path, default=Path("report.html"), help="default: report.html")
    shared.add_json(parser)
    options = parser.parse_args(arguments)
    records = _records(options.grades)
    benchmarks = _benchmarks(options.benchmarks)
    if not records and not benchmarks:
        raise CourseError(
            f"there is nothing to report: no records in {options.grades / 'records'} (`./course grade DIR` "
            f"makes them) and no benchmarks in {options.benchmarks} (`./course bench` makes them)"
        )
    try:
        options.output.write_text(report_page(records, benchmarks), encoding="utf-8")
    except OSError as problem:
        raise CourseError(f"{options.output} cannot be written: {problem.strerror}") from problem
    if options.json:
        counts = {"records": len(records), "devices": len(benchmarks)}
        print(json.dumps({"output": str(options.output), **counts}, indent=1))
    else:
        counted = f"{numbers.counted(len(records), 'record')}, {numbers.counted(len(benchmarks), 'device')}"
        print(f"{student.shown(options.output)}: {counted}")
    return 0


def _records(folder: Path) -> list[Record]:
    """All readable records; an unreadable one is named and skipped."""
    records = []
    for path in sorted((folder / "records").glob("*/*.json")):
        try:
            records.append(Record.read(path))
        except CourseError as problem:
            print(f"note: {problem}", file=sys.stderr)
    return records


def _benchmarks(folder: Path) -> dict[str, dict[str, Any]]:
    """What `bench` wrote: other JSON files in the folder have no exercises."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_text())
        except (OSError, ValueError) as problem:
            print(f"note: {path} cannot be read: {problem}", file=sys.stderr)
            continue
        if isinstance(content, dict) and isinstance(content.get("exercises"), dict) and "device" in content:
            found[path.stem] = content
    return found
