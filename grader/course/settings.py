"""The course's settings: `course.toml` at the repository's root, or the file named by --settings.

official_device = "gpu"     # where marks count: "gpu" or "virtual"; without it, wherever they are made
profile = "h200"            # the card that the virtual GPU models; `./course run --help` lists them
wall_seconds = 300          # the most CPU time and sleep of one submission; waits for a CPU are free
on = "slurm"                # where classes are graded; without it, on this machine (docs/teaching.md)

[cluster]                   # for every `on` but this machine
missing_walls = true        # let nodes grade that lack Landlock or seccomp
unencrypted = true          # let schedulers on other machines be reached without TLS

[slurm]                     # for `on = "slurm"`
jobs = 4                    # how many jobs are submitted
cpus = 8                    # of each job; as many submissions are graded at once
memory = "16GB"             # of each job
walltime = "02:00:00"       # of each job; those that end are replaced
partition = "short"
account = "cs101"
gpus = 1                    # of each job; asked for with --gres
interface = "ib0"           # the network between the nodes and this machine
python = "/opt/course/.venv/bin/python"   # on the nodes; without it, the one that runs this command
prologue = ["module load cuda/13"]        # lines of shell before a worker starts
directives = ["--exclude=node7"]          # further options of sbatch
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.gpu.devices import find_gpus, first_gpu
from common.virtual_gpu.profiles import DEFAULT_PROFILE, profiles
from grader.records.device_info import GPU, KINDS, VIRTUAL, DeviceInfo

DEFAULT_FILE = REPOSITORY / "course.toml"
Table = TypeVar("Table")


@dataclass(frozen=True)
class Cluster:
    """What a site allows on machines other than this one."""

    missing_walls: bool = False
    unencrypted: bool = False


@dataclass(frozen=True)
class Slurm:
    """The jobs that grade, as sbatch is asked for them."""

    jobs: int = 1
    cpus: int = 1
    memory: str = "4GB"
    walltime: str = "01:00:00"
    partition: str = ""
    account: str = ""
    gpus: int = 0
    interface: str = ""
    python: str = ""
    prologue: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Settings:
    """What an instructor decides once for a course."""

    official_device: str = ""
    wall_seconds: float = 300.0
    profile: str = DEFAULT_PROFILE
    on: str = ""
    cluster: Cluster = Cluster()
    slurm: Slurm = Slurm()

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
    on = data.get("on", Settings.on)
    if not isinstance(on, str):
        raise CourseError(f"{path}: on is {on!r} where a text was expected")
    cluster = _table(Cluster, data.get("cluster", {}), f"{path}: cluster")
    return Settings(
        device,
        float(seconds),
        profile,
        on,
        cluster,
        _table(Slurm, data.get("slurm", {}), f"{path}: slurm"),
    )


_WORDS: dict[type, str] = {bool: "true or false", int: "a whole number above 0", str: "a text"}


def _table(kind: type[Table], data: object, where: str) -> Table:
    """A table of the settings, with a sentence about what does not belong there."""
    if not isinstance(data, dict):
        raise CourseError(f"{where} is {data!r} where a table was expected")
    defaults = {field.name: field.default for field in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(set(data) - set(defaults)):
        raise CourseError(f"{where} has a setting {unknown[0]!r}; its settings are {', '.join(defaults)}")
    values: dict[str, Any] = {}
    for name, value in data.items():
        wanted = type(defaults[name])
        if wanted is tuple:
            if not isinstance(value, list) or not all(isinstance(line, str) for line in value):
                raise CourseError(f"{where}: {name} is {value!r} where a list of texts was expected")
            values[name] = tuple(value)
        elif type(value) is not wanted or (wanted is int and value < (name != "gpus")):
            raise CourseError(f"{where}: {name} is {value!r} where {_WORDS[wanted]} was expected")
        else:
            values[name] = value
    return kind(**values)


def choose_device(asked: str | None, settings: Settings) -> DeviceInfo:
    """The device asked for, else the course's official one, else a GPU if there is one.

    A machine without a GPU uses the virtual one instead of the official GPU; its marks are then labelled.
    """
    gpus = find_gpus()
    chosen = DeviceInfo(asked or (settings.official_device if gpus else VIRTUAL) or GPU, settings.profile)
    if chosen.modelled:
        return chosen
    gpu = first_gpu()
    return DeviceInfo(GPU, gpu.name, driver=gpu.driver)
