"""Where a class is graded, what a node refuses, and how its CPUs and GPUs are shared: without any cluster."""

from __future__ import annotations

import dataclasses
import json
import threading

import pytest

from common.core.errors import CourseError
from common.gpu.devices import Gpu
from common.sandbox.kernel_facilities import Facility
from grader.classes.class_run import ClassRun
from grader.classes.dependencies import dependencies, record_key
from grader.classes.executor import Task
from grader.classes.local_processes import LocalProcesses
from grader.classes.submissions import Submission
from grader.cli.instructor import grade, mutants, nbgrader
from grader.cluster import choose, grading_server, leases
from grader.cluster.choose import executor_for
from grader.cluster.order import Order
from grader.course.settings import Cluster, Settings
from grader.nbgrader import apps, class_grading
from grader.records.device_info import DeviceInfo
from grader.spec import registry
from tests.grader.course_fixtures import FIRST, GRADER, course

__all__ = ["course"]


def order_of(course, device: DeviceInfo | None = None) -> Order:
    exercise = registry.find(FIRST)
    on = device or DeviceInfo("virtual", "h200")
    run = ClassRun(on, {FIRST: exercise}, course / "grades", 4.0, seed="5eed", grader=GRADER)
    source = course / "kernel.cu"
    key = record_key(dependencies(exercise, on, GRADER, 4.0, "5eed"), b"// fine")
    return Order.of(run, Task(Submission("alice", FIRST, source), b"// fine", key), without_walls=False)


def test_this_machine_grades_unless_the_settings_or_the_command_say_otherwise():
    with executor_for(None, Settings(), "virtual") as place:
        assert place.executor == LocalProcesses()
    with pytest.raises(CourseError, match="nowhere.json is neither here, slurm, an address"):
        choose._address_of("nowhere.json")


@pytest.mark.parametrize(
    ("place", "words"), [("nowhere", "is neither here, slurm"), ("tcp://10.1.2.3:1", "encrypts nothing")]
)
def test_a_place_that_cannot_be_used_is_refused_before_dask_is_installed(monkeypatch, place, words):
    def install() -> None:
        raise AssertionError("nothing has to be installed for this")

    monkeypatch.setattr(choose, "must_be_installed", install)
    with pytest.raises(CourseError, match=words), executor_for(place, Settings(), "virtual"):
        pass


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("tcp://127.0.0.1:1", True),
        ("tcp://localhost:1", True),
        ("tcp://[::1]:1", True),
        ("tcp://10.1.2.3:1", False),
        ("TCP://10.1.2.3:1", False),
        ("tls://a:1", True),
    ],
)
def test_nothing_is_sent_to_another_machine_unencrypted_unless_the_site_says_so(address, allowed):
    must_be(allowed, address, address)


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("tls://10.1.2.3:1", True),
        ("wss://10.1.2.3:1", True),
        ("tcp://127.0.0.1:1", True),
        ("ws://localhost:1", True),
        ("ucx://127.0.0.1:1", True),
        ("tcp://10.1.2.3:1", False),
        ("ws://10.1.2.3:1", False),
        ("ucx://node7:1", False),
        ("ucxx://node7:1", False),
        ("tcp://localhost.somewhere.org:1", False),
        ("10.1.2.3:1", False),
        ("127.0.0.1:1", True),
    ],
)
def test_the_address_in_a_schedulers_file_is_refused_by_the_same_rule(tmp_path, address, allowed):
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": address}))
    must_be(allowed, str(file), address if "://" in address else f"tcp://{address}")


def must_be(allowed: bool, place: str, address: str) -> None:
    assert choose._address_for(place, Settings(cluster=Cluster(unencrypted=True))) == address
    if allowed:
        assert choose._address_for(place, Settings()) == address
    else:
        with pytest.raises(CourseError, match=r"is another machine, and [a-z]+:// encrypts nothing"):
            choose._address_for(place, Settings())


@pytest.mark.parametrize(("verb", "rest"), [(grade, ["x"]), (mutants, ["01"]), (nbgrader, ["autograde"])])
def test_jobs_are_for_this_machine_and_a_cluster_is_not_even_asked(course, verb, rest, monkeypatch):
    monkeypatch.setattr(apps, "must_be_installed", lambda: None)
    monkeypatch.setattr(class_grading, "chosen_submissions", lambda *_: [])
    with pytest.raises(CourseError, match="--jobs is for this machine; a cluster has as many at once"):
        verb.main([*rest, "--on", "nowhere.json", "--jobs", "2"])


def test_an_order_gives_the_task_back(course):
    order = order_of(course)
    assert Order.from_dict(order.to_dict()) == order
    assert (order.task.data, order.task.key) == (b"// fine", order.key)
    assert order.exercise().folder == course / "exercises" / FIRST


def test_a_node_grades_what_it_has_in_the_same_version(course):
    order = order_of(course)
    assert grading_server.refusal(order) == ""
    (course / "exercises" / FIRST / "baseline.cu").write_text("// another baseline")
    assert grading_server.refusal(dataclasses.replace(order, seed="other")).startswith(
        "the exercise and the secret differ from the submitting machine's"
    )


def test_a_node_without_walls_refuses_unless_the_site_says_otherwise(course, monkeypatch):
    lacking = [Facility("Landlock", False, "not there", ""), Facility("seccomp", True, "", "")]
    monkeypatch.setattr(grading_server, "kernel_facilities", lambda: lacking)
    order = order_of(course)
    assert grading_server.refusal(order).startswith("it lacks Landlock, so student code could reach")
    assert grading_server.refusal(dataclasses.replace(order, without_walls=True)) == ""


def test_a_node_with_another_gpu_refuses(course, monkeypatch):
    order = order_of(course, DeviceInfo("gpu", "NVIDIA H200", driver="580"))
    monkeypatch.setattr(grading_server, "first_gpu", lambda: Gpu("NVIDIA H200", "90", "580"))
    assert grading_server.refusal(order) == ""
    monkeypatch.setattr(grading_server, "first_gpu", lambda: Gpu("NVIDIA A100", "80", "580"))
    assert "its GPU is NVIDIA A100 with driver 580, and this run grades on NVIDIA H200" in (
        grading_server.refusal(order)
    )


def test_a_gpu_is_one_gradings_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(leases.tempfile, "gettempdir", lambda: str(tmp_path))
    taken: list[int | None] = []

    def third() -> None:
        with leases.leased("gpu", [0, 1], wait=True) as number:
            taken.append(number)

    waiting = threading.Thread(target=third)
    with leases.leased("gpu", [0, 1], wait=True) as first:
        with leases.leased("gpu", [0, 1], wait=True) as second:
            assert (first, second) == (0, 1)
            with leases.leased("gpu", [0, 1], wait=False) as none:
                assert none is None
            waiting.start()
            waiting.join(0.5)
            assert taken == []
        waiting.join()
    assert taken == [1]


def test_a_folder_of_somebody_else_is_not_trusted_with_leases(tmp_path, monkeypatch):
    monkeypatch.setattr(leases.tempfile, "gettempdir", lambda: str(tmp_path))
    with leases.leased("cpu", [0], wait=False):
        [folder] = tmp_path.iterdir()
    folder.chmod(0o777)
    lease = leases.leased("cpu", [0], wait=False)
    with pytest.raises(CourseError, match="belongs to somebody else, or others may write there"), lease:
        pass
