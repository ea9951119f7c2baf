"""A small course in a temporary folder: two exercises that nothing has to be compiled for."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from grader.course import student
from grader.spec import registry

FIRST, SECOND = "01_first", "02_second"
GRADER = "tests.grader.fake_pipeline:grade"

_SPEC = textwrap.dedent(
    '''
    """An exercise for tests."""

    from grader.spec import Exact, Exercise, Points, Speedup, case

    exercise = Exercise(
        title="The {name} exercise",
        entry="{name}",
        inputs=lambda size, rng: None,
        reference=lambda size, buffers: None,
        compare=Exact(),
        cases=(case("one token", tokens=1),),
        hidden=lambda rng: (),
        bench=(case("64 tokens", tokens=64), case("4096 tokens", tokens=4096)),
        bytes_moved=lambda size: size.tokens * 4096,
        mechanisms=(),
        targets=(Speedup(cases=("64 tokens", "4096 tokens"), passing=1.15, full=1.4),),
        points=Points(correct=5, clean=0, mechanism=0, speed=5),
        hints=("Think.", "Think again."),
    )
    '''
)
_SOLUTION = textwrap.dedent(
    """
    __global__ void kernel(int* out) {
      // BEGIN SOLUTION  TODO 1: write the thread's number
      out[threadIdx.x] = threadIdx.x;
      // END SOLUTION
    }
    """
)


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The course's folder, which is also the current one."""
    from grader.course.starters import starter_text

    root = tmp_path / "course"
    for name in (FIRST, SECOND):
        folder, solutions = root / "exercises" / name, root / "solutions" / name
        folder.mkdir(parents=True)
        solutions.mkdir(parents=True)
        (folder / "exercise.py").write_text(_SPEC.format(name=name[3:]))
        (folder / "README.md").write_text(f"# {name}\n")
        (folder / "kernel.cu").write_text(starter_text(_SOLUTION))
        (solutions / "kernel.cu").write_text(_SOLUTION)
    return use_course(root, monkeypatch)


def use_course(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make it the course of this process, and its folder the current one."""
    monkeypatch.setattr(registry, "EXERCISES", root / "exercises")
    monkeypatch.setattr(registry, "SOLUTIONS", root / "solutions")
    monkeypatch.setattr(student, "WORK", root / "work")
    monkeypatch.chdir(root)
    return root
