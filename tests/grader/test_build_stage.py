"""What keeps a submission from being compiled: its own lines, or this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.build.engine.build import EngineError
from common.build.errors import BuildError
from common.build.program import Target
from common.build.toolchain import ToolchainError
from common.core.errors import CourseError
from grader.building import build as stage


@pytest.mark.parametrize("problem", [EngineError("no engine"), ToolchainError("no nvcc")])
def test_what_this_machine_lacks_is_no_fault_of_the_submission(
    problem: CourseError, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fails(*arguments: object, **options: object) -> None:
        raise problem

    monkeypatch.setattr(stage, "build_program", fails)
    (tmp_path / "kernel.cu").write_text("int right;")
    with pytest.raises(type(problem), match=str(problem)):
        stage.build(tmp_path / "kernel.cu", Target.virtual("90"))


def test_what_ptxas_does_not_get_through_is_not_compiled_a_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def stopped(*arguments: object, **options: object) -> None:
        raise BuildError("ran for more than 180 s", [], "")

    def again(*arguments: object, **options: object) -> None:
        raise AssertionError("the source would meet the same limit")

    monkeypatch.setattr(stage, "resources_of", stopped)
    monkeypatch.setattr(stage, "resources", again)
    with pytest.raises(BuildError, match="more than 180 s"):
        stage.kernel_resources(tmp_path / "kernel.cu", tmp_path / "library.so", "90")
