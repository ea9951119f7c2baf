"""Draws the charts of this folder from the files that are in it, into plots/.

    python -m benchmarks.bucketed.plots [--from FOLDER] [--out FOLDER]

accuracy.json gives accuracy.png, drift_DEVICE.json drift_DEVICE.png, latency_GPU.json three charts.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.bucketed import plot_accuracy, plot_drift, plot_latency
from benchmarks.bucketed.results import FOLDER, PLOTS

Draw = Callable[[Mapping[str, Any]], Any]  # a figure of a result
CHARTS: dict[str, dict[str, Draw]] = {
    "accuracy": {"": plot_accuracy.figure},
    "drift": {"": plot_drift.figure},
    "latency": {
        "_errors": plot_latency.error_figure,
        "_buckets": plot_latency.bucket_figure,
        "_bytes": plot_latency.byte_figure,
    },
}


def draw_all(source: Path, target: Path) -> Iterator[Path]:
    """The charts of all files in a folder."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    target.mkdir(exist_ok=True)
    for path in sorted(source.glob("*.json")):
        for suffix, draw in CHARTS.get(path.stem.partition("_")[0], {}).items():
            figure = draw(json.loads(path.read_text()))
            made = target / f"{path.stem}{suffix}.png"
            figure.savefig(made, dpi=110)
            pyplot.close(figure)
            yield made


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="source", metavar="FOLDER", type=Path, default=FOLDER)
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=PLOTS)
    arguments = parser.parse_args()
    for path in draw_all(arguments.source, arguments.out):
        print(f"written: {path}")


if __name__ == "__main__":
    main()
