"""The faulty programs of this folder and their markers.

A program shows one mistake; -DFIXED builds the corrected version. Markers, as comments in the source:

    // expect: KIND     at the end of the line that the finding must name (where several are marked, any one)
    // other: KIND      the other side of a race, or of an overwritten stage
    // hangs            never ends on a GPU
    // segfaults        dies on a GPU machine, as it should
    // wrong-result     no finding; the printed result must be wrong
"""

import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks import DATA

FOLDER = Path(__file__).resolve().parent
RECORD = DATA / "virtual_gpu" / "sanitizer_h200.json"

_EXPECT = re.compile(r"// expect: (\w+)")
_OTHER = re.compile(r"// other: (\w+)")


@dataclass(frozen=True)
class Fault:
    path: Path
    kinds: frozenset[str]
    lines: frozenset[int]
    other_lines: frozenset[int]
    hangs: bool
    segfaults: bool
    wrong_result: bool

    @property
    def name(self) -> str:
        return self.path.stem


def _marked(source: list[str], marker: re.Pattern[str]) -> list[tuple[int, str]]:
    found = ((number, marker.search(line)) for number, line in enumerate(source, start=1))
    return [(number, match[1]) for number, match in found if match]


def read_fault(path: Path) -> Fault:
    source = path.read_text().splitlines()
    expected = _marked(source, _EXPECT)
    fault = Fault(
        path=path,
        kinds=frozenset(kind for _, kind in expected),
        lines=frozenset(line for line, _ in expected),
        other_lines=frozenset(line for line, _ in _marked(source, _OTHER)),
        hangs="// hangs" in source,
        segfaults="// segfaults" in source,
        wrong_result="// wrong-result" in source,
    )
    if (len(fault.kinds) == 1) == fault.wrong_result:
        raise ValueError(
            f"{path.name}: the markers name the kinds {sorted(fault.kinds)}; a program needs exactly one "
            "kind in its '// expect: KIND' comments, or '// wrong-result' and none"
        )
    return fault


def all_faults() -> list[Fault]:
    return [read_fault(path) for path in sorted(FOLDER.glob("*.cu"))]
