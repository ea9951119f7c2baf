"""Programs of sandbox_attacks/: a library with attacks, and the script that lets it attack, as some user."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from common.build.cache import default_cache
from common.build.compile import compile_units
from common.build.link import link
from common.build.toolchain import find_host_compiler
from common.build.unit import Unit

FOLDER = Path(__file__).resolve().parent / "sandbox_attacks"
USERS = ("this user", "nobody")
_NOBODY = 65534


@contextmanager
def attack_library(name: str) -> Iterator[Path]:
    """The library built from a source of FOLDER, in a folder that every user can read."""
    cxx = find_host_compiler()
    flags = (str(cxx.path), "-c", "-fPIC", "-O1", "-std=c++20")
    unit = Unit(FOLDER / f"{name}.cpp", flags, cxx.fingerprint)
    compiled = compile_units([unit], cache=default_cache(), label=f"building {name}.cpp")
    entry, _ = link(
        [str(cxx.path), "-shared"],
        compiled,
        output=f"{name}.so",
        libraries=["-ldl", "-pthread"],
        fingerprint=cxx.fingerprint,
        cache=default_cache(),
    )
    folder = Path("/tmp") / f"course-{name}-{os.getpid()}"
    folder.mkdir(mode=0o755)
    shutil.copy(entry.path / f"{name}.so", folder)
    yield folder / f"{name}.so"
    shutil.rmtree(folder)


def attack_results(user: str, driver: str, library: Path) -> dict[str, Any]:
    """What a script of FOLDER prints for one user; skips where there is no way to be that user, or where the
    kernel lacks walls."""
    found = _results(user, driver, library)
    if found["missing"]:
        pytest.skip(f"this kernel lacks {'; '.join(found['missing'])}")
    return found


@functools.cache
def _results(user: str, driver: str, library: Path) -> dict[str, Any]:
    script = FOLDER / driver
    command = [sys.executable, "-B", str(script), str(library)]
    if user == "nobody":
        python = "/usr/bin/python3"
        become = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            pytest.skip("only root can become another user")
        probe = f"import sys; open({str(script)!r}); assert sys.version_info >= (3, 11)"
        if subprocess.run([*become, python, "-c", probe], capture_output=True, check=False).returncode != 0:
            pytest.skip("an ordinary user cannot read this repository with a Python of 3.11 or later")
        command = [*become, "env", "-i", "PATH=/usr/bin:/bin", python, *command[1:]]
    finished = subprocess.run(command, cwd="/", capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stderr
    results: dict[str, Any] = json.loads(finished.stdout)
    return results
