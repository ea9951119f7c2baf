"""`./course release DIR`: write what students get into a new folder: notebooks with their starters, the
exercises, the grader and the virtual GPU; no solutions, mark schemes, tests or settings of the class."""

from __future__ import annotations

from pathlib import Path

from common.build.engine.prebuilt import PREBUILT
from grader.cli.parser import Parser
from grader.nbgrader.bundle import write_bundle


def main(arguments: list[str]) -> int:
    parser = Parser("./course release", __doc__)
    parser.add_argument("folder", metavar="DIR", type=Path, help="new, or empty")
    parser.add_argument(
        "--with-engine", action="store_true", help="add the virtual GPU prebuilt: students need not build it"
    )
    options = parser.parse_args(arguments)
    files = write_bundle(options.folder, with_engine=options.with_engine)
    size = sum(path.stat().st_size for path in files)
    print(f"{len(files):,} files, {size / 1e6:.1f} MB in {options.folder}")
    if options.with_engine:
        variants = sorted(path.name for path in (options.folder / PREBUILT.name).iterdir())
        print(f"The virtual GPU is prebuilt for {', '.join(variants)}; other machines build it themselves.")
    print("Hand out the folder as it is, or as a zip: it needs nothing else.")
    return 0
