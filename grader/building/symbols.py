"""The symbols that a submission's library imports, and those that no kernel needs."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

from common.build.walled import reading

_UNUSUAL = re.compile(
    r"^(dlopen|dlsym|dlmopen|fork|vfork|clone|exec[lv]\w*|posix_spawn\w*|system|popen|socket|connect|bind|"
    r"ptrace|process_vm_\w+|mprotect|syscall|pthread_create|open|openat|fopen|open64|kill|_exit|"
    r"shm_open|memfd_create|mmap|getenv|environ)$"
)

# What libstdc++ itself imports. Some machines link it into the library, with these imports.
_CARRIES_LIBSTDCXX = "__gxx_personality_v0"
_OF_LIBSTDCXX = frozenset({"syscall", "getenv"})
# The file may be crafted to attack its reader.
_WITH_LITTLE_MEMORY = ("/bin/sh", "-c", 'ulimit -v 1048576; exec "$@"', "sh")
_UNDEFINED = "Uwv"


def unusual_calls(library: Path) -> list[str]:
    """One sentence per call that a kernel does not need: for a person to look at; it costs no points."""
    names = needed_symbols(library)
    if _CARRIES_LIBSTDCXX in _symbols(library)[1]:
        names -= _OF_LIBSTDCXX
    return [f"calls {name}, which no kernel needs" for name in sorted(names) if _UNUSUAL.match(name)]


def needed_symbols(library: Path) -> frozenset[str]:
    """The symbols that a library imports; none where it cannot be read."""
    return _symbols(library)[0]


@functools.cache  # a library's path contains its hash, so it never changes
def _symbols(library: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The names that it imports, and those that it defines."""
    try:
        listing = subprocess.run(
            reading([*_WITH_LITTLE_MEMORY, "nm", "-D", "--format=posix", str(library)], library),
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return frozenset(), frozenset()
    rows = [line.split() for line in listing.splitlines() if line.strip()]
    wanted: set[str] = set()
    had: set[str] = set()
    for name, kind, *_ in rows:
        (wanted if kind in _UNDEFINED else had).add(name.partition("@")[0])
    return frozenset(wanted), frozenset(had)
