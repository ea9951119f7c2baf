"""`./course` where python, pip and the compilers are stand-ins that write down what they were asked."""

from __future__ import annotations

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY
from requirements.make import PYTHONS
from tests.waiting import LONG

SHELL = shutil.which("dash") or "sh"  # the strictest POSIX shell at hand

# Plays python3 and, copied into .venv, the interpreter there: Python 3.12, or what a file beside it says.
# FAIL names a step that goes wrong.
FAKE_PYTHON = """#!/bin/sh
echo "python $*" >> "$LOG"
minor=12
[ ! -e "$0.minor" ] || read -r minor < "$0.minor"
case "$*" in
    *print*version_info*) echo "3.$minor.0"; exit ;;
    *"<= (3, 14)"*) [ "$minor" -ge 11 ] && [ "$minor" -le 14 ]; exit ;;
    *version_info*) [ "$minor" -ge 11 ]; exit ;;
    "-m venv"*)
        [ "${FAIL:-}" != venv ] || exit 1
        mkdir -p "$4/bin" && cp "$0" "$4/bin/python"
        exit ;;
    *"-m grader.course.environment"*)
        [ "${FAIL:-}" != pip ] || exit 2
        shift 3
        mkdir -p "${0%/bin/python}/installed"
        for group in "$@"; do cp "$PYTHONPATH/requirements/$group.txt" "${0%/bin/python}/installed/"; done
        exit ;;
    *"-m grader"*)
        echo "grader: $*"
        echo "${PYTHONDONTWRITEBYTECODE:+no bytecode}"
        echo "$PYTHONPATH"
        exit 9 ;;
esac
"""
FAKE_NVCC = "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n"
TOOLS = ("sh", "cmp", "grep", "cp", "mkdir", "flock", "readlink", "uname", "g++")


class Machine:
    """A copy of the script with its requirements, and a PATH that holds only what the test put there."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "course folder"
        self.bin = folder / "bin"
        self.log = folder / "log"
        self.root.mkdir()
        self.bin.mkdir()
        shutil.copy(REPOSITORY / "course", self.root / "course")
        (self.root / "requirements").mkdir()
        for group in ("base", "torch", "wheels"):
            shutil.copy(REPOSITORY / "requirements" / f"{group}.txt", self.root / "requirements")
        for tool in TOOLS:
            if located := shutil.which(tool):
                (self.bin / tool).symlink_to(located)
        self.add("python3", FAKE_PYTHON)
        self.add("nvcc", FAKE_NVCC)

    def add(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def add_python(self, name: str, minor: int) -> None:
        """An interpreter of Python 3.minor."""
        self.add(name, FAKE_PYTHON)
        (self.bin / f"{name}.minor").write_text(f"{minor}\n")

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
            timeout=LONG,
        )

    def installs(self) -> list[str]:
        """The groups that the last run had installed, one line each time."""
        marker = "-m grader.course.environment "
        return [line.partition(marker)[2] for line in self.log.read_text().splitlines() if marker in line]


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_first_use_installs_and_the_second_goes_straight_to_the_grader(machine):
    first = machine.course("doctor", "--json")
    assert machine.installs() == ["base torch"]
    assert first.stdout.splitlines() == ["grader: -P -m grader doctor --json", "", str(machine.root)]
    assert first.returncode == 9, "the grader's own status"
    second = machine.course("doctor")
    assert machine.log.read_text() == "python -P -m grader doctor\n"
    assert second.stderr == ""


def test_bytecode_is_kept_in_the_courses_own_environment_and_in_no_other(machine):
    assert "no bytecode" not in machine.course("doctor", PYTHONDONTWRITEBYTECODE="1").stdout
    someones = {"COURSE_PYTHON": str(machine.bin / "python3"), "PYTHONDONTWRITEBYTECODE": "1"}
    assert "no bytecode" in machine.course("doctor", **someones).stdout


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


@pytest.mark.parametrize("group", ["base", "torch"])
def test_changed_requirements_are_installed_again(machine, group):
    machine.course()
    with (machine.root / "requirements" / f"{group}.txt").open("a") as file:
        file.write("# changed\n")
    machine.course()
    assert machine.installs() == ["base torch"]
    machine.course()
    assert machine.installs() == []


def test_an_install_that_broke_off_is_taken_up_again(machine):
    broken = machine.course(FAIL="pip")
    assert broken.returncode == 2
    assert machine.course().returncode == 9
    assert machine.installs() == ["base torch"]
    assert "-m venv" not in machine.log.read_text(), "the environment itself was whole"


def test_an_environment_whose_python_is_gone_is_made_anew(machine):
    machine.course()
    (machine.root / ".venv" / "bin" / "python").unlink()
    assert machine.course().returncode == 9
    assert "-m venv --clear" in machine.log.read_text()


def test_without_cuda_13_the_compiler_wheels_are_installed_once(machine):
    (machine.bin / "nvcc").unlink()
    machine.course()
    assert machine.installs() == ["base torch wheels"]
    machine.course()
    assert machine.installs() == []


def test_course_wheels_adds_them_to_an_environment_that_exists(machine):
    machine.course()
    machine.course(COURSE_WHEELS="1")
    assert machine.installs() == ["base torch wheels"]


def test_course_python_is_used_as_it_is(machine, tmp_path):
    machine.add("my-python", FAKE_PYTHON)
    result = machine.course("test", COURSE_PYTHON="my-python")
    assert "grader: -P -m grader test" in result.stdout
    assert not (machine.root / ".venv").exists()
    machine.add_python("my-python", 10)
    refused = machine.course("test", COURSE_PYTHON="my-python")
    assert refused.stderr == "error: COURSE_PYTHON=my-python is not a Python 3.11 or newer.\n"


@pytest.mark.parametrize("minor", [10, 15])
def test_a_python_that_does_not_fit_is_named_before_anything_is_downloaded(machine, minor):
    machine.add_python("python3", minor)
    result = machine.course()
    assert result.returncode == 2
    assert result.stderr.startswith(
        f"error: the course needs CPython 3.11 to 3.14; on PATH python3 is 3.{minor}.0. Nothing was down"
    )
    assert machine.installs() == []
    assert not (machine.root / ".venv").exists()


def test_of_the_pythons_on_path_one_that_fits_is_chosen(machine):
    machine.add_python("python3", 15)
    machine.add_python("python3.13", 13)
    machine.add_python("python3.11", 11)
    assert machine.course().returncode == 9
    assert (machine.root / ".venv" / "bin" / "python").exists()
    venv = next(line for line in machine.log.read_text().splitlines() if "-m venv" in line)
    assert "--clear" in venv


def test_an_environment_of_a_python_that_no_longer_fits_is_made_anew(machine):
    machine.course()
    (machine.root / ".venv" / "bin" / "python.minor").write_text("10\n")
    (machine.root / ".venv" / "installed" / "base.txt").unlink()
    machine.course()
    assert "-m venv --clear" in machine.log.read_text()


def test_the_script_and_pyproject_name_the_same_pythons():
    wanted = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["requires-python"]
    assert wanted == f">={PYTHONS[0]},<3.{int(PYTHONS[-1].partition('.')[2]) + 1}"
    text = (REPOSITORY / "course").read_text()
    assert (
        f"({PYTHONS[0].replace('.', ', ')}) <= sys.version_info[:2] <= ({PYTHONS[-1].replace('.', ', ')})"
        in text
    )
    assert f"CPython {PYTHONS[0]} to {PYTHONS[-1]}" in text
    assert " ".join(f"python{version}" for version in reversed(PYTHONS)) in text


def test_no_venv_is_a_sentence(machine):
    result = machine.course(FAIL="venv")
    assert "error: python3 could not make a virtual environment" in result.stderr
    assert "apt install" in result.stderr
    assert result.returncode == 2


def test_a_missing_host_compiler_is_a_warning_before_the_long_install(machine):
    (machine.bin / "g++").unlink()
    result = machine.course()
    assert result.stderr.startswith("warning: no C++ compiler (g++)")
    assert result.returncode == 9
