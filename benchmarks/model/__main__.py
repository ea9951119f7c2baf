"""Modelled time against measured time, case by case.

    python -m benchmarks.model predict     on the virtual GPU, writes predicted_h200.json
    python -m benchmarks.model measure     on a GPU, writes measured_h200.json
    python -m benchmarks.model compare     prints how good the predictions are
    python -m benchmarks.model baselines   collects what the exercises' baselines took
    python -m benchmarks.model attention   models what 04 to 06 were measured at, for their margins
    python -m benchmarks.model document    writes the tables of docs/cost-model.md from all of them

Predictions are written and committed before anything is measured.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.model import compare, document
from benchmarks.model.document import FOLDER
from common.core.errors import CourseError
from grader.timing.modelled.baselines import baselines
from grader.timing.modelled.margin import compared


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.model",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "verb", choices=("predict", "measure", "compare", "baselines", "attention", "document")
    )
    parser.add_argument("--profile", default="h200", help="the device, as profiles.json names it")
    parser.add_argument("--only", default="", metavar="TEXT", help="predict cases whose name contains this")
    parser.add_argument("--repeats", type=int, default=60, help="measure each case this many times")
    parser.add_argument("--output", type=Path, help="another file than the one in benchmarks/data/model")
    arguments = parser.parse_args()
    predicted = FOLDER / f"predicted_{arguments.profile}.json"
    measured = FOLDER / f"measured_{arguments.profile}.json"
    try:
        if arguments.verb == "predict":
            # Imported here: a machine that measures need not be able to model, and vice versa.
            from benchmarks.model.predict import predict

            _write(arguments.output or predicted, predict(arguments.profile, arguments.only))
        elif arguments.verb == "measure":
            from benchmarks.model.measure import measure

            _write(arguments.output or measured, measure(arguments.repeats))
        elif arguments.verb == "baselines":
            from benchmarks.model.baselines import collect

            path = arguments.output or baselines(arguments.profile)
            path.write_text(json.dumps(collect(arguments.profile), indent=1) + "\n")
        elif arguments.verb == "attention":
            from benchmarks.model.attention import compare as compare_attention

            table = compare_attention(arguments.profile)
            (arguments.output or compared(arguments.profile)).write_text(json.dumps(table, indent=1) + "\n")
        elif arguments.verb == "document":
            document.PAGE.write_text(document.remade(document.PAGE.read_text()))
        else:
            print(compare.text(_read(predicted, "predict"), _read(measured, "measure")))
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _write(path: Path, figures: dict[str, Any]) -> None:
    cases = ",\n".join("  " + json.dumps(case) for case in figures["cases"])
    head = "".join(f" {json.dumps(key)}: {json.dumps(figures[key])},\n" for key in figures if key != "cases")
    path.write_text("{\n" + head + ' "cases": [\n' + cases + "\n ]\n}\n")
    print(f"{len(figures['cases'])} cases: {path}")


def _read(path: Path, verb: str) -> dict[str, Any]:
    if not path.is_file():
        raise CourseError(f"{path.name} does not exist: `python -m benchmarks.model {verb}` writes it")
    figures: dict[str, Any] = json.loads(path.read_text())
    return figures


if __name__ == "__main__":
    sys.exit(main())
