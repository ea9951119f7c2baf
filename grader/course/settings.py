"""The course's settings: `course.toml` at the repository's root, or the file named by --settings.

official_device = "gpu"     # where marks count: "gpu" or "virtual"; without it, wherever they are made
profile = "h200"            # the card that the virtual GPU models; `./course run --help` lists them
wall_seconds = 300          # the most CPU time and sleep of one submission; waits for a CPU are free
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.gpu.devices import find_gpus, first_gpu
from common.virtual_gpu.profiles import DEFAULT_PROFILE, profiles
from grader.records.device_info import GPU, KINDS, VIRTUAL, DeviceInfo

DEFAULT_FILE = REPOSITORY / "course.toml"


@dataclass(frozen=True)
class Settings:
    """What an instructor decides once for a course."""

    official_device: str = ""
    wall_seconds: float = 300.0
    profile: str = DEFAULT_PROFILE

    def is_official(self, device: str) -> bool:
        return not self.official_device or device == self.official_device

    def remark(self, device: str) -> str:
        """A remark for marks made on `device`; empty where they count."""
        if self.is_official(device):
            return ""
        return f"not official: this course's marks are made on {DeviceInfo(self.official_device, '')}"


def read_settings(file: Path | None = None) -> Settings:
    """The settings of a file; the defaults where none is named and course.toml does not exist."""
    path = file or DEFAULT_FILE
    if file is None and not path.exists():
        return Settings()
    try:
        data = tomllib.loads(path.read_text())
    except (OSError, ValueError) as problem:
        raise CourseError(f"the settings {path} cannot be read: {problem}") from problem
    return _checked(data, path)


def _checked(data: dict[str, Any], path: Path) -> Settings:
    known = {field.name for field in fields(Settings)}
    if unknown := sorted(set(data) - known):
        raise CourseError(f"{path} has a setting {unknown[0]!r}; the settings are {', '.join(sorted(known))}")
    device = data.get("official_device", "")
    if device not in ("", *KINDS):
        raise CourseError(
            f"{path}: official_device is {device!r} where one of {', '.join(KINDS)} was expected"
        )
    seconds = data.get("wall_seconds", Settings.wall_seconds)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise CourseError(
            f"{path}: wall_seconds is {seconds!r} where a number of seconds above 0 was expected"
        )
    profile = data.get("profile", Settings.profile)
    if profile not in profiles():
        raise CourseError(f"{path}: profile is {profile!r} where one of {', '.join(profiles())} was expected")
    return Settings(device, float(seconds), profile)


def choose_device(asked: str | None, settings: Settings) -> DeviceInfo:
    """The device asked for, else the course's official one, else a GPU if there is one.

    A machine without a GPU uses the virtual one instead of the official GPU; its marks are then labelled.
    """
    gpus = find_gpus()
    kind = asked or (settings.official_device if gpus else VIRTUAL) or GPU
    if kind == GPU:
        gpu = first_gpu()
        return DeviceInfo(GPU, gpu.name, driver=gpu.driver)
    return DeviceInfo(VIRTUAL, settings.profile)
