"""pyproject.toml, environment.yml and the requirement files name the same things."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib

from common.cache import REPOSITORY

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]


def pins(name: str) -> list[str]:
    lines = (REPOSITORY / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def conda_dependencies() -> tuple[list[str], list[str]]:
    """environment.yml's conda packages and its pip packages. It is a flat file: no YAML reader is needed."""
    text = (REPOSITORY / "environment.yml").read_text()
    conda, _, pip = text.partition("dependencies:")[2].partition("- pip:")
    return re.findall(r"^ +- (\S+)$", conda, re.MULTILINE), re.findall(r"^ +- (\S+)$", pip, re.MULTILINE)


def test_requirements_and_environment_agree_with_pyproject():
    assert pins("requirements.txt") == PROJECT["dependencies"]
    assert pins("requirements-wheels.txt") == PROJECT["optional-dependencies"]["wheels"]
    conda, pip = conda_dependencies()
    assert pip == PROJECT["dependencies"]
    assert f"python{PROJECT['requires-python']}" in conda


def test_every_requirement_is_pinned_and_locked_at_the_same_version():
    locked = {
        re.sub(r"[-_.]+", "-", line.split("==")[0]).lower(): line for line in pins("requirements-lock.txt")
    }
    for requirement in PROJECT["dependencies"]:
        name, _, version = requirement.partition("==")
        assert version, f"{requirement} is not pinned"
        if name != "torch":  # its builds for CPU and CUDA differ in what they pull in
            assert locked[name].endswith(f"=={version}")
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in locked.values())
    assert all("==" in line for line in pins("requirements-browser.txt"))


def test_importing_the_grader_is_light():
    heavy = "torch numpy rich matplotlib asyncio"
    script = f"import sys, grader.cli; print([m for m in {heavy.split()} if m in sys.modules])"
    command = [sys.executable, "-c", script]
    assert (
        subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout == "[]\n"
    )


def test_the_entries_can_be_executed():
    for name in ("course", ".ci/run"):
        assert os.access(REPOSITORY / name, os.X_OK)
