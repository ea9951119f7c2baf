"""`python -m requirements.lock [--upgrade]`: resolve pyproject.toml into lock.txt, then make the other files.

For maintainers: it needs `uv` and `packaging` in this Python, and the package index. One resolution serves
every Python and machine that the course supports. The lock keeps what pip needs (pins, markers, hashes of
the wheels that fit a supported machine) and what the tests and `./course` need offline: each package's own
requires-python and the size of its wheel. Without --upgrade, versions stay as they are where they can.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.parser import HeaderParser
from functools import cache
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import parse_wheel_filename

from requirements.make import LOCK, MACHINES, PYTHONS, ROOT, Package, parse_lock, render_lock, write_all

# torch's wheels need glibc 2.28, so everything else must have a wheel for it too.
_GLIBC_MINOR = 28
_CHUNK = 1 << 16


def main(arguments: list[str]) -> int:
    with tempfile.TemporaryDirectory() as name:
        plain, files = _resolve(Path(name), upgrade="--upgrade" in arguments)
    with ThreadPoolExecutor(16) as pool:
        LOCK.write_text(render_lock(list(pool.map(lambda package: _complete(package, files), plain))))
    write_all()
    return 0


def _resolve(folder: Path, *, upgrade: bool) -> tuple[list[Package], dict[tuple[str, str], list[Any]]]:
    """The packages that a supported machine can need, and the wheels of each by name and version."""
    pins, wheels = folder / "lock.txt", folder / "pylock.toml"
    if LOCK.exists() and not upgrade:
        pins.write_text(LOCK.read_text())
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--all-extras"]
    command += ["--python-version", f"{PYTHONS[0]}.0", "--no-header", str(ROOT / "pyproject.toml")]
    subprocess.run([*command, "--generate-hashes", "--output-file", str(pins)], check=True)
    # The same resolution once more, with addresses of wheels.
    subprocess.run(
        [*command, "--constraints", str(pins), "--format", "pylock.toml", "-o", str(wheels)], check=True
    )
    locked = tomllib.loads(wheels.read_text())["packages"]
    files = {(one["name"], one["version"]): one.get("wheels", []) for one in locked}
    return [package for package in parse_lock(pins.read_text()) if any(_environments(package))], files


def _environments(package: Package) -> Iterator[tuple[str, str]]:
    """The supported Pythons and machines that install this package."""
    for python in PYTHONS:
        for machine in MACHINES:
            # A marker can tell patch releases apart: the first and a late one stand for all.
            if any(package.applies(f"{python}.{patch}", machine, Marker) for patch in (0, 99)):
                yield python, machine


def _complete(package: Package, files: dict[tuple[str, str], list[Any]]) -> Package:
    """The package with the hashes of usable wheels, its size on each machine and its requires-python."""
    wheels = [(wheel["url"], wheel["hashes"]["sha256"]) for wheel in files[package.name, package.version]]
    sizes = dict.fromkeys(MACHINES, 0)
    usable: set[str] = set()
    for python, machine in _environments(package):
        ranks = {tag: rank for rank, tag in enumerate(_tags(python, machine))}
        fitting = sorted(
            (rank, url, digest) for url, digest in wheels if (rank := _rank(url, ranks)) is not None
        )
        if not fitting:
            raise SystemExit(
                f"{package.pin} has no wheel for Python {python} on {machine}: pin another version"
            )
        sizes[machine] = max(sizes[machine], _size(fitting[0][1]))
        usable |= {digest for _, _, digest in fitting}
        anything = fitting[0][1]
    hashes = tuple(sorted(usable))
    return package.with_facts(hashes=hashes, python=_requires_python(anything), sizes=tuple(sizes.items()))


@cache
def _tags(python: str, machine: str) -> list[Tag]:
    version = tuple(map(int, python.split(".")))
    platforms = [f"manylinux_2_{minor}_{machine}" for minor in range(_GLIBC_MINOR, 4, -1)]
    platforms += [f"{old}_{machine}" for old in ("manylinux2014", "manylinux2010", "manylinux1", "linux")]
    interpreter = f"cp{python.replace('.', '')}"
    return [*cpython_tags(version, platforms=platforms), *compatible_tags(version, interpreter, platforms)]


def _rank(url: str, ranks: dict[Tag, int]) -> int | None:
    *_, tags = parse_wheel_filename(url.rpartition("/")[2].replace("%2B", "+"))
    return min((ranks[tag] for tag in tags if tag in ranks), default=None)


@cache
def _size(url: str) -> int:
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as answer:
        return int(answer.headers["Content-Length"])


def _requires_python(url: str) -> str:
    with zipfile.ZipFile(io.BufferedReader(_Remote(url), _CHUNK)) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        return str(HeaderParser().parsestr(wheel.read(name).decode()).get("Requires-Python") or ">=3")


class _Remote(io.RawIOBase):
    """A file behind an address, read where it is asked for: the metadata of a wheel, not its 500 MB."""

    def __init__(self, url: str) -> None:
        self._url, self._length, self._at = url, _size(url), 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._length}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        last = min(self._at + len(buffer), self._length) - 1
        if last < self._at:
            return 0
        request = urllib.request.Request(self._url, headers={"Range": f"bytes={self._at}-{last}"})
        with urllib.request.urlopen(request) as answer:
            data = answer.read(last + 1 - self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
