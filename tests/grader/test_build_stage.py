"""What keeps a submission from being compiled: its own lines, or this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.build.engine.build import EngineError
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
