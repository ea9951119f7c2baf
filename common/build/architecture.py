"""Names of architectures, "sm_90a", and which devices run code for them."""

from __future__ import annotations

import re

from common.core.errors import CourseError

_NAME = re.compile(r"sm_(\d{2,3})(a?)")


def is_architecture(text: object) -> bool:
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def runs(arch: str, device: str) -> bool:
    """Whether a device of the compute capability `device`, such as "90", runs code for `arch`. Newer devices
    run code for sm_90, too; only devices of 9.0 run code for sm_90a."""
    number, own = _parts(arch)
    return number == device if own else int(number) <= int(device)


def capability_of(arch: str, device: str) -> str:
    """What the compiler calls an architecture, "90a" of "sm_90a". Raises CourseError with a sentence if a
    device of the compute capability `device` does not run code for it."""
    number, own = _parts(arch)
    if runs(arch, device):
        return number + own
    if own:
        raise CourseError(
            f"{arch} runs on devices of compute capability {_with_dot(number)} alone; "
            f"this one has {_with_dot(device)}"
        )
    raise CourseError(f"{arch} is newer than this device, whose compute capability is {_with_dot(device)}")


def _parts(arch: str) -> tuple[str, str]:
    match = _NAME.fullmatch(arch)
    if match is None:
        raise CourseError(f"there is no architecture {arch!r}: write it as sm_80, sm_90 or sm_90a")
    return match[1], match[2]


def _with_dot(capability: str) -> str:
    return f"{capability[:-1]}.{capability[-1]}"
