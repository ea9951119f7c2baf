"""Other ways to write exercise 03 give the same answer: with torch, and in Triton with its interpreter."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from common.core.errors import CourseError
from grader.answers.compare import expected, same_buffers
from grader.pipeline.grading import grade
from grader.spec import At, Call, Case, HostTable, registry
from grader.spec.random_inputs import Random

EXERCISE = registry.find("03")
alternatives = importlib.import_module("exercise_03_batched_copy.alternatives")
batches = importlib.import_module("exercise_03_batched_copy.batches")
SMALL = [case for case in EXERCISE.cases if not case.gpu_only and EXERCISE.bytes_moved(case.size) < 1 << 20]
ANSWERED = [case for case in SMALL if not batches.batch_of(case.size).refused]
WITH_TORCH = (alternatives.COPIES, alternatives.FOREACH, alternatives.CAT)


def made(case: Case) -> Call:
    return EXERCISE.inputs(case.size, Random(f"the values of {case.name}"))


@pytest.mark.parametrize("name", WITH_TORCH)
def test_torch_gives_the_same_answer(name: str) -> None:
    for case in ANSWERED:
        call = made(case)
        wanted = expected(EXERCISE, case.size, call)
        if (
            name == alternatives.CAT
            and len({copy.element_size for copy in batches.batch_of(case.size).copies}) > 1
        ):
            continue  # of one dtype only
        EXERCISE.alternatives[name](case.size, call.buffers)
        assert same_buffers(call.buffers, wanted), case.name


def test_every_bench_case_has_one_dtype_so_that_cat_can_be_measured() -> None:
    for case in EXERCISE.bench:
        assert {copy.element_size for copy in batches.batch_of(case.size).copies} == {4}


def test_a_flat_copy_moves_as_many_bytes_and_is_a_yardstick() -> None:
    (case, call) = (EXERCISE.bench[0], made(EXERCISE.bench[0]))
    before = {name: values.clone() for name, values in call.buffers.items()}
    EXERCISE.yardsticks[alternatives.FLAT](case.size, call.buffers)
    assert same_buffers(call.buffers, before)
    assert alternatives.FLAT not in EXERCISE.alternatives


def test_without_triton_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, "exercise_03_batched_copy.triton_kernels", raising=False)
    case = EXERCISE.bench[0]
    with pytest.raises(
        CourseError,
        match="written in Triton, which is not installed: `.venv/bin/pip install -r requirements/triton.txt`",
    ):
        EXERCISE.alternatives[alternatives.TRITON_ONE_LAUNCH](case.size, made(case).buffers)


@pytest.fixture
def interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton on CPU tensors, if it is installed."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    pytest.importorskip("triton", reason="Triton is not installed")


def loaded(path: Path) -> ModuleType:
    """A file of its own, whose kernels are made anew for the interpreter."""
    spec = importlib.util.spec_from_file_location(f"triton_{path.parent.parent.name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.usefixtures("interpreter")
@pytest.mark.parametrize("way", ["copy_each", "copy_in_one_launch"])
def test_triton_gives_the_same_answer(way: str) -> None:
    module = loaded(EXERCISE.folder / "triton_kernels.py")
    for case in ANSWERED:
        call = made(case)
        wanted = expected(EXERCISE, case.size, call)
        getattr(module, way)(alternatives.pairs(case.size, call.buffers))
        assert same_buffers(call.buffers, wanted), case.name


def answer(module: ModuleType, call: Call) -> int:
    """Of a Python submission: descriptors with tensors in them."""
    (table, count, _) = call.arguments
    assert isinstance(table, HostTable)

    def value(field: object) -> object:
        if isinstance(field, At):
            return call.buffers[field.buffer].view(-1)[field.offset :]
        return field.value  # type: ignore[attr-defined]

    descriptors = [tuple(map(value, row)) for row in table.rows]
    return int(module.batched_copy(descriptors, count.value))  # type: ignore[union-attr]


@pytest.mark.usefixtures("interpreter")
def test_the_triton_solution_answers_every_case() -> None:
    module = loaded(EXERCISE.solution.with_name("kernel.py"))
    for case in SMALL:
        call = made(case)
        wanted = expected(EXERCISE, case.size, call)
        assert answer(module, call) == call.returns, case.name
        assert same_buffers(call.buffers, wanted), case.name


@pytest.mark.usefixtures("interpreter")
def test_the_triton_starter_runs_and_copies_nothing() -> None:
    module = loaded(EXERCISE.starter.with_name("kernel.py"))
    for case in ANSWERED:
        call = made(case)
        before = {name: values.clone() for name, values in call.buffers.items()}
        assert answer(module, call) == 0
        assert same_buffers(call.buffers, before), case.name


@pytest.mark.usefixtures("interpreter")
def test_the_triton_solution_earns_all_that_an_interpreter_can_show() -> None:
    source = EXERCISE.solution.with_name("kernel.py")
    record = grade(EXERCISE, source, submission="kernel", device="virtual", seed="the seed of the tests")
    correct, *_ = record.parts
    assert correct.points == correct.max_points, correct.message
    assert record.verdict == "correct, speed not measured"


def test_the_python_track_names_the_entry() -> None:
    track = EXERCISE.python
    assert track is not None
    assert track.function == EXERCISE.entry
    for folder in (EXERCISE.folder, EXERCISE.solution.parent):
        assert f"def {track.function}(" in (folder / track.file).read_text()


def test_statement_and_starter_say_that_the_names_of_the_parameters_count() -> None:
    assert EXERCISE.python is not None
    named = " and ".join(f"`{name}`" for name in EXERCISE.python.arguments)
    for file in ("README.md", "kernel.py"):
        words = " ".join((EXERCISE.folder / file).read_text().split())
        assert "called with its arguments by name" in words, file
        assert named in words, file
