"""The virtual GPU as it was built elsewhere and came along with the course.

    prebuilt/x86_64-avx2/        vgpu-engine, libvgpu_runtime.so.1, and manifest.json, which says for what
    prebuilt/x86_64-portable/    they were built and from what
    prebuilt/aarch64-portable/

A variant is used where it fits: the same sources, CUDA release and processor, C and C++ libraries that are
new enough, and binaries as they were built. Otherwise one sentence says why, and the engine is built here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common.build.toolchain import HostCompiler
from common.build.unit import hash_file
from common.core.errors import CourseError
from common.core.paths import REPOSITORY

PREBUILT = REPOSITORY / "prebuilt"
MANIFEST = "manifest.json"
_NEEDED_VERSION = re.compile(r"Name: (GLIBC|GLIBCXX|CXXABI)_([\d.]+)")
_TRIAL_SECONDS = 60
# What a shell or the loader answers for a program that it cannot start.
_NOT_STARTED = (126, 127)


class Misfit(CourseError):
    """A prebuilt engine cannot be used here; the text says why, to follow a "because"."""


@dataclass(frozen=True)
class Identity:
    """What a build is made from and for, wherever it is made. `cuda` is a release such as 13.0: the runtime
    library answers for the functions and structures that this release's headers declare."""

    machine: str
    isa: str
    cuda: str
    sources: str

    @property
    def folder(self) -> str:
        return f"{self.machine}-{self.isa}"


def store_prebuilt(folder: Path, identity: Identity, binaries: Iterable[Path]) -> None:
    """Copy the binaries into their folder below `folder`, with a manifest."""
    target = folder / identity.folder
    target.mkdir(parents=True, exist_ok=True)
    files: dict[str, str] = {}
    needs: dict[str, str] = {}
    for binary in binaries:
        shutil.copy(binary, target / binary.name)
        files[binary.name] = hash_file(binary)
        for library, version in _needed_versions(binary):
            needs[library] = max(needs.get(library, version), version, key=_numbers)
    manifest = {**asdict(identity), "needs": needs, "files": files}
    (target / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")


def copy_others(source: Path, folder: Path, identity: Identity) -> None:
    """Add the variants in `source` that `folder` lacks and that were built from the same sources."""
    for manifest in sorted(source.glob(f"*/{MANIFEST}")):
        target = folder / manifest.parent.name
        about = _read(manifest)
        same = (about.get("sources"), about.get("cuda")) == (identity.sources, identity.cuda)
        if same and not target.exists():
            shutil.copytree(manifest.parent, target)


def check_prebuilt(folder: Path, identity: Identity, cxx: HostCompiler) -> list[Path]:
    """The binaries in `folder`, one variant's, if they fit here. Raises Misfit if they do not."""
    manifest = _read(folder / MANIFEST)
    for name, what in (("machine", "processor"), ("isa", "instruction set"), ("cuda", "CUDA release")):
        if manifest.get(name) != getattr(identity, name):
            raise Misfit(f"it is for {what} {manifest.get(name)} and here it is {getattr(identity, name)}")
    if manifest.get("sources") != identity.sources:
        raise Misfit("it was built from other sources than those in common/virtual_gpu")
    for library, needed in manifest["needs"].items():
        present = _present_version(library, cxx)
        if _numbers(present) < _numbers(needed):
            raise Misfit(f"it needs {library} {needed} and this machine has {present}")
    binaries = [folder / name for name in manifest["files"]]
    for binary in binaries:
        if not binary.is_file() or hash_file(binary) != manifest["files"][binary.name]:
            raise Misfit(f"{binary.name} is not the file that was built: it is damaged or was exchanged")
    _try(next(binary for binary in binaries if ".so" not in binary.name))
    return binaries


def _read(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_bytes())
        whole = all(isinstance(manifest[name], dict) for name in ("needs", "files")) and manifest["files"]
    except (OSError, ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise Misfit(f"its {path.name} cannot be read")
    return dict(manifest)


def _needed_versions(binary: Path) -> list[tuple[str, str]]:
    """The versions of the C and C++ libraries whose symbols a binary asks for."""
    said = subprocess.run(
        ["readelf", "-W", "-V", str(binary)], capture_output=True, text=True, check=True, env=_english()
    )
    return _NEEDED_VERSION.findall(said.stdout)


def _present_version(library: str, cxx: HostCompiler) -> str:
    """The newest version of symbols that this machine's library has; 0 where it is unknown."""
    if library == "GLIBC":
        try:
            return (os.confstr("CS_GNU_LIBC_VERSION") or "0").removeprefix("glibc ")
        except (OSError, ValueError):  # another C library
            return "0"
    command = [str(cxx.path), "-print-file-name=libstdc++.so.6"]
    said = subprocess.run(command, capture_output=True, text=True, check=False, env=_english())
    try:
        symbols = Path(said.stdout.strip()).read_bytes()
    except OSError:
        return "0"
    found = re.findall(rb"\x00" + library.encode() + rb"_([\d.]+)(?=\x00)", symbols)
    return max((version.decode() for version in found), key=_numbers, default="0")


def _try(engine: Path) -> None:
    """Starts the engine, which ends at once: it is given nothing to serve."""
    with suppress(OSError):  # a bundle may have travelled in an archive that keeps no modes
        engine.chmod(0o755)
    try:
        done = subprocess.run(
            [engine], capture_output=True, text=True, check=False, env=_english(), timeout=_TRIAL_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Misfit(f"{engine.name} does not start here ({problem})") from problem
    if done.returncode < 0 or done.returncode in _NOT_STARTED:
        said = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[0]
        raise Misfit(f"{engine.name} does not start here ({said})")


def _english() -> dict[str, str]:
    return {**os.environ, "LC_ALL": "C"}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())
