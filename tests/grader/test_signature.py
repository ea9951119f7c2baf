"""Warns about an entry point whose parameters differ from its caller's arguments, and about nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.pipeline.judging.signature import mismatch
from grader.spec import STREAM, At, i32, i64, registry
from grader.spec.random_inputs import Random

ARGUMENTS = (At("source"), At("target"), i64(3), i32(4), STREAM)


def advice(text: str) -> str:
    found = mismatch(Path("kernel.cu"), text, "go", ARGUMENTS)
    return "" if found is None else f"{found.severity} {found.line}: {found.message}"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("const int* source, int* target, int64_t stride, int n, cudaStream_t stream", ""),
        ("const std::pair<int, int>* a, void* b, long long c, uint32_t n, cudaStream_t", ""),
        ("Input a, Output b, Stride c, Count d, Stream e", ""),  # nobody knows what these are
        ("const int* a, int* b, int64_t c, int d", "warning 3: go takes 4 arguments, the caller passes 5"),
        (
            "const int* a, int* b, int stride, int d, cudaStream_t s",
            "warning 3: argument 3 of go, stride, is an int here, and the caller passes an int64_t",
        ),
        ("", "warning 3: go takes 0 arguments, the caller passes 5"),
    ],
)
def test_warnings_about_parameters(parameters: str, words: str):
    text = f'// int go(int a) {{ }}\nint go(int, int);\nextern "C" int go({parameters}) {{\n  return 0;\n}}\n'
    assert advice(text) == words


def test_a_file_without_the_entry_gets_no_warning():
    assert advice("int went(int a) { return a; }") == ""
    assert advice("int go(int a") == ""


@pytest.mark.parametrize("exercise", registry.all_exercises(), ids=lambda exercise: exercise.id)
def test_the_courses_own_files_fit(exercise):
    for task in (*exercise.steps, exercise):
        arguments = task.inputs(task.cases[0].size, Random("any")).arguments
        for source in (exercise.solution, exercise.starter, exercise.baseline):
            assert mismatch(source, source.read_text(), task.entry, arguments) is None
