"""The commands that a student's texts name, and what each does with the starters: in a table, as the texts
have them. A reason in place of an outcome says why no test runs it so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common.core.paths import REPOSITORY

_COMMAND = re.compile(r"(?:\./|(?:\.\./)+)course [^`\n]+|python test\.py|python -m benchmarks[^`\n]*")
_END = re.compile(r"\s+#|\s{2,}|\s&&\s")  # a comment, the next column of a table, the next command


@dataclass(frozen=True)
class Run:
    """In a bundle where every exercise has been started: the exit status, and words of the output."""

    status: int
    words: str
    folder: str = "."


UNWRITTEN = Run(1, "nothing is written yet")
NAMED = "a text names the command and does not ask for it"
SLOW = "takes many minutes: {} runs it with less work"
GPU = "measures on a GPU: tests/gpu runs it there"
EXERCISES = ("01", "02", "03", "04", "05", "06")
_WORK = "work/05_flash_attention"

COMMANDS: dict[str, Run | str] = {
    "./course list": Run(0, "`./course start NN` starts one"),
    **{f"./course start {number}": Run(0, f"work/{number}_") for number in EXERCISES},
    **{f"./course check {number}": UNWRITTEN for number in EXERCISES},
    **{f"./course check {number} --step 1": UNWRITTEN for number in ("02", "04", "05", "06")},
    **{f"./course profile {number}": Run(0, "modelled") for number in EXERCISES if number != "03"},
    "./course profile 03": Run(0, "nothing to count"),  # its starter launches nothing
    **{f"./course hint {number}": Run(0, "Hint 1 of") for number in EXERCISES},
    "python test.py": Run(1, "nothing is written yet", "work/01_kv_store"),
    "./course lab 05": Run(0, "Faults, some of which are in no kernel"),
    "./course lab 05 ANSWERS.toml": Run(0, "0 of 7 kernels"),
    "./course lab 05 mine.cu": Run(0, "answer  "),
    f"./course lab 05 {_WORK}/answers.toml": Run(0, "0 of 7 kernels"),
    "./course lab 06": Run(0, "Faults, some of which are in no kernel"),
    "./course lab 06 ANSWERS.toml": Run(0, "0 of 7 kernels"),
    "./course lab 06 mine.cu": "mine.cu is a copy of one of 05's kernels: test_lab.py runs one of 06's",
    "./course lab 06 work/06_hopper_attention/answers.toml": "the same with another path",
    "./course run FILE.cu": Run(0, "hello"),
    f"./course run {_WORK}/scores.cu -I common/cuda": Run(0, "returned 0 (no error)"),
    "./course measure 03": Run(0, "written to work/03_batched_copy/measurement.json"),
    "./course measure 03 --step-us 500": "the same with another option",
    "./course answers 03 work/03_batched_copy/faults.py": Run(0, "of 5 right"),
    "./course answers 03 work/03_batched_copy/answers.toml": "needs measurement.json; "
    "tests/exercises/03_batched_copy/test_answers.py grades answers",
    "./course answers 03 FILE": NAMED,
    "./course check 03 work/03_batched_copy/kernel.py": "needs Triton and a GPU: tests/gpu",
    "./course notebook 00": "takes over the terminal: tests/browser opens it",
    "./course notebook 01": "takes over the terminal: tests/browser opens it, tests/nbgrader makes the copy",
    "./course notebook 06": "takes over the terminal: tests/notebooks runs its cells",
    f"./course tune 05 {_WORK}/kernel.cu": SLOW.format("tests/grader/test_tuning_verb.py"),
    f"./course gate 05 {_WORK}/kernel.cu": SLOW.format("tests/exercises/05_flash_attention/test_gate.py"),
    **{f"./course bench {number}": GPU for number in ("02", "04", "05")},
    "python -m benchmarks.copies.decode_step": GPU,
    "./course gate 05": Run(2, "name your own file after the exercise"),
    "./course answers": NAMED,
    "./course tune 05 FILE": NAMED,
    "./course grade": NAMED,
}


def texts() -> Iterator[str]:
    """What students read: their part of the front page, their own page, statements and notebooks."""
    front = (REPOSITORY / "README.md").read_text()
    yield front[front.index("| a student |") : front.index("| an instructor |")]
    yield (REPOSITORY / "docs" / "for-students.md").read_text()
    for statement in sorted((REPOSITORY / "exercises").glob("*/**/README.md")):
        yield statement.read_text()
    for notebook in sorted((REPOSITORY / "notebooks").glob("*/*.ipynb")):
        cells = json.loads(notebook.read_text())["cells"]
        yield "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def named_commands() -> set[str]:
    return {_END.split(found.strip())[0] for text in texts() for found in _COMMAND.findall(text)}


def put_what_commands_name(bundle: Path) -> None:
    """The files that the texts tell a student to make."""
    lab = bundle / "exercises" / "05_flash_attention" / "lab"
    (bundle / "FILE.cu").write_text('#include <cstdio>\nint main() { std::puts("hello"); }\n')
    (bundle / "mine.cu").write_bytes((lab / "one.cu").read_bytes())
    for sheet in (bundle / "ANSWERS.toml", bundle / _WORK / "answers.toml"):
        sheet.write_bytes((lab / "answers.toml").read_bytes())
