"""What a grade depends on: one hash for each thing that can change, so that a regrade can say what did."""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.metadata
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from common.build.toolchain import find_host_compiler, find_nvcc
from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.records.device_info import DeviceInfo
from grader.records.record import VERSION
from grader.spec import Exercise

_OURS = ("common", "grader")  # packages whose code may decide a grade
_VIRTUAL_GPU = REPOSITORY / "common" / "virtual_gpu"
# Files that grading reads beside Python modules.
_READ = {
    "the virtual GPU": (_VIRTUAL_GPU, ("**/*.cpp", "**/*.h", "**/*.def", "profiles.json")),
    "the course's headers": (REPOSITORY / "common" / "cuda", ("**/*",)),
    "the model's margins": (REPOSITORY / "common" / "measured", ("**/*.json",)),
}
_SCRIPTS = sorted((REPOSITORY / "common" / "worker").glob("*.py"))  # processes are started with them
_SUBMISSION = "the submission"
EXERCISE = "the exercise"
_CLOCK = REPOSITORY / "common" / "gpu" / "support.cu"  # the trusted library, which measures on a GPU
_NOT_ASKED = ""  # in place of the hash of what a grade on this device does not depend on
_EXERCISE = ("*.py", "baseline*.cu", "*.cuh", "*.json")  # not the README, nor the starter


def dependencies(
    exercise: Exercise, device: DeviceInfo, grader: str, wall_seconds: float, seed: str
) -> dict[str, str]:
    """Hashes by name, of all but the submission itself. `grader` is the function that grades."""
    modules = frozenset([grader.partition(":")[0], *_imports(exercise.folder.glob("*.py"))])
    return {
        EXERCISE: code_of_exercise(exercise.folder),
        "the grader": _of_texts([str(VERSION), grader, _of_files({*_modules(modules), *_SCRIPTS})]),
        **{name: _of_files(_found(*place)) for name, place in _READ.items()},
        "the compiler": _compilers(),
        "the device": _of_texts([device.kind, device.name, device.driver]),
        "the GPU's clock": _NOT_ASKED if device.modelled else _of_files([_CLOCK]),
        "Python or its packages": _of_texts(_versions(exercise)),
        "the settings": _of_texts([f"{wall_seconds:g}"]),
        "the secret": _of_texts([seed]),
    }


def code_of_exercise(folder: Path) -> str:
    """A hash of the files in its folder that marks depend on."""
    return _of_files(_found(folder, _EXERCISE))


def record_key(depends: Mapping[str, str], data: bytes) -> str:
    """All that a record depends on, the submission's bytes included, as JSON."""
    return json.dumps({**depends, _SUBMISSION: hashlib.sha256(data).hexdigest()}, sort_keys=True)


def read_key(text: str | bytes) -> dict[str, str]:
    """What a record was made from, without the submission; nothing where the key does not say."""
    try:
        return {name: value for name, value in json.loads(text).items() if name != _SUBMISSION}
    except (ValueError, AttributeError):
        return {}


def changed(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of what is not as it was. What only one side asks for is left out: that follows from another
    change, such as the device's."""
    return [
        name
        for name, value in now.items()
        if before.get(name) != value and _NOT_ASKED not in (before.get(name), value)
    ]


def code_of(*modules: str) -> str:
    """A hash of these modules and of all that they import of the course's own."""
    return _of_files(_modules(frozenset(modules)))


@functools.cache
def _modules(names: frozenset[str]) -> tuple[Path, ...]:
    """The files of these modules and of all that they import, however indirectly, of the course's own."""
    found: dict[str, Path] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found or (path := _file_of(name)) is None:
            continue
        found[name] = path
        waiting += _imports_of(path)
    return tuple(sorted(set(found.values())))


@functools.cache
def _imports_of(path: Path) -> tuple[str, ...]:
    """Of one of the course's own modules: most are behind every exercise, and parsing them takes seconds."""
    return tuple(_imports([path]))


def _imports(files: Iterable[Path]) -> Iterator[str]:
    for file in files:
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                continue
            yield from (name for name in names if name.partition(".")[0] in _OURS)


def _file_of(module: str) -> Path | None:
    """None for a name that is no module, such as a function's."""
    path = REPOSITORY.joinpath(*module.split("."))
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _found(folder: Path, patterns: Iterable[str]) -> list[Path]:
    paths = {path for pattern in patterns for path in folder.glob(pattern)}
    return sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts)


def _of_files(paths: Iterable[Path]) -> str:
    hashed = (f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in sorted(paths))
    return _of_texts(hashed)


def _of_texts(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _versions(exercise: Exercise) -> Iterator[str]:
    """Of what computes expected answers and, for a Python file, runs the kernels. A build for GPUs computes
    the same (2.13.0+cu130), and so does another patch of Python: machines of one run may differ in both."""
    yield "{}.{}".format(*sys.version_info)
    for package in ("torch", "numpy", *(("triton",) if exercise.python is not None else ())):
        yield _version(package).partition("+")[0]


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _compilers() -> str:
    """Empty where there are none: then no kernel can be graded either."""
    try:
        return _of_texts([find_nvcc().version, find_host_compiler().version])
    except CourseError:
        return ""
