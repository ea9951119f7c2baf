"""A minimal Debian in a folder, entered like a container: what a stranger's machine has, and nothing else.

mmdebstrap makes the system once; it is kept in the build cache. Each test gets a fresh copy. Commands run in
namespaces of their own, so that what is mounted for them is gone when they end. pip finds in there what it
is configured to find out here: its settings are passed on, and the folders and files they name can be read
in there, below /outside. As in a container, /sys can be read: torch asks it for the processor on aarch64.
Nothing of this machine can be written from in there, but for pip's own cache.
"""

from __future__ import annotations

import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from common.build.cache import default_cache

PACKAGES = ("g++", "python3", "python3-venv", "ca-certificates")  # what README.md asks for
_PASSED_ON = re.compile(r"PIP_\w+|\w+_proxy|\w+_PROXY|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE")
_OUTSIDE = "/outside"
_HOME = "/root"  # in there
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

# Arguments: the root, then what is bound, its place in the root and how (ro, rw), each; then "--" and the
# command.
_ENTER = """
set -e
root=$1
shift
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --bind /sys "$root/sys"
mount -o remount,bind,ro "$root/sys"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
    if [ -d "$1" ]; then mkdir -p "$root$2"; else mkdir -p "$root${2%/*}"; : >>"$root$2"; fi
    mount --bind "$1" "$root$2"
    mount -o "remount,bind,$3" "$root$2"
    shift 3
done
shift
cd "$root"
mkdir -p .outside
pivot_root . .outside
umount -l .outside
exec "$@"
"""


def missing() -> str:
    """Why this machine can make no bare root; "" if it can."""
    if os.geteuid() != 0:
        return "a bare root needs root, to enter it"
    if shutil.which("mmdebstrap") is None:
        return "a bare root needs mmdebstrap (Debian, Ubuntu: apt install mmdebstrap)"
    probe = ["unshare", "--mount", "--pid", "--fork", "true"]
    if subprocess.run(probe, capture_output=True, check=False).returncode != 0:
        return "a bare root needs mount and process namespaces, which are forbidden here"
    return ""


def kept() -> Path:
    """Where systems and pip's downloads are kept from one run to the next."""
    folder = default_cache().root / "bare_roots"
    folder.mkdir(exist_ok=True)
    return folder


@dataclass
class Spent:
    """What a command took. Wall time counts on an idle machine alone."""

    wall_seconds: float
    cpu_seconds: float
    status: int
    output: str
    of_pip: str  # what pip said

    @property
    def downloaded_mb(self) -> float:
        """What pip said that it fetched: from the index, and from folders that an option names."""
        units = {"kB": 1e-3, "MB": 1.0, "GB": 1e3}
        sizes = re.findall(r"^ *Downloading \S+ \(([\d.]+) (kB|MB|GB)\)", self.of_pip, re.MULTILINE)
        local = re.findall(r"^ *Processing (/\S+\.whl)", self.of_pip, re.MULTILINE)
        return sum(float(size) * units[unit] for size, unit in sizes) + sum(map(_megabytes, local))


def _megabytes(path: str) -> float:
    return Path(path.removeprefix(_OUTSIDE)).stat().st_size / 1e6


class Root:
    """A fresh copy of a minimal system."""

    def __init__(self, folder: Path, suite: str, packages: tuple[str, ...] = PACKAGES) -> None:
        self.folder = folder
        self.log: list[str] = []
        folder.mkdir(parents=True)
        subprocess.run(["tar", "-C", str(folder), "-xf", str(_system(suite, packages))], check=True)

    def run(self, command: str, *, cwd: str = "/", pip_cache: bool = True, seconds: float = 5400) -> Spent:
        """Run a shell command in there; what it printed and took is added to the log."""
        bound = [("/etc/resolv.conf", "/etc/resolv.conf", "ro")]
        if pip_cache:
            (kept() / "pip").mkdir(exist_ok=True)
            bound.append((str(kept() / "pip"), f"{_HOME}/.cache/pip", "rw"))
        settings = []
        for name, value in _settings().items():
            named = [_word_inside(word) for word in value.split()]
            settings.append(f"{name}={' '.join(word for word, _ in named)}")
            bound += [(path, f"{_OUTSIDE}{path}", "ro") for _, path in named if path]
        inside = ["env", "-i", f"HOME={_HOME}", "LANG=C.UTF-8", f"PATH={_PATH}", *settings]
        inside += ["sh", "-c", f"cd {shlex.quote(cwd)} && {command}"]
        places = [part for each in dict.fromkeys(bound) for part in each]
        outside = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _ENTER, "sh"]
        log = self.folder / cwd.lstrip("/") / ".venv" / "install.log"
        read = log.stat().st_size if log.exists() else 0
        started, before = time.monotonic(), _cpu_seconds()
        done = subprocess.run(
            [*outside, str(self.folder), *places, "--", *inside],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=seconds,
            check=False,
        )
        of_pip = log.read_bytes()[read:].decode() if log.exists() else ""
        spent = Spent(
            time.monotonic() - started, _cpu_seconds() - before, done.returncode, done.stdout, of_pip
        )
        self.log += [f"$ cd {cwd} && {command}", done.stdout.rstrip(), f"{_in_words(spent)}\n"]
        return spent

    def write_log(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(self.log))


def _in_words(spent: Spent) -> str:
    return (
        f"[exit status {spent.status}; {spent.wall_seconds:.0f} s, CPU {spent.cpu_seconds:.0f} s; "
        f"{spent.downloaded_mb:.0f} MB of packages fetched]"
    )


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _system(suite: str, packages: tuple[str, ...]) -> Path:
    """The system as an archive, made at the first need."""
    name = "+".join((suite, *packages)).replace("g++", "gxx")
    archive = kept() / f"{name}.tar"
    if not archive.exists():
        begun = archive.with_name(f"begun-{os.getpid()}-{archive.name}")
        include = [f"--include={','.join(packages)}"] if packages else []
        subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", *include, suite, str(begun)], check=True
        )
        begun.rename(archive)
    return archive


def _settings() -> dict[str, str]:
    """pip's settings out here as environment variables, and those of the network."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    found = {
        f"PIP_{name.upper().replace('-', '_')}": value
        for name, value in re.findall(r"^(?:global|install)\.([\w-]+)='(.*)'$", listed, re.MULTILINE)
    }
    return found | {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}


def _word_inside(word: str) -> tuple[str, str]:
    """A word of a setting as it reads in there, and the file or folder of this machine that it needs. None of
    them keeps its place: packages that are installed in there write to some."""
    scheme = "file://" if word.startswith("file://") else ""
    path = Path(word.removeprefix(scheme))
    if not (path.is_absolute() and path.exists() and len(path.parts) > 2):
        return word, ""
    # The pages of an index name files that lie beside them.
    return f"{scheme}{_OUTSIDE}{path}", str(path.parent if scheme else path)
