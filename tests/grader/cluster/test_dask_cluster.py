"""A class on a Dask cluster has the records of a run on one machine, whatever is killed meanwhile."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.classes.class_run import UNGRADED, ClassRun, grade_all
from grader.classes.run_log import read_runs
from grader.classes.submissions import Submission
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.spec import registry
from tests.grader.cluster.dask_here import DaskHere, dask_here, graded_on, without_times
from tests.grader.course_fixtures import FIRST, GRADER, course
from tests.waiting import LONG, wait_until

pytest.importorskip("distributed", reason="needs Dask: pip install -r requirements/cluster.txt")

__all__ = ["course"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two workers. A test that stops one adds another."""
    with dask_here(tmp_path_factory.mktemp("cluster") / "dask", workers=2) as started:
        yield started


def class_run(course: Path, output: str = "grades") -> ClassRun:
    return ClassRun(
        device=DeviceInfo("virtual", "h200"),
        exercises={exercise.id: exercise for exercise in registry.all_exercises()},
        output=course / output,
        wall_seconds=4.0,
        grader=GRADER,
        seed="5eed",
    )


def submit(course: Path, student: str, text: str) -> Submission:
    path = course / "handed-in" / f"{student}.cu"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return Submission(student, FIRST, path)


def test_records_are_those_of_this_machine_but_for_times(course, cluster: DaskHere):
    kinds = {
        "good": "// fine",
        "wrong": "// wrong",
        "hanging": "// hang",
        "killed": "// die",
        "broken": "// fail",
    }
    submissions = [submit(course, name, text) for name, text in kinds.items()]
    here, there = class_run(course), class_run(course, "elsewhere")
    grade_all(here, submissions)
    records = graded_on(cluster.file, there, submissions)
    assert [record.submission for record in records] == list(kinds)
    for submission in submissions:
        assert without_times(there.record_path(submission)) == without_times(here.record_path(submission))


def test_a_grader_that_breaks_is_tried_twice_with_its_seed_as_on_this_machine(
    course, cluster: DaskHere, tmp_path
):
    mark = tmp_path / "mark"
    for run in (class_run(course), class_run(course, "elsewhere")):
        mark.unlink(missing_ok=True)
        text = f"// mark: {mark} \n// fail\n"
        submissions = [submit(course, "alice", text)]
        elsewhere = run.output.name == "elsewhere"
        [record] = graded_on(cluster.file, run, submissions) if elsewhere else grade_all(run, submissions)
        assert mark.read_text() == "xx"
        assert (record.verdict, record.seed) == (UNGRADED, run.seed_of(FIRST))
        assert "the grader itself is broken" in record.flags[0]
        assert "tried twice" in record.flags[0]
        [row] = read_runs(run.output)[-1].rows
        assert "the grader itself is broken" in row.lost[0], "the instructor's page on the run has it"


def test_what_broke_once_has_its_record_and_the_instructor_is_told(course, cluster: DaskHere, tmp_path):
    run = class_run(course)
    submission = submit(course, "alice", f"// stumble: {tmp_path / 'once'} \n// fine")
    [record] = graded_on(cluster.file, run, [submission])
    assert record.verdict == "full marks"
    [row] = read_runs(run.output)[-1].rows
    assert "the grader itself is broken" in row.lost[0]


def test_what_was_graded_elsewhere_is_not_graded_again_here(course, cluster: DaskHere, tmp_path):
    mark = tmp_path / "mark"
    submission = submit(course, "alice", f"// mark: {mark} \n")
    graded_on(cluster.file, class_run(course), [submission])
    grade_all(class_run(course), [submission])
    assert mark.read_text() == "x"


def test_a_submission_that_ends_its_worker_is_tried_on_three_and_others_lose_nothing(
    course, cluster: DaskHere, capfd
):
    submissions = [submit(course, f"s{number}", f"// slow {number}") for number in range(4)]
    poison = submit(course, "poison", "// end the worker")
    run = class_run(course)
    records = graded_on(cluster.file, run, [submissions[0], poison, *submissions[1:]])
    verdicts = {record.submission: record.verdict for record in records}
    assert verdicts == {"poison": UNGRADED} | {f"s{number}": "full marks" for number in range(4)}
    [flag] = next(record.flags for record in records if record.submission == "poison")
    assert flag.startswith(f"{UNGRADED}: tried on 3 workers, none of which returned a record")
    [row] = [row for row in read_runs(run.output)[-1].rows if row.student == "poison"]
    assert len(row.lost) == 3
    assert "was lost while it graded poison" in capfd.readouterr().err


def test_a_worker_that_is_killed_costs_time_alone(course, cluster: DaskHere, tmp_path):
    submissions = [submit(course, f"s{number}", f"// slow {number}") for number in range(6)]
    run = class_run(course)
    killer = threading.Thread(target=_kill_after, args=(cluster, run, submissions[0]))
    killer.start()
    records = graded_on(cluster.file, run, submissions)
    killer.join()
    assert {record.verdict for record in records} == {"full marks"}
    rows = read_runs(run.output)[-1].rows
    assert sorted(row.student for row in rows) == [f"s{number}" for number in range(6)], "each counts once"


def _kill_after(cluster: DaskHere, run: ClassRun, first: Submission) -> None:
    assert wait_until(run.record_path(first).is_file)
    cluster.kill_worker()


SCRIPT = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from grader.classes.class_run import ClassRun, grade_all
    from grader.classes.submissions import Submission
    from grader.cluster.choose import executor_for
    from grader.course.settings import Settings
    from grader.records.device_info import DeviceInfo
    from grader.spec.registry import load

    course = Path(sys.argv[1])
    with executor_for(sys.argv[2], Settings(), "virtual") as place:
        exercise = load(course / "exercises" / "01_first")
        run = ClassRun(
            place.device, {exercise.id: exercise}, course / "grades", 4.0, seed="5eed",
            grader="tests.grader.fake_pipeline:grade", executor=place.executor,
        )
        files = sorted((course / "handed-in").iterdir())
        for record in grade_all(run, [Submission(path.stem, exercise.id, path) for path in files]):
            print(record.submission, record.verdict)
    """
)


def command(course: Path, cluster: DaskHere) -> subprocess.Popen[str]:
    """A run in a process of its own, which grades what is handed in."""
    script = course / "run.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), *sys.path])}
    return subprocess.Popen(
        [sys.executable, str(script), str(course), str(cluster.file)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_a_command_that_is_killed_goes_on_where_it_was(course, cluster: DaskHere):
    submissions = [submit(course, f"s{number}", f"// slow {number}") for number in range(6)]
    run = class_run(course)
    with command(course, cluster) as first:
        assert wait_until(lambda: sum(run.record_path(one).is_file() for one in submissions) >= 2)
        first.send_signal(signal.SIGKILL)
    before = {one: run.record_path(one).read_bytes() for one in submissions if _has_key(run, one)}
    assert 1 <= len(before) < 6
    printed, _ = command(course, cluster).communicate(timeout=LONG)
    assert printed.splitlines() == [f"s{number} full marks" for number in range(6)]
    assert {one: run.record_path(one).read_bytes() for one in before} == before, "these are kept"
    assert len(read_runs(run.output)[-1].rows) == 6 - len(before)


def _has_key(run: ClassRun, submission: Submission) -> bool:
    record = run.record_path(submission)
    return (record.parent / ".keys" / record.stem).is_file()


def test_a_run_goes_on_with_a_scheduler_that_was_started_again(course, tmp_path):
    submissions = [submit(course, f"s{number}", f"// slow {number}") for number in range(4)]
    run = class_run(course)
    with dask_here(tmp_path / "dask", workers=1) as own, command(course, own) as running:
        assert wait_until(run.record_path(submissions[0]).is_file)
        own.stop_scheduler()
        own.stop_worker(own.workers[0])
        own.start_scheduler()
        own.add_worker()
        printed, noted = running.communicate(timeout=LONG)
    assert printed.splitlines() == [f"s{number} full marks" for number in range(4)]
    assert "the scheduler does not answer" in noted


def test_a_node_with_another_version_of_the_course_refuses(course, tmp_path):
    other = tmp_path / "other"
    for name in ("grader", "common", "exercises"):
        shutil.copytree(REPOSITORY / name, other / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", other)
    script = other / "common" / "worker" / "native_script.py"
    script.write_text(script.read_text() + "# another version\n")
    with dask_here(tmp_path / "dask", workers=0) as own:
        own.course = other
        own.add_worker()
        with pytest.raises(CourseError, match="the grader differ from the submitting machine's"):
            graded_on(own.file, class_run(course), [submit(course, "alice", "// fine")])


def test_nobody_connects_without_the_certificate(cluster: DaskHere, tmp_path, course):
    alone = tmp_path / "scheduler.json"
    shutil.copy(cluster.file, alone)
    with pytest.raises(CourseError, match="does not answer.*TLS"):
        graded_on(alone, class_run(course), [submit(course, "alice", "// fine")])


def test_a_client_that_cannot_connect_is_closed_at_once():
    """Collected later, while another one starts, it would keep both from going on."""
    from grader.cluster.client import SchedulerClient

    with pytest.raises(TypeError, match="TLS") as failed:  # it holds the frames, and they hold the client
        SchedulerClient("tls://127.0.0.1:9", timeout=1, set_as_default=False)  # without a certificate
    clients = [one for one in gc.get_objects() if type(one) is SchedulerClient]
    assert failed.value
    assert clients
    assert {client.status for client in clients} == {"closed"}


def test_the_certificate_is_the_owners_alone(cluster: DaskHere):
    assert cluster.folder.stat().st_mode & 0o077 == 0
    assert (cluster.folder / "key.pem").stat().st_mode & 0o077 == 0


def test_a_record_is_whole_on_disk_as_soon_as_it_came(course, cluster: DaskHere):
    run, submission = class_run(course), submit(course, "alice", "// fine")
    [record] = graded_on(cluster.file, run, [submission])
    assert Record.read(run.record_path(submission)) == record
