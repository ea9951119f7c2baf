"""The device profiles, read in one place: profiles.json as objects."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.core.errors import CourseError
from common.virtual_gpu.decode import ENGINE, decode, listed_in

PROFILES = Path(__file__).with_name("profiles.json")


@listed_in(ENGINE / "device" / "profile.def", {"COUNT": int, "FIGURE": float})
class Profile:
    """A GPU model: engine/device/profile.def lists the numbers and says what some of them mean."""

    name: str

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    @property
    def compute_capability(self) -> str:
        """As the compiler spells it: "90"."""
        return f"{self.cc_major}{self.cc_minor}"


@functools.cache
def profiles() -> Mapping[str, Profile]:
    """Every profile that comes with the course, by the name that `--profile` takes."""
    document = json.loads(PROFILES.read_text())
    return {name: decode(Profile, entry) for name, entry in document["profiles"].items()}


def find_profile(name: str) -> Profile:
    if name not in profiles():
        raise CourseError(f"there is no profile {name!r}; there are {', '.join(sorted(profiles()))}")
    return profiles()[name]


DEFAULT_PROFILE: str = json.loads(PROFILES.read_text())["default"]
