"""Every command in a student's text does what the text says, in the bundle that students get."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from common.build.cache import default_cache
from grader.nbgrader.bundle import write_bundle
from tests.grader.student_commands import COMMANDS, EXERCISES, Run, named_commands, put_what_commands_name
from tests.waiting import LONG


def test_the_table_has_every_command_that_a_text_names_and_no_other() -> None:
    assert named_commands() == set(COMMANDS)


def run(command: str, bundle: Path, folder: str = ".") -> subprocess.CompletedProcess[str]:
    words = shlex.split(command)
    words[0] = sys.executable if words[0] == "python" else words[0]
    environment = {
        **os.environ,
        "COURSE_PYTHON": sys.executable,
        "COURSE_CACHE": str(default_cache().root),
        "CUDA_VISIBLE_DEVICES": "",
    }
    return subprocess.run(
        words,
        cwd=bundle / folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=LONG,
    )


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("students") / "bundle"
    write_bundle(folder)
    for number in EXERCISES:
        assert run(f"./course start {number}", folder).returncode == 0
    put_what_commands_name(folder)
    return folder


@pytest.mark.parametrize("command", [name for name, outcome in COMMANDS.items() if isinstance(outcome, Run)])
def test_a_command_does_what_the_text_says(command: str, bundle: Path) -> None:
    expected = COMMANDS[command]
    assert isinstance(expected, Run)
    ended = run(command, bundle, expected.folder)
    shown = ended.stdout + ended.stderr
    assert "Traceback" not in shown
    assert ended.returncode == expected.status, shown
    assert expected.words in shown
