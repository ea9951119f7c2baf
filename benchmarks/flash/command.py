"""The command line of a measurement on a GPU that saves its results after every shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.flash.results import FOLDER
from benchmarks.output.files import described, device_stem, save
from benchmarks.output.options import described_parser
from common.gpu.clocks import exclusive

Keep = Callable[[Mapping[str, Any]], None]


def command(
    description: str | None,
    stem: str,
    measure: Callable[[bool, Keep], None],
    folder: Path = FOLDER,
) -> None:
    """Runs `measure` with two arguments: whether to be quick, and a function that saves all results so far to
    STEM_GPU.json."""
    parser = described_parser(description)
    parser.add_argument("--quick", action="store_true", help="small shapes, few samples, and no file")
    parser.add_argument("--out", type=Path, default=folder, help="the folder of the file")
    arguments = parser.parse_args()
    about = described(on_gpu=True)
    path = arguments.out / f"{stem}_{device_stem(on_gpu=True)}.json"

    def keep(result: Mapping[str, Any]) -> None:
        if not arguments.quick:
            save(path, {**about, **result})

    with exclusive():
        measure(arguments.quick, keep)
    if not arguments.quick:
        print(f"written: {path}")
