"""A grading deletes its scratch folder; the next one deletes that of a killed grading."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from common.core.paths import REPOSITORY
from common.sandbox import folder
from grader.building.scratch_folder import scratch_folder

KILLED = """
import os, signal
from grader.building.scratch_folder import scratch_folder
with scratch_folder() as path:
    (path / "submission").mkdir()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_folder_is_gone_when_it_is_left():
    with scratch_folder() as path:
        (path / "something").write_text("x")
    assert not path.exists()


def test_the_folder_of_a_killed_grading_is_swept_and_that_of_a_living_one_is_not(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(folder.tempfile, "tempdir", None)  # read anew
    ended = subprocess.run([sys.executable, "-c", KILLED], cwd=REPOSITORY, check=False)
    assert ended.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    with scratch_folder() as path:
        folder.sweep()
        assert path.exists()
        assert not left.exists()
