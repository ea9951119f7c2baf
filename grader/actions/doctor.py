"""What this machine has for the course, and what does not work without the rest."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from common.build.cache import NEEDED_BYTES, CacheError, default_cache
from common.build.engine.build import find_engine, isa_flags
from common.build.toolchain import ToolchainError, find_host_compiler, find_ninja, find_nvcc
from common.core.addresses import can_fix_addresses
from common.core.paths import REPOSITORY
from common.gpu.devices import find_gpus
from common.sandbox.kernel_facilities import kernel_facilities
from grader.course import environment
from grader.spec import registry

_PROCESSORS = Path("/sys/devices/system/cpu/possible")

State = Literal["ok", "note", "missing"]

# Packages that every student gets but only some commands need, and what each is for.
_OPTIONAL_PACKAGES = {
    "rich": "tables in colour",
    "matplotlib": "plots",
    "jupyterlab": "notebooks",
    "ipykernel": "the kernel that runs notebooks",
}


@dataclass(frozen=True)
class Fact:
    """One line of the report. "missing" marks what every command needs."""

    name: str
    state: State
    detail: str
    cost: str = ""


def _python() -> list[Fact]:
    return [
        Fact("python", "ok", f"{platform.python_version()} ({sys.executable})"),
        _torch(),
        _package("numpy", "nothing can be graded"),
    ]


def _torch() -> Fact:
    version = _version("torch")
    if version is None:
        return Fact("torch", "missing", "not installed", "nothing can be graded; `run` works without it")
    cuda = _torch_cuda()
    detail = f"{version}, {f'built for CUDA {cuda}' if cuda else 'CPU build'}"
    wanted = pinned_version("torch")
    if find_gpus() and cuda is None:
        cost = "a CPU-only torch beside a GPU: it cannot grade on that GPU. Install a CUDA build of torch"
        return Fact("torch", "note", detail, cost)
    if version.partition("+")[0] != wanted:
        return Fact("torch", "note", detail, f"the course is tested with {wanted}")
    return Fact("torch", "ok", detail)


def _torch_cuda() -> str | None:
    """The CUDA version torch was built for, read from its files: importing torch takes seconds."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return None
    try:
        text = (Path(spec.origin).parent / "version.py").read_text()
    except OSError:
        return None
    match = re.search(r"^cuda\b[^=]*=\s*'([^']+)'", text, re.MULTILINE)
    return match[1] if match else None


def _package(name: str, cost: str) -> Fact:
    version = _version(name)
    return Fact(name, "ok", version) if version else Fact(name, "missing", "not installed", cost)


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def pinned_version(name: str) -> str:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    pins = dict(requirement.split("==") for requirement in project["dependencies"])
    return str(pins[name])


def _compilers() -> list[Fact]:
    def nvcc() -> str:
        found = find_nvcc()
        places = {"machine": "from this machine", "wheels": "from NVIDIA's wheels"}
        return f"{found.version}, {places.get(found.origin, f'chosen by {found.origin}')} ({found.path})"

    def host() -> str:
        found = find_host_compiler()
        return f"{found.version} ({found.path})"

    def ninja() -> str:
        found = find_ninja()
        return f"{found.version} ({found.path})"

    probes: dict[str, tuple[Callable[[], str], str]] = {
        "nvcc": (nvcc, "no CUDA source can be compiled"),
        "g++": (host, "neither CUDA sources nor the virtual GPU can be compiled"),
        "ninja": (ninja, "nothing can be compiled"),
    }
    found = [_tool(name, probe, cost) for name, (probe, cost) in probes.items()]
    if not can_fix_addresses():
        cost = (
            "one file may compile to code that differs a little from run to run, and with it in modelled time"
        )
        found.append(Fact("addresses of compilers", "note", "this system draws them anew each time", cost))
    return found


def _tool(name: str, probe: Callable[[], str], cost: str) -> Fact:
    try:
        return Fact(name, "ok", probe())
    except ToolchainError as error:
        return Fact(name, "missing", "not found", f"{cost}: {error}")


def _devices() -> list[Fact]:
    gpus = [
        Fact("GPU", "ok", f"{gpu.name}, compute capability {gpu.cc[:-1]}.{gpu.cc[-1]}, driver {gpu.driver}")
        for gpu in find_gpus()
    ]
    none = Fact("GPU", "note", "none", "kernels cannot be timed; everything else works on the virtual GPU")
    if isa_flags():
        virtual = Fact("virtual GPU", "ok", "runs here, with AVX2")
    else:
        detail = f"runs here, built without AVX2 ({platform.machine()})"
        virtual = Fact("virtual GPU", "note", detail, "kernels run several times slower")
    return [*(gpus or [none]), virtual, _engine()]


def _engine() -> Fact:
    """Where the virtual GPU's binaries came from."""
    try:
        found = find_engine()
    except ToolchainError as error:
        return Fact("its engine", "note", "not known", str(error))
    if found is None:
        return Fact("its engine", "ok", "not built yet; the first command that needs it does that")
    origin = "prebuilt, as it came with the course" if found.prebuilt else "built here"
    return Fact("its engine", "ok", f"{origin} ({found.engine.parent})")


def _machine() -> list[Fact]:
    facts = [Fact("system", "ok", f"{platform.system()} {platform.release()}, {platform.machine()}")]
    if platform.machine() == "aarch64" and not os.access(_PROCESSORS, os.R_OK):
        cost = "torch cannot multiply matrices: 04 and 05 cannot be graded. Mount /sys"
        facts.append(Fact("list of processors", "note", f"{_PROCESSORS} cannot be read", cost))
    try:
        root = default_cache().root
        free = shutil.disk_usage(root).free
        facts.append(Fact("build cache", "ok", f"{root}, {free / 2**30:.1f} GB free"))
    except CacheError as error:
        needed = f"{NEEDED_BYTES >> 20} MB in a folder that can be written"
        facts.append(Fact("build cache", "missing", str(error), f"nothing can be built without {needed}"))
    return facts


def _sandboxing() -> list[Fact]:
    return [
        Fact(facility.name, "ok" if facility.present else "note", facility.detail, facility.without)
        for facility in kernel_facilities()
    ]


def _exercises() -> list[Fact]:
    bad = registry.bad_exercises()
    usable = [folder.name for folder in registry.exercise_folders() if folder.name not in bad]
    facts = [Fact("exercises", "ok", ", ".join(usable) or "none")] if usable or not bad else []
    return [*facts, *(Fact(name, "note", "left out", mistakes) for name, mistakes in bad.items())]


def _optional(verbs: Mapping[str, Sequence[str]]) -> list[Fact]:
    facts = []
    for name, purpose in _OPTIONAL_PACKAGES.items():
        version = _version(name)
        lack = Fact(name, "note", "not installed", f"needed for {purpose}")
        facts.append(Fact(name, "ok", version) if version else lack)
    facts += [
        _group(name, verbs.get(name, ()))
        for name in environment.offered()
        if name not in ("base", "torch", "wheels")
    ]
    sanitizer = shutil.which("compute-sanitizer")
    if find_gpus():
        detail, cost = sanitizer or "not installed", "no checks on the GPU; the virtual GPU still has its own"
        facts.append(Fact("compute-sanitizer", "ok" if sanitizer else "note", detail, cost))
    return facts


# Where that does not follow from the command alone.
_NEEDED_BY = {
    "browser": "`./course test` where there is a Chromium",
    "cluster": "`--on` of a command that grades or measures, or `./course cluster`",
}


def _group(name: str, verbs: Sequence[str]) -> Fact:
    """Packages that are installed when a command first needs them."""
    missing = environment.missing_packages(name)
    if not missing:
        return Fact(name, "ok", environment.GROUPS[name])
    way = f"`pip install -r requirements/{name}.txt` in this Python's environment adds it"
    needing = _NEEDED_BY.get(name) or " or ".join(f"`./course {verb}`" for verb in verbs)
    if environment.is_own() and needing:
        way = f"installed when first needed, by {needing}"
    return Fact(name, "note", f"{environment.GROUPS[name]}: no {', '.join(missing)} here", way)


def examine(verbs: Mapping[str, Sequence[str]]) -> dict[str, list[Fact]]:
    """All facts by section. `verbs` are the commands that need each group of packages."""
    return {
        "Python": _python(),
        "Compilers": _compilers(),
        "Devices": _devices(),
        "Machine": _machine(),
        "Course": _exercises(),
        "For keeping programs in their place": _sandboxing(),
        "Optional": _optional(verbs),
    }
