"""Where a new process's memory lies: at addresses that the kernel draws, or at the same ones every time.

nvcc's compiler for device code orders some of its work by the addresses of its data. With addresses that are
drawn anew, one file compiles to code that differs from run to run, and with it in counters and modelled time.
"""

from __future__ import annotations

import ctypes
import os
import resource

_ADDR_NO_RANDOMIZE = 0x0040000
_ASK = 0xFFFFFFFF
_STACK_BYTES = 8 << 20  # where the rest of the memory begins depends on the room for the stack

_libc = ctypes.CDLL(None, use_errno=True)


def can_fix_addresses() -> bool:
    """Tried in a process of its own, so that this one stays as it is."""
    child = os.fork()
    if child == 0:
        os._exit(0 if fix_addresses() else 1)
    return os.waitpid(child, 0)[1] == 0


def fix_addresses() -> bool:
    """For the programs that this process becomes and starts. False where the system refuses, as a container
    with Docker's usual rules does: then nothing has changed."""
    now = _libc.personality(ctypes.c_ulong(_ASK))
    if now < 0 or _libc.personality(ctypes.c_ulong(now | _ADDR_NO_RANDOMIZE)) < 0:
        return False
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    if most == resource.RLIM_INFINITY or most >= _STACK_BYTES:
        resource.setrlimit(resource.RLIMIT_STACK, (_STACK_BYTES, most))
    return True
