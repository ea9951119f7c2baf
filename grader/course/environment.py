"""The course's own environment, .venv: what it contains, and when it is installed.

`./course` makes .venv and calls `python -m grader.course.environment base torch [wheels]`. A command that
needs more adds it when it is first used: `VERBS` in grader/cli lists them. A group is a complete file of
requirements/ with hashes, so that pip has nothing to resolve. Only the standard library is imported here:
nothing else is installed yet.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Sequence
from pathlib import Path

from common.core.paths import REPOSITORY
from grader.course.pip import InstallError, pip_install

REQUIREMENTS = REPOSITORY / "requirements"
VENV = REPOSITORY / ".venv"

# Descriptions of the groups, printed when they are installed.
GROUPS = {
    "base": "what students need",
    "torch": "torch for NVIDIA GPUs",
    "wheels": "NVIDIA's CUDA 13 compiler from its wheels, under NVIDIA's licence (its CUDA EULA)",
    "triton": "Triton, for kernels written in Python",
    "nbgrader": "nbgrader, to run a class",
    "tune": "optuna, to search tunables",
    "cluster": "Dask, to grade on other machines",
    "test": "the linters, the type checker and the test tools",
    "browser": "playwright, to drive this machine's Chromium in tests",
}
_GPU_SIGNS = ("/proc/driver/nvidia", "/dev/nvidia0", "/dev/nvidiactl", "/usr/lib/wsl/lib/nvidia-smi")
_NOT_OFFERED = "No matching distribution found"


def offered() -> list[str]:
    """The groups that can be installed: a student bundle comes without those for tests."""
    return [group for group in GROUPS if _file(group).is_file()]


def is_own() -> bool:
    """Whether this is the environment that `./course` made: nothing is installed in any other."""
    return Path(sys.prefix).resolve() == VENV.resolve()


def is_installed(group: str) -> bool:
    """In the course's own environment, as the group's file says; elsewhere, in any version."""
    if not is_own():
        return not missing_packages(group)
    try:
        return _stamp(group).read_bytes() == _file(group).read_bytes()
    except OSError:
        return False


def missing_packages(group: str) -> list[str]:
    """The packages of a group that this Python has in no version."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    listed = {"base": project["dependencies"], **project["optional-dependencies"]}
    return [name for name, _, _ in (one.partition("==") for one in listed[group]) if not _has(name)]


def ensure(groups: Sequence[str]) -> None:
    """Install what a command needs beyond the base.

    If that fails, print a note and let the command continue: it may not need the group this time.
    """
    for group in groups:
        if group not in offered() or is_installed(group):
            continue
        if is_own():
            try:
                install([group])
            except InstallError as problem:
                _say(f"warning: {problem}")
        else:
            lacks = ", ".join(missing_packages(group))
            _say(
                f"note: this Python has no {lacks} ({GROUPS[group]}). Nothing is installed with "
                f"COURSE_PYTHON; `pip install -r requirements/{group}.txt` does it."
            )


def install(groups: Sequence[str], *, retries: bool = True) -> None:
    """Install groups here in as few runs of pip as possible. `retries`: ask a slow index again."""
    quick = [] if retries else ["--retries", "0", "--timeout", "10"]
    together = [group for group in groups if group != "torch" or has_nvidia_gpu()]
    for group in together:
        _say(f"Installing {GROUPS[group]}{_size(group)}.")
    if together:
        # Compiling every module costs 30 s and most are never imported. torch is: its modules are compiled.
        lazy = [] if "torch" in together else ["--no-compile"]
        pip_install(
            [*quick, *lazy, "--require-hashes", *_files(together)],
            f"install {_and(together)}",
            packages=_listed(together),
        )
        _stamp_all(together)
    if "torch" in groups and "torch" not in together:
        _say("Installing torch for CPUs: this machine has no NVIDIA GPU.")
        _install_torch_for_cpu()
        _stamp_all(["torch"])
    importlib.invalidate_caches()


def _install_torch_for_cpu() -> None:
    """The CPU build if the index that pip is configured for has it, else the CUDA build, which runs here too.

    The CPU build has its own version and is on another index than the rest of the lock, so the lock has no
    hash of it: the user who configures that index must trust it. All its dependencies are in the base, with
    hashes.
    """
    version = re.findall(r"^torch==(\S+)", _file("torch").read_text(), re.MULTILINE)[0]
    refused = pip_install(
        [f"torch=={version}+cpu"], "install torch for CPUs", packages=1, unless=_NOT_OFFERED
    )
    if not refused:
        return
    _say(
        f"pip's index offers no CPU build of torch {version}, so its build for NVIDIA GPUs is downloaded"
        f"{_size('torch')}; it runs on CPUs too. To avoid that, press Ctrl-C, set PIP_EXTRA_INDEX_URL to "
        "PyTorch's index of CPU builds (pytorch.org, Get Started, CPU) and run ./course again."
    )
    pip_install(["--require-hashes", *_files(["torch"])], "install torch", packages=_listed(["torch"]))


def has_nvidia_gpu() -> bool:
    """Whether there are files of an NVIDIA driver. Runs nothing: even a broken driver counts."""
    return shutil.which("nvidia-smi") is not None or any(os.path.exists(sign) for sign in _GPU_SIGNS)


def install_course() -> None:
    """Install the clone itself for every program of this environment: its modules, by a .pth file, and its
    Jupyter kernel. If the home folder is read-only, Jupyter in other environments lacks the kernel."""
    place = Path(sysconfig.get_path("purelib")) / "serving_kernels.pth"
    place.write_text(f"{REPOSITORY}\n")
    from grader.course.jupyter_kernel import register

    try:
        note = register()
    except OSError as problem:
        note = f"note: no Jupyter kernel was registered: {problem}"
    if note:
        _say(note)


def _listed(groups: Sequence[str]) -> int:
    """How many packages the groups' files name."""
    return len(
        {name for group in groups for name in re.findall(r"(?m)^[\w.-]+(?===)", _file(group).read_text())}
    )


def _size(group: str) -> str:
    """The download size of a group's wheels, from when the lock was made."""
    found = re.search(rf"^# download {platform.machine()}: (\d+) MB$", _file(group).read_text(), re.MULTILINE)
    if found is None:
        return ""
    megabytes = int(found[1])
    return f" ({megabytes / 1000:.1f} GB)" if megabytes >= 1000 else f" ({megabytes} MB)"


def _has(name: str) -> bool:
    try:
        return bool(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False


def _file(group: str) -> Path:
    return REQUIREMENTS / f"{group}.txt"


def _files(groups: Sequence[str]) -> list[str]:
    return [part for group in groups for part in ("-r", str(_file(group)))]


def _stamp(group: str) -> Path:
    return VENV / "installed" / f"{group}.txt"


def _stamp_all(groups: Sequence[str]) -> None:
    for group in groups:
        _stamp(group).parent.mkdir(exist_ok=True)
        shutil.copyfile(_file(group), _stamp(group))


def _and(names: Sequence[str]) -> str:
    return " and ".join(names)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(groups: list[str]) -> int:
    _say(f"Setting up {VENV}: once, a few minutes.")
    try:
        install([group for group in groups if not is_installed(group)])
        install_course()
    except (InstallError, OSError) as problem:
        _say(f"error: {problem}")
        return 2
    except KeyboardInterrupt:
        _say("\nstopped: the next ./course goes on with the set-up")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
