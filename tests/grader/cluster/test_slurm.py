"""A class as jobs of a real Slurm of three nodes: a node, a worker and the command itself are killed, and the
records are those of a run on one machine.

COURSE_CLUSTER=60 makes it a class of so many submissions over all exercises.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from common.build.cache import default_cache
from common.build.engine.build import build_engine
from common.core.paths import REPOSITORY
from common.core.proc import all_processes
from grader.classes.run_log import read_runs
from grader.records.record import Record
from grader.spec import registry
from tests.grader.cluster.dask_here import without_times
from tests.grader.cluster.slurm_here import missing, slurm_here
from tests.waiting import wait_until

pytest.importorskip("dask_jobqueue", reason="needs dask-jobqueue: pip install -r requirements/cluster.txt")
pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "Slurm is here")

MANY = int(os.environ.get("COURSE_CLUSTER", "0"))
_MINUTES = 60.0
_LONG = 60 * _MINUTES  # a class of 60 on a busy machine
SETTINGS = """
[slurm]
jobs = 3
memory = "2GB"
walltime = "01:00:00"
partition = "all"
interface = "lo"
"""


def hand_in(folder: Path) -> int:
    """Solutions and starters, of the first two exercises or of all; returns how many."""
    exercises = registry.all_exercises() if MANY else registry.all_exercises()[:2]
    files = [(one.id, file) for one in exercises for file in (one.solution, one.starter, one.baseline)]
    many = itertools.islice(itertools.cycle(files), MANY or len(files))
    for number, (exercise, file) in enumerate(many):
        target = folder / f"student{number:02}" / exercise / "kernel.cu"
        target.parent.mkdir(parents=True)
        shutil.copy(file, target)
    return MANY or len(files)


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
        assert wait_until(lambda: done() >= 1 or first.poll() is not None, 15 * _MINUTES)
        assert first.poll() is None, log.read_text()
        slurm.kill_node("node2")
        _kill_a_worker()
        assert wait_until(lambda: done() >= 2 or first.poll() is not None, 15 * _MINUTES)
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
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
    assert {Record.read(path).points for path in records} >= {0.0, 100.0}


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
