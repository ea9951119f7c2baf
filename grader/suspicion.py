"""Calls in a submission's library that a kernel has no need of: a flag for a person, never points."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

_UNUSUAL = re.compile(
    r"^(dlopen|dlsym|dlmopen|fork|vfork|clone|exec[lv]\w*|posix_spawn\w*|system|popen|socket|connect|bind|"
    r"ptrace|process_vm_\w+|mprotect|syscall|pthread_create|open|openat|fopen|open64|kill|_exit|"
    r"shm_open|memfd_create|mmap|getenv|environ)$"
)

# The file may be made to hurt its reader.
_WITH_LITTLE_MEMORY = ("/bin/sh", "-c", 'ulimit -v 1048576; exec "$@"', "sh")


def flags_of(library: Path) -> list[str]:
    """One sentence per name, from the symbols the library asks of others."""
    names = sorted(wanted_symbols(library))
    return [f"calls {name}, which a kernel has no need of" for name in names if _UNUSUAL.match(name)]


@functools.cache  # a library is found by what it holds, so it never changes
def wanted_symbols(library: Path) -> frozenset[str]:
    """The symbols that a library asks of others; none where it cannot be read."""
    try:
        listing = subprocess.run(
            [*_WITH_LITTLE_MEMORY, "nm", "-D", "--undefined-only", "--format=posix", str(library)],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return frozenset(line.split()[0].partition("@")[0] for line in listing.splitlines() if line.strip())
