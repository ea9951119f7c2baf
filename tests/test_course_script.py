"""`./course` where python, pip and the compilers are stand-ins that write down what they were asked."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from common.cache import REPOSITORY

SHELL = shutil.which("dash") or "sh"  # the strictest POSIX shell at hand

# Plays python3 and, copied into .venv, the interpreter there. FAIL names a step that goes wrong.
FAKE_PYTHON = """#!/bin/sh
echo "python $*" >> "$LOG"
case "$*" in
    *version_info*) [ "${FAIL:-}" != old ]; exit ;;
    "-m venv"*)
        [ "${FAIL:-}" != venv ] || exit 1
        mkdir -p "$4/bin" && cp "$0" "$4/bin/python"
        exit ;;
    *"pip install"*) [ "${FAIL:-}" != pip ]; exit ;;
    *"-m grader"*) echo "grader: $*"; echo "$PYTHONPATH"; exit 9 ;;
esac
"""
FAKE_NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n"
TOOLS = ("sh", "cat", "cmp", "grep", "cp", "mkdir", "flock", "readlink", "g++")


class Machine:
    """A copy of the script with its requirements, and a PATH that holds only what the test put there."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "course folder"
        self.bin = folder / "bin"
        self.log = folder / "log"
        self.root.mkdir()
        self.bin.mkdir()
        for name in ("course", "requirements.txt", "requirements-lock.txt", "requirements-wheels.txt"):
            shutil.copy(REPOSITORY / name, self.root / name)
        for tool in TOOLS:
            if located := shutil.which(tool):
                (self.bin / tool).symlink_to(located)
        self.add("python3", FAKE_PYTHON)
        self.add("nvcc", FAKE_NVCC)

    def add(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def course(
        self, *arguments: str, cwd: Path | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        self.log.write_text("")
        return subprocess.run(
            [SHELL, str(self.root / "course"), *arguments],
            env={"PATH": str(self.bin), "LOG": str(self.log), "CUDA_HOME": "/nonexistent", **env},
            cwd=cwd or self.root,
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )

    def installs(self) -> list[str]:
        """The requirement files pip was given in the last run."""
        lines = [line for line in self.log.read_text().splitlines() if "pip install" in line]
        return [Path(line.split(" -r ")[1].split(" -c ")[0]).name for line in lines]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_first_use_installs_and_the_second_goes_straight_to_the_grader(machine):
    first = machine.course("doctor", "--json")
    assert machine.installs() == ["requirements.txt"]
    assert "Setting up" in first.stderr
    assert first.stdout.splitlines() == ["grader: -P -m grader doctor --json", str(machine.root)]
    assert first.returncode == 9, "the grader's own status"
    second = machine.course("doctor")
    assert machine.log.read_text() == "python -P -m grader doctor\n"
    assert second.stderr == ""


def test_it_works_from_any_folder(machine, tmp_path):
    result = machine.course("run", "my kernel.cu", cwd=tmp_path)
    assert "grader: -P -m grader run my kernel.cu" in result.stdout
    assert str(machine.root) in result.stdout


def test_it_works_through_a_link(machine, tmp_path):
    machine.course()
    (machine.bin / "course").symlink_to(machine.root / "course")
    env = {"PATH": str(machine.bin), "LOG": str(machine.log)}
    result = subprocess.run(
        [SHELL, str(machine.bin / "course")], env=env, capture_output=True, text=True, check=False
    )
    assert result.stdout.splitlines()[-1] == str(machine.root)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-lock.txt"])
def test_changed_requirements_are_installed_again(machine, name):
    machine.course()
    with (machine.root / name).open("a") as file:
        file.write("# changed\n")
    machine.course()
    assert machine.installs() == ["requirements.txt"]
    machine.course()
    assert machine.installs() == []


def test_an_install_that_broke_off_is_taken_up_again(machine):
    broken = machine.course(FAIL="pip")
    assert broken.returncode == 2
    assert "error: pip could not install" in broken.stderr
    assert machine.course().returncode == 9
    assert machine.installs() == ["requirements.txt"]
    assert "-m venv" not in machine.log.read_text(), "the environment itself was whole"


def test_an_environment_whose_python_is_gone_is_made_anew(machine):
    machine.course()
    (machine.root / ".venv" / "bin" / "python").unlink()
    (machine.root / ".venv" / "stamp-requirements.txt").unlink()
    assert machine.course().returncode == 9
    assert "-m venv --clear" in machine.log.read_text()


def test_without_cuda_13_the_compiler_wheels_are_installed_once(machine):
    (machine.bin / "nvcc").unlink()
    machine.course()
    assert machine.installs() == ["requirements.txt", "requirements-wheels.txt"]
    machine.course()
    assert machine.installs() == []


def test_course_wheels_adds_them_to_an_environment_that_exists(machine):
    machine.course()
    machine.course(COURSE_WHEELS="1")
    assert machine.installs() == ["requirements-wheels.txt"]


def test_course_python_is_used_as_it_is(machine, tmp_path):
    machine.add("my-python", FAKE_PYTHON)
    result = machine.course("test", COURSE_PYTHON="my-python")
    assert "grader: -P -m grader test" in result.stdout
    assert not (machine.root / ".venv").exists()
    refused = machine.course("test", COURSE_PYTHON="my-python", FAIL="old")
    assert refused.stderr == "error: COURSE_PYTHON=my-python is not a Python 3.11 or newer.\n"


@pytest.mark.parametrize(
    ("fail", "sentence"),
    [
        ("old", "error: Python 3.11 or newer is needed"),
        ("venv", "error: python3 could not make a virtual environment"),
    ],
)
def test_what_is_missing_is_a_sentence(machine, fail, sentence):
    result = machine.course(FAIL=fail)
    assert sentence in result.stderr
    assert "apt install" in result.stderr
    assert result.returncode == 2


def test_a_missing_host_compiler_is_a_warning_before_the_long_install(machine):
    (machine.bin / "g++").unlink()
    result = machine.course()
    assert result.stderr.startswith("warning: no C++ compiler (g++)")
    assert result.returncode == 9
