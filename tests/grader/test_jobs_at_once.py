"""A class has the same modelled times, findings and counters under every number of jobs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from grader.classes.class_run import ClassRun, grade_all
from grader.classes.submissions import Submission
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from tests.grader.cluster.dask_here import without_times
from tests.grader.stepped_exercise import EXERCISE, SOLUTION
from tests.grader.test_timed_calls import BEHIND, COPY, RACE

KINDS = {
    "right": SOLUTION.read_text(),
    "with a race": SOLUTION.read_text().replace(COPY, RACE + COPY),
    "behind the end": SOLUTION.read_text().replace(COPY, BEHIND + COPY),
    "the same": SOLUTION.read_text(),
}
MANY = 4  # more than many a machine has CPUs


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[Record]]:
    """By the number of jobs."""
    folder = tmp_path_factory.mktemp("jobs")
    submissions = []
    for number, (name, text) in enumerate(KINDS.items()):
        path = folder / f"{number}.cu"
        path.write_text(text)
        submissions.append(Submission(name, EXERCISE.id, path))
    graded = {}
    for jobs in (1, MANY):
        run = ClassRun(
            DeviceInfo("virtual", "h200"),
            {EXERCISE.id: EXERCISE},
            folder / f"{jobs} jobs",
            jobs=jobs,
            seed="a seed",
        )
        graded[jobs] = grade_all(run, submissions)
    return graded


def what_is_graded(record: Record) -> dict[str, Any]:
    """All of it, but for times of the clock and for nvcc's own name of an unnamed namespace, which follows
    from the folder that the file lay in while it was graded."""
    data: dict[str, Any] = json.loads(without_times(record))
    for launch in data["launches"]:
        del launch["mangled"]
    return data


@pytest.mark.parametrize("number", range(len(KINDS)), ids=list(KINDS))
def test_a_record_is_that_of_one_job(number: int, records: dict[int, list[Record]]):
    assert what_is_graded(records[MANY][number]) == what_is_graded(records[1][number])


def test_there_are_modelled_times_findings_and_counters_to_compare(records: dict[int, list[Record]]):
    right, race, behind, same = records[MANY]
    assert right.speed is not None
    assert right.speed.modelled
    assert all(case.seconds > 0 for case in right.speed.cases)
    assert right.launches
    assert race.findings
    assert behind.findings
    assert same.speed == right.speed
