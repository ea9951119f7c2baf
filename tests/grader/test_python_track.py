"""Submissions in Python, without a GPU: tensors on the CPU in a worker, raw memory compared here."""

from __future__ import annotations

import dataclasses
import importlib.util
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY
from grader.classes.submissions import find_submissions
from grader.pipeline.grading import grade
from grader.records.record import Record
from grader.spec import case
from tests.grader.stepped_exercise import EXERCISE, FOLDER

FILES = FOLDER / "python"
WHOLE = dataclasses.replace(EXERCISE, steps=())
HAS_TRITON = importlib.util.find_spec("triton") is not None


def graded(source: Path) -> Record:
    return grade(WHOLE, source, submission="x", device="virtual", quick=True)


def written(folder: Path, text: str) -> Path:
    source = folder / "kernel.py"
    source.write_text(text)
    return source


def test_a_right_file_without_a_triton_kernel_earns_its_answers_alone():
    record = graded(FILES / "torch_copies.py")
    assert {part.name: part.points for part in record.parts} == {"correct": 40, "mechanism": 0, "speed": 0}
    assert record.max_points == 80
    assert record.verdict == "correct, not as asked"
    assert all("no Triton kernel is launched" in part.message for part in record.parts[1:])
    assert record.file == "kernel.py"


HOME_MADE = """
import torch

def jit(function):
    class Kernel:
        def __getitem__(self, grid):
            return lambda *arguments: None
    return Kernel()

@jit
def nothing(x):
    pass

def copy_many(rows, count):
    nothing[(1,)](0)
    for source, target, elements in rows[:count]:
        target[:elements] = source[:elements]
    return 0 if count <= 4 else 1
"""
REAL = HOME_MADE.replace(
    HOME_MADE[HOME_MADE.index("def jit") : HOME_MADE.index("@jit")], "from triton import jit\n"
)
# What hostile Python around a kernel tries in order to write the answer itself.
WRITES = {
    "opening the memory again": """
    import mmap, os
    for name in os.listdir("/proc/self/fd"):
        try:
            with mmap.mmap(os.open(f"/proc/self/fd/{name}", os.O_RDWR), 0) as memory:
                memory[:] = bytes(len(memory))
        except (OSError, ValueError):
            pass
""",
    "mapping it shared": """
    import mmap, os
    for number in range(3, 64):
        try:
            with mmap.mmap(number, os.fstat(number).st_size) as memory:
                memory[:] = bytes(len(memory))
        except (OSError, ValueError):
            pass
""",
    "giving itself the right": """
    import os
    for number in range(3, 64):
        try:
            os.fchmod(number, 0o600)
        except OSError:
            continue
""",
}


@pytest.mark.parametrize("text", [HOME_MADE, REAL], ids=["a decorator of one's own", "triton.jit"])
def test_torch_beside_a_kernel_that_does_nothing_earns_nothing(tmp_path: Path, text: str):
    """Must not earn: any point. In a file with kernels, kernels must make the answer."""
    record = graded(written(tmp_path, text))
    assert record.points == 0
    if HAS_TRITON or text == HOME_MADE:
        assert record.verdict == "wrong answer", record.cases[0].message
        assert "only what kernels store counts" in record.cases[0].message


@pytest.mark.parametrize("name", WRITES)
def test_code_around_kernels_cannot_write_their_memory(tmp_path: Path, name: str):
    """Must not earn: any point."""
    attempt = HOME_MADE.replace("    nothing[(1,)](0)\n", f"    nothing[(1,)](0)\n{WRITES[name]}")
    record = graded(written(tmp_path, attempt))
    assert (record.verdict, record.points) == ("wrong answer", 0)
    assert "Nothing was written" in record.cases[0].message


@pytest.mark.skipif(not HAS_TRITON, reason="needs triton")
def test_triton_kernels_are_interpreted():
    record = graded(FILES / "triton_rows.py")
    assert record.verdict == "correct, speed not measured", record.cases
    assert record.flags == []


@pytest.mark.skipif(HAS_TRITON, reason="triton is installed here")
def test_where_triton_is_missing_one_sentence_says_so():
    record = graded(FILES / "triton_rows.py")
    assert record.verdict == "cannot be loaded"
    assert record.cases[0].message.startswith("it imports triton, which is not installed here")


@pytest.mark.parametrize(
    ("cheat", "words"),
    [("t3_lazy_objects", "Nothing was written"), ("h4_patched_comparison", "had to be written is zero")],
)
def test_what_python_makes_of_tensors_and_comparisons_stays_in_the_worker(cheat: str, words: str):
    record = graded(FILES / f"{cheat}.py")
    assert record.points == 0
    assert record.verdict == "wrong answer"
    assert words in record.cases[0].message


def test_patched_timers_earn_nothing():
    assert graded(FILES / "t4_patched_timers.py").points == graded(FILES / "torch_copies.py").points


@pytest.mark.parametrize(
    ("text", "verdict", "words"),
    [
        ("def copy_many(rows, count)\n", "cannot be loaded", "kernel.py:1: expected ':'"),
        (
            "1 / 0\n",
            "cannot be loaded",
            "importing it raised ZeroDivisionError: division by zero (kernel.py:1)",
        ),
        ("import no_such_module\n", "cannot be loaded", "imports no_such_module, which is not installed"),
        ("x = 1\n", "raises an exception", "there is no function copy_many in kernel.py"),
        (
            "def copy_many(rows, count):\n    return rows[99]\n",
            "raises an exception",
            "copy_many raised IndexError: list index out of range (kernel.py:2)",
        ),
        ("import sys\ndef copy_many(rows, count):\n    sys.exit(0)\n", "crashes", "status 0"),
        (
            f"TEXT = open({str(REPOSITORY / 'README.md')!r}).read()\n",
            "cannot be loaded",
            "raised PermissionError",
        ),
        (
            "import os\ndef copy_many(rows, count):\n    os.system('true')\n    os.fork()\n",
            "raises an exception",
            "PermissionError",
        ),
    ],
)
def test_failures_are_reported_with_their_line(tmp_path: Path, text: str, verdict: str, words: str):
    record = graded(written(tmp_path, text))
    assert record.verdict == verdict, record.cases[0].message
    assert words in record.cases[0].message
    assert record.points == 0


def test_an_exercise_without_a_track_takes_no_python():
    exercise = dataclasses.replace(WHOLE, python=None)
    record = grade(exercise, FILES / "torch_copies.py", submission="x", device="virtual")
    assert (record.verdict, record.points) == ("takes no Python", 0)


def test_a_python_file_is_found_where_there_is_no_cuda(tmp_path: Path):
    for student, names in {"ann": ("kernel.py",), "bob": ("kernel.py", "kernel.cu")}.items():
        folder = tmp_path / "class" / student / "01_steps"
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).write_text("x")
    found = find_submissions([tmp_path / "class"], ["01_steps"], exercise=None, scratch=tmp_path)
    assert [(s.student, s.source.name) for s in found.submissions] == [
        ("ann", "kernel.py"),
        ("bob", "kernel.cu"),
    ]


# The code around kernels makes the answer itself and gives it to a kernel, which only stores it.
PASSES_THE_ANSWER = """
import torch
import triton
import triton.language as tl

@triton.jit
def store(target, at, value):
    tl.store(target + at, value)

@triton.jit
def store_all(target, values, count, SIZE: tl.constexpr):
    for i in tl.static_range(SIZE):
        tl.store(target + i, values[i], mask=i < count)

@triton.jit
def store_from(target, table, count, SIZE: tl.constexpr):
    at = tl.arange(0, SIZE)
    tl.store(target + at, tl.load(table + at, mask=at < count), mask=at < count)

@triton.jit
def store_bits(target, BITS: tl.constexpr, SIZE: tl.constexpr):
    for i in tl.static_range(SIZE):
        tl.store(target + i, (BITS >> (32 * i)) & 0x7FFFFFFF)

def copy_many(rows, count):
    if count > 4:
        return 1
    for source, target, elements in rows[:count]:
        HERE
    return 0
"""
AS_PARAMETERS = {
    "a launch for each number": "for i in range(elements): store[(1,)](target, i, int(source[i]))",
    "a tuple of numbers": (
        "store_all[(1,)](target, tuple(map(int, source[:elements])), elements, SIZE=elements)"
    ),
    "a small tensor": "store_from[(1,)](target, source[:128].clone(), elements, SIZE=128)",
    "one large number": (
        "store_bits[(1,)](target, sum(int(x) << (32 * i) for i, x in enumerate(source[:elements])), "
        "SIZE=elements)"
    ),
    # What a kernel saw comes back in a tensor of the host's, and goes to the next one by value.
    "read by a kernel first": (
        "seen = torch.zeros(128, dtype=torch.int32); store_from[(1,)](seen, source, elements, SIZE=128); "
        "store_from[(1,)](target, seen.clone() + 0, elements, SIZE=128)"
    ),
}


@pytest.mark.skipif(not HAS_TRITON, reason="needs triton")
@pytest.mark.parametrize("way", AS_PARAMETERS)
def test_answers_that_come_as_parameters_earn_nothing(tmp_path: Path, way: str):
    """Must not earn: any point. The code around kernels has other values in the tensors than kernels have."""
    cases = (case("ten elements", n=10, copies=1),)
    small = dataclasses.replace(WHOLE, cases=cases, hidden=lambda rng: [case("hidden 1", n=9, copies=2)])
    source = written(tmp_path, PASSES_THE_ANSWER.replace("HERE", AS_PARAMETERS[way]))
    record = grade(small, source, submission="x", device="virtual", quick=True)
    assert (record.verdict, record.points) == ("wrong answer", 0), record.cases[0].message


TWO_KERNELS = (
    PASSES_THE_ANSWER.replace("HERE", "through(source, target, elements)")
    + """
TILE = 256

@triton.jit
def move(source, target, count, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(target + at, tl.load(source + at, mask=at < count), mask=at < count)

def through(source, target, elements):
    between = torch.empty(max(1, elements), dtype=torch.int32)
    grid = (triton.cdiv(elements, TILE),)
    if elements:
        move[grid](source, between, elements, TILE=TILE)
        move[grid](between, target, elements, TILE=TILE)
"""
)


@pytest.mark.skipif(not HAS_TRITON, reason="needs triton")
def test_kernels_may_pass_each_other_results_in_tensors_of_the_file(tmp_path: Path):
    record = graded(written(tmp_path, TWO_KERNELS))
    assert record.verdict == "correct, speed not measured", record.cases[0].message
