"""`python -m requirements.make`: the requirement files and environment.yml, from pyproject.toml and lock.txt.

pyproject.toml is the one list of what the course needs. lock.txt is one resolution of it for every
supported Python and machine (`python -m requirements.lock` makes it). Each other file is the part of the
lock that one group of dependencies needs, whole: pip installs it with --no-deps --require-hashes and has
nothing left to resolve.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
LOCK = FOLDER / "lock.txt"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")  # those that the pinned torch has wheels for
MACHINES = ("x86_64", "aarch64")

# torch is apart from the rest: its CPU build comes from another index, has other hashes and needs none of
# these.
_TORCH = "torch"
_CUDA = re.compile(r"nvidia-|cuda-|triton$")

_MADE = "# Made by `python -m requirements.make` from pyproject.toml and lock.txt: change those.\n"
_LOCKED = (
    "# Made by `python -m requirements.lock` from pyproject.toml: change that.\n"
    "# Every package of every group, for every supported Python and machine.\n"
)
_ENTRY = re.compile(
    r"^(?P<name>[\w.-]+)==(?P<version>\S+)(?: ; (?P<marker>.*?))? *\\\n(?P<rest>(?:    .*\n?)+)", re.MULTILINE
)


@dataclass(frozen=True)
class Package:
    """A pinned package: where it applies, who asked for it, and what was looked up about its wheels."""

    name: str
    version: str
    marker: str
    hashes: tuple[str, ...]
    via: frozenset[str]
    python: str = ""  # its own requires-python
    sizes: tuple[tuple[str, int], ...] = ()  # bytes of its wheel by machine; of several Pythons, the largest

    @property
    def pin(self) -> str:
        return f"{self.name}=={self.version}"

    def with_facts(self, **facts: Any) -> Package:
        return dataclasses.replace(self, **facts)

    def applies(self, python: str, machine: str, marker: Callable[[str], Any]) -> bool:
        """Whether CPython X.Y.Z on that machine under Linux installs it. `marker` is packaging's Marker."""
        if not self.marker:
            return True
        environment = {
            "implementation_name": "cpython",
            "os_name": "posix",
            "platform_machine": machine,
            "platform_python_implementation": "CPython",
            "platform_system": "Linux",
            "python_full_version": python,
            "python_version": python.rpartition(".")[0],
            "sys_platform": "linux",
        }
        return bool(marker(self.marker).evaluate(environment))


def parse_lock(text: str) -> list[Package]:
    """The packages of a requirements file with hashes as uv writes it, or as `render_lock` does."""
    return [_parse_entry(match) for match in _ENTRY.finditer(text)]


def _parse_entry(entry: re.Match[str]) -> Package:
    rest = entry["rest"]
    comments = " ".join(re.findall(r"# +(.*)", rest.partition("# wheel")[0]))
    return Package(
        name=entry["name"],
        version=entry["version"],
        marker=entry["marker"] or "",
        hashes=tuple(re.findall(r"--hash=sha256:(\w+)", rest)),
        via=frozenset(re.findall(r"[\w.-]+", comments.removeprefix("via ").replace("(pyproject.toml)", ""))),
        python=(re.findall(r"# wheel: Python ([^;\n]+)", rest) or [""])[0],
        sizes=tuple((machine, int(size)) for size, machine in re.findall(r"; (\d+) bytes on (\w+)", rest)),
    )


def render_lock(packages: Iterable[Package]) -> str:
    return _LOCKED + "".join(_render(one, facts=True) for one in sorted(packages, key=lambda one: one.pin))


def _render(package: Package, *, facts: bool) -> str:
    marker = f" ; {package.marker}" if package.marker else ""
    lines = [f"{package.pin}{marker}", *(f"    --hash=sha256:{digest}" for digest in package.hashes)]
    text = " \\\n".join(lines) + "\n"
    if facts:
        sizes = "".join(f"; {size} bytes on {machine}" for machine, size in package.sizes)
        text += f"    # via {', '.join(sorted(package.via))}\n    # wheel: Python {package.python}{sizes}\n"
    return text


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def groups(lock: list[Package]) -> dict[str, list[Package]]:
    """What each file holds: base, torch, and one for each extra of what base does not hold already."""
    listed = project()
    whole = _closure(lock, listed["dependencies"])
    cuda = {name for name in whole if name == _TORCH or _CUDA.match(name)}
    names = {"base": whole - cuda, "torch": cuda}
    for extra, wanted in listed["optional-dependencies"].items():
        names[extra] = _closure(lock, wanted) - names["base"]
    return {group: [one for one in lock if one.name in chosen] for group, chosen in names.items()}


def _closure(lock: list[Package], requirements: Iterable[str]) -> set[str]:
    """The packages named, and all that they pull in."""
    found: set[str] = set()
    new = {requirement.partition("==")[0] for requirement in requirements}
    while new:
        found |= new
        new = {one.name for one in lock if one.via & new} - found
    return found


def files() -> dict[Path, str]:
    """Every file that is made, with its text."""
    lock = parse_lock(LOCK.read_text())
    made = {FOLDER / f"{group}.txt": _requirements(packages) for group, packages in groups(lock).items()}
    return {**made, ROOT / "environment.yml": _environment()}


def _requirements(packages: list[Package]) -> str:
    """`./course` reads the sizes from the comments, to say them before it downloads."""
    text = _MADE
    for machine in MACHINES:
        megabytes = sum(dict(one.sizes)[machine] for one in packages) / 1e6
        text += f"# download {machine}: {megabytes:.0f} MB\n"
    return text + "".join(_render(one, facts=False) for one in packages)


def _environment() -> str:
    listed = project()
    pins = "".join(f"      - {requirement}\n" for requirement in listed["dependencies"])
    return (
        f"{_MADE}"
        "# conda env create -f environment.yml && conda activate serving-kernels\n"
        "# then COURSE_PYTHON=python ./course …\n"
        f"name: {listed['name']}\n"
        "channels:\n  - conda-forge\n"
        f"dependencies:\n  - python{listed['requires-python']}\n  - gxx\n  - pip\n  - pip:\n{pins}"
    )


def write_all() -> None:
    for path, text in files().items():
        path.write_text(text)


if __name__ == "__main__":
    write_all()
