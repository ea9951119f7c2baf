"""The cases of cases.txt, their record, and how to get the answers of a device."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
PROGRAM = FOLDER / "probe.cu"
CASES = FOLDER / "cases.txt"
RECORD = FOLDER.parents[1] / "data" / "virtual_gpu" / "tensor_maps_h200.json"
CRASH = "crash"  # the driver ends the process


@dataclass(frozen=True)
class Answered:
    """A case and what came of it, such as "encode 1", "error 715", "256 bytes: 0-15" or "stored: 0<-0*16"."""

    case: str
    answer: str

    @property
    def fails(self) -> bool:
        """It ended the context, so that no other case ran in its process."""
        return self.answer.startswith("error")

    @property
    def counted(self) -> str:
        """The case with the bytes that came, which a barrier then expects."""
        bytes_, word, _ = self.answer.partition(" bytes:")
        return f"{self.case} expect={bytes_}" if word else self.case


def cases() -> list[str]:
    lines = CASES.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def recorded() -> list[Answered]:
    return [Answered(case, answer) for case, answer in json.loads(RECORD.read_text())["cases"].items()]


def answers(run: Callable[[Path, int], str], asked: Sequence[str], folder: Path) -> Iterator[str]:
    """What the program says of each case; `run` starts it with a file of cases from a place on, and gives its
    output. It is started again after each case that ended it."""
    path = folder / "cases.txt"
    path.write_text("".join(f"{case}\n" for case in asked))
    at = 0
    while at < len(asked):
        lines = [line.split(" ", 1) for line in run(path, at).splitlines()]
        said = {int(number): answer for number, answer in lines}
        while at in said:
            yield said[at]
            at += 1
        if at < len(asked) and not (said and said[at - 1].startswith("error")):
            yield CRASH
            at += 1
