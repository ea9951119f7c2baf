"""A mixed class as jobs of a real Slurm of three nodes: when about half of it is graded, a node, a worker and
the command itself are killed, and the records are those of a run on one machine.

COURSE_CLUSTER=60 makes it a class of so many submissions, with everything of each exercise but 06: a right
kernel of that takes minutes here.
"""

from __future__ import annotations

import importlib
import itertools
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from common.build.cache import default_cache
from common.build.engine.build import build_engine
from common.core.paths import REPOSITORY
from common.core.proc import all_processes
from grader.classes.run_log import read_runs
from grader.records.record import Record
from grader.spec import Exercise, registry
from tests.grader.cluster.dask_here import without_times
from tests.grader.cluster.slurm_here import missing, slurm_here
from tests.waiting import wait_until

pytest.importorskip("dask_jobqueue", reason="needs dask-jobqueue: pip install -r requirements/cluster.txt")
pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "Slurm is here")

MANY = int(os.environ.get("COURSE_CLUSTER", "0"))
_MINUTES = 60.0
_LONG = 60 * _MINUTES  # a class of 60 on a busy machine
BAD = REPOSITORY / "tests" / "grader" / "bad_students"
DOES_NOT_COMPILE = "\nint unfinished = tokens +;\n"
WRONG_OF_EACH = 2  # of the wrong kernels of each exercise
VERDICTS = {"full marks", "wrong answer", "crashes", "does not compile"}
SETTINGS = """
[slurm]
jobs = 3
memory = "2GB"
walltime = "01:00:00"
partition = "all"
interface = "lo"
"""


def one_of_each() -> Iterator[tuple[str, str]]:
    """Exercises and sources: every exercise and every verdict, in a minute of CPU time."""
    first, second, third, *others = registry.all_exercises()
    yield first.id, first.solution.read_text()
    yield first.id, wrong_kernels(first)["waits for a flag that no thread sets"]
    yield first.id, (BAD / "crashes_on_the_host.cu").read_text()
    yield second.id, second.baseline.read_text()
    yield second.id, wrong_kernels(second)["flattened page table"]
    yield third.id, third.starter.read_text()
    for exercise in others:
        yield exercise.id, exercise.starter.read_text() + DOES_NOT_COMPILE


def everything() -> Iterator[tuple[str, str]]:
    """What is quick first, which comes more than once in a larger class."""
    yield from one_of_each()
    first, second, third, *others = registry.all_exercises()
    yield first.id, (BAD / "loops_on_the_host.cu").read_text()
    for exercise in (first, second, third, *others[:-1]):
        for file in (exercise.starter, exercise.baseline, exercise.solution):
            yield exercise.id, file.read_text()
        for source in itertools.islice(wrong_kernels(exercise).values(), WRONG_OF_EACH):
            yield exercise.id, source


def wrong_kernels(exercise: Exercise) -> dict[str, str]:
    module = importlib.import_module(f"tests.exercises.{exercise.id}.wrong_kernels")
    mistakes = getattr(module, "WRONG", None) or module.MISTAKES
    solution = exercise.solution.read_text()
    return {name: mistake.source(solution) for name, mistake in mistakes.items()}


def hand_in(folder: Path) -> int:
    """Returns how many."""
    sources = list(everything() if MANY else one_of_each())
    many = list(itertools.islice(itertools.cycle(sources), MANY or len(sources)))
    for number, (exercise, source) in enumerate(many):
        target = folder / f"student{number:02}" / exercise / "kernel.cu"
        target.parent.mkdir(parents=True)
        target.write_text(source)
    return len(many)


def start(folder: Path, output: Path, environment: dict[str, str], *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "grader", "grade", str(folder), "--output", str(output)]
    path = os.pathsep.join(filter(None, (str(REPOSITORY), environment.get("PYTHONPATH"))))
    with output.with_suffix(".log").open("ab") as log:
        return subprocess.Popen(
            [*command, "--device", "virtual", *options],
            env={**environment, "PYTHONPATH": path, "COURSE_CACHE": str(default_cache().root)},
            cwd=REPOSITORY,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def test_a_class_on_slurm_has_the_records_of_one_machine_whatever_is_killed(tmp_path):
    folder, there, here = (tmp_path / name for name in ("class", "there", "here"))
    count = hand_in(folder)
    build_engine()  # takes minutes; the nodes share this machine's build cache
    (tmp_path / "course.toml").write_text(SETTINGS)
    options = ("--on", "slurm", "--settings", str(tmp_path / "course.toml"))
    log = there.with_suffix(".log")

    def done() -> int:
        return len(list((there / "records").rglob("*.json")))

    with slurm_here() as slurm, ExitStack() as started:
        first = start(folder, there, slurm.environment, *options)
        started.callback(first.kill)

        def kill(what: Callable[[], object], when: int) -> None:
            assert wait_until(lambda: done() >= when or first.poll() is not None, _LONG)
            assert first.poll() is None, log.read_text()
            what()

        kill(lambda: slurm.kill_node("node2"), count // 2 - 1)
        kill(_kill_a_worker, count // 2)
        kill(lambda: os.killpg(first.pid, signal.SIGKILL), count // 2 + 1)
        first.wait()
        assert count // 2 < done() < count, "killed in the middle"
        kept = {path: path.read_bytes() for path in (there / "records").rglob("*.json") if _has_key(path)}
        second = start(folder, there, slurm.environment, *options)
        started.callback(second.kill)
        second.wait(_LONG)
        assert second.returncode == 0, log.read_text()
    assert {path: path.read_bytes() for path in kept} == kept, "what was graded is not graded again"
    assert len(read_runs(there)[-1].rows) == count - len(kept)

    here.mkdir()
    shutil.copy(there / ".secret", here / ".secret")
    assert start(folder, here, dict(os.environ)).wait(_LONG) == 0
    records = sorted((here / "records").rglob("*.json"))
    assert len(records) == count == done()
    for path in records:
        assert without_times(there / path.relative_to(here)) == without_times(path)
    assert {Record.read(path).verdict for path in records} >= VERDICTS


def _has_key(record: Path) -> bool:
    return (record.parent / ".keys" / record.stem).is_file()


def _kill_a_worker() -> None:
    """The process of a Dask worker, below the nanny of one of this run's jobs, which have such names."""
    nannies = {
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if b"distributed.cli.dask_worker" in _read(path) and b"\0--name\0Cluster-" in _read(path)
    }
    workers = [
        process.pid
        for process in all_processes()
        if process.parent in nannies and b"spawn_main" in _read(Path(f"/proc/{process.pid}/cmdline"))
    ]
    assert workers
    os.kill(workers[0], signal.SIGKILL)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
