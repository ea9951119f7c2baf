"""A Dask cluster on this machine, encrypted, started and killed by the tests themselves."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common.core.paths import REPOSITORY
from common.core.proc import all_processes
from grader.classes.class_run import ClassRun, grade_all
from grader.classes.submissions import Submission
from grader.cluster.certificate import security_beside
from grader.cluster.choose import executor_for
from grader.course.settings import Settings
from grader.records.record import Record
from tests.waiting import wait_until

TIMES = ("started", "seconds", "wall_seconds")  # what may differ between two gradings of one submission


@dataclasses.dataclass
class DaskHere:
    """`file` is what --on takes. `course` is the course that new workers have."""

    folder: Path
    course: Path = REPOSITORY
    interface: tuple[str, ...] = ("--interface", "lo")
    scheduler: subprocess.Popen[bytes] | None = None
    workers: list[subprocess.Popen[bytes]] = dataclasses.field(default_factory=list)

    @property
    def file(self) -> Path:
        return self.folder / "scheduler.json"

    def start_scheduler(self) -> None:
        self.scheduler = scheduler = self._start("start")
        wait_until(lambda: self.file.is_file() or scheduler.poll() is not None)
        assert self.file.is_file(), self.log()

    def stop_scheduler(self) -> None:
        assert self.scheduler is not None
        _end(self.scheduler)
        self.file.unlink()

    def add_worker(self) -> subprocess.Popen[bytes]:
        """A nanny with one worker, which it starts again when that is killed."""
        self.workers.append(self._start("join", "--workers", "1"))
        return self.workers[-1]

    def kill_worker(self) -> None:
        """The process in which Dask's worker runs, not the nanny."""
        for nanny in self.workers:
            if pid := _worker_of(nanny.pid):
                os.kill(pid, signal.SIGKILL)
                return
        raise AssertionError(f"no worker is running: {self.log()}")

    def stop_worker(self, worker: subprocess.Popen[bytes]) -> None:
        self.workers.remove(worker)
        _end(worker)

    def identity(self) -> dict[str, Any]:
        """What the scheduler says about itself and its workers."""
        from distributed.client import Client

        security = security_beside(str(self.file))
        with Client(scheduler_file=str(self.file), security=security, set_as_default=False) as client:
            found: dict[str, Any] = client.sync(client.scheduler.identity, n_workers=-1)
            return found

    def close(self) -> None:
        for process in [*self.workers, *filter(None, [self.scheduler])]:
            _end(process)

    def log(self) -> str:
        return (self.folder / "log.txt").read_text()[-3000:]

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        what, *rest = arguments
        command = [sys.executable, "-P", "-m", "grader", "cluster", what, str(self.folder), *rest]
        self.folder.mkdir(exist_ok=True)
        path = os.pathsep.join(filter(None, (str(self.course), os.environ.get("PYTHONPATH"))))
        with (self.folder / "log.txt").open("ab") as log:
            return subprocess.Popen(
                [*command, *self.interface],
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": path},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )


@contextmanager
def dask_here(folder: Path, workers: int) -> Iterator[DaskHere]:
    cluster = DaskHere(folder)
    try:
        cluster.start_scheduler()
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.close()


def graded_on(place: Path, run: ClassRun, submissions: list[Submission]) -> list[Record]:
    """By the executor that `--on PLACE` gives."""
    with executor_for(str(place), Settings(), "virtual") as there:
        return grade_all(dataclasses.replace(run, executor=there.executor), submissions)


def without_times(record: Record | Path) -> str:
    """A record's bytes but for times."""
    return json.dumps(
        _without(json.loads(record.read_text()) if isinstance(record, Path) else record.to_dict())
    )


def _without(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _without(value) for name, value in data.items() if name not in TIMES}
    return [_without(item) for item in data] if isinstance(data, list) else data


def _worker_of(nanny: int) -> int | None:
    for process in all_processes():
        if process.parent == nanny:
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
                if b"spawn_main" in command:
                    return process.pid
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """With its session; grading servers, which lead their own, end with their worker."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
