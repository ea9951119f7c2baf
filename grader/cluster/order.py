"""What a node is sent: one submission of one exercise, with everything that its record depends on."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.classes.dependencies import changed, dependencies, read_key
from grader.classes.executor import Task
from grader.classes.submissions import Submission, kernel_name
from grader.records.device_info import DeviceInfo
from grader.spec import Exercise
from grader.spec.registry import load
from grader.words.text import listed

if TYPE_CHECKING:
    from grader.classes.class_run import ClassRun


@dataclass(frozen=True)
class Order:
    """Plain data, so that it can be sent as JSON. The same order gives the same record on every node."""

    student: str
    folder: str  # the exercise's; relative to the course, unless it lies elsewhere
    file: str  # kernel.cu or kernel.py
    source: str
    seed: str
    device: dict[str, str]
    wall_seconds: float
    grader: str
    key: str  # hashes of all that the record depends on, as the submitting machine has it
    without_walls: bool = False  # the site lets nodes grade that lack walls

    @staticmethod
    def of(run: ClassRun, task: Task, *, without_walls: bool) -> Order:
        exercise = run.exercises[task.submission.exercise]
        folder = exercise.folder.absolute()
        ours = folder.is_relative_to(REPOSITORY)
        return Order(
            task.submission.student,
            str(folder.relative_to(REPOSITORY) if ours else folder),
            kernel_name(task.submission.source),
            task.data.decode(),
            run.seed_of(exercise.id),
            dataclasses.asdict(run.device),
            run.wall_seconds,
            run.grader,
            task.key,
            without_walls,
        )

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Order:
        return Order(**data)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def without_source(self) -> Order:
        """To ask a node whether it would grade such a submission."""
        return dataclasses.replace(self, student="", source="")

    @property
    def on(self) -> DeviceInfo:
        return DeviceInfo(**self.device)

    @property
    def task(self) -> Task:
        submission = Submission(self.student, Path(self.folder).name, Path(self.file))
        return Task(submission, self.source.encode(), self.key)

    def exercise(self) -> Exercise:
        folder = REPOSITORY / self.folder
        if not (folder / "exercise.py").is_file():
            raise CourseError(f"it has no exercise in {folder}")
        return load(folder)

    def differences(self) -> str:
        """What this machine has in another version than the submitting one; empty where all is the same."""
        here = dependencies(self.exercise(), self.on, self.grader, self.wall_seconds, self.seed)
        differing = changed(read_key(self.key), here)
        return listed(differing) if differing else ""
