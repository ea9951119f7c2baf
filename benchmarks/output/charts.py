"""Draws charts from the files of a folder, as the folder's own table lists them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.output.options import described_parser

Draw = Callable[[Mapping[str, Any]], Any]  # a figure of a result
# By the first word of a file's name, then by the end of the chart's.
Charts = Mapping[str, Mapping[str, Draw]]


def draw_all(charts: Charts, source: Path, target: Path) -> Iterator[Path]:
    """The charts of all files in a folder."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    target.mkdir(exist_ok=True)
    for path in sorted(source.glob("*.json")):
        for suffix, draw in charts.get(path.stem.partition("_")[0], {}).items():
            figure = draw(json.loads(path.read_text()))
            made = target / f"{path.stem}{suffix}.png"
            figure.savefig(made, dpi=110)
            pyplot.close(figure)
            yield made


def command(description: str | None, charts: Charts, folder: Path) -> None:
    """The command that draws the files of `folder` (--from) into its plots/ (--out)."""
    parser = described_parser(description)
    parser.add_argument("--from", dest="source", metavar="FOLDER", type=Path, default=folder)
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=folder / "plots")
    arguments = parser.parse_args()
    for path in draw_all(charts, arguments.source, arguments.out):
        print(f"written: {path}")
