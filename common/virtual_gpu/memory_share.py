"""How much memory the device of one grading may offer, so that all that run at once fit into this machine."""

from __future__ import annotations

import os

from common.core.proc import available_bytes
from common.virtual_gpu.profiles import find_profile

AT_ONCE = "COURSE_GRADINGS_AT_ONCE"  # set by whoever starts several
_SHARE = 0.6  # of what is available; the rest is for workers, checks and everybody else
_LEAST = 256 << 20


def memory_share(profile: str, devices: int) -> int:
    """Bytes for one device, where a grading has so many at once: no more than the card has."""
    at_once = int(os.environ.get(AT_ONCE, "1"))
    share = int(_SHARE * available_bytes() / (devices * at_once))
    return min(max(_LEAST, share), int(find_profile(profile).memory_bytes))
