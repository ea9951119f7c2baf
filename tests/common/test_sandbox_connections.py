"""A worker on a GPU is connected to its parent's driver and to nothing else, whoever runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from common.sandbox import walls
from common.sandbox.policy import Walls
from tests.common.attacking import USERS, attack_library, attack_results

WAYS = ("their sockets", "our sockets")  # connected where they are, and put in their place

# What an attempt comes to, where that is not EPERM.
OTHER_CODES = {
    "our name, taken by another process": "ECONNREFUSED",
    "our name, which nobody has": "ECONNREFUSED",
    "a listener of its own": "EBUSY",
}


@pytest.fixture(scope="module")
def connecting() -> Iterator[Path]:
    with attack_library("connecting") as library:
        yield library


@pytest.fixture(params=USERS)
def results(request: pytest.FixtureRequest, connecting: Path) -> dict[str, Any]:
    return attack_results(request.param, "drive_connections.py", connecting)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, results: dict[str, Any]) -> dict[str, Any]:
    if request.param == "their sockets" and results["copies"] != [True]:
        pytest.skip("pidfd_getfd is refused here, as container engines do")
    found: dict[str, Any] = results[request.param]
    return found


def test_messages_and_descriptors_pass_between_the_worker_and_its_parent(results, way):
    assert results["shares"]
    assert set(way["talks"].values()) == {"a secret of the parent's"}, way["talks"]


def test_everything_else_is_refused(way):
    codes = way["refusals"]["codes"]
    assert codes == {name: OTHER_CODES.get(name, "EPERM") for name in codes}
    assert OTHER_CODES.keys() < codes.keys()
    assert (way["refusals"]["reached"], way["refusals"]["elsewhere"]) == (0, "left alone")
    assert way["descriptors"] == {"no descriptor": "EBADF", "minus one": "EBADF", "no socket": "ENOTSOCK"}


def test_a_worker_cannot_answer_its_own_questions(way):
    assert way["listeners"] == 0


def test_an_address_that_changes_meanwhile_never_leads_elsewhere(way):
    assert way["race"]["forbidden"] == 0
    assert way["race"]["successes"] == way["race"]["reached"] > 0


def test_a_descriptor_that_changes_meanwhile_does_no_harm(way):
    assert way["juggle"] == {"all_reached_ours": True, "alive": True}


def test_a_flood_of_questions_leaves_the_parent_its_time(way):
    assert 0 < way["flood"]["asked"] < 1000
    assert way["flood"]["share"] < 0.5
    assert way["flood"]["seconds"] < 10


def test_a_busy_listener_is_waited_for_and_not_for_ever(way):
    full = way["full queue"]
    assert (full["fitted"], full["code"], full["blocking"]) == (True, "EAGAIN", 1)
    assert 1.5 < full["seconds"] < 6


@pytest.mark.parametrize("entry", ["end_while_connecting", "end_while_blocking"])
def test_a_worker_that_ends_meanwhile_is_let_go(way, entry):
    assert way["full queue"][entry] == f"{entry} ended its process with status 3"
    assert way["full queue"][f"{entry}, closing"] < 3


def test_nothing_is_left_of_any_worker(results):
    assert (results["threads_left"], results["descriptors_left"]) == ([], 0)


def test_a_machine_that_hides_children_from_their_parent_is_said_to(results):
    found = results["without looking"]
    assert (found["shares"], found["code"]) == (False, "ENOSYS")
    (said,) = found["said"]
    assert "device memory cannot be shared" in said
    assert "ptrace_scope" in said


def test_only_walls_for_a_gpu_ask_their_parent(tmp_path):
    for around, asks in ((Walls(), False), (Walls.virtual(), False), (Walls.gpu(), True)):
        assert around.policy(tmp_path, [], [])["broker_connect"] is asks


def test_a_kernel_that_cannot_ask_refuses_every_connect_and_says_so():
    script = (
        "import importlib.util, json, socket, sys\n"
        "spec = importlib.util.spec_from_file_location('walls', sys.argv[1])\n"
        "walls = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(walls)\n"
        "walls._SET_MODE_FILTER = 99\n"
        "handed = []\n"
        "missing = walls.enter({'unix_sockets': True, 'broker_connect': True}, handed.append)\n"
        "calling = socket.socket(socket.AF_UNIX)\n"
        "print(json.dumps([missing, handed, calling.connect_ex('\\0cuda-uvmfd-1-1')]))\n"
    )
    finished = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, str(walls.__file__)], capture_output=True, check=False
    )
    missing, handed, code = json.loads(finished.stdout or "[0, 0, 0]")
    assert (handed, code) == ([], 1), finished.stderr  # EPERM
    assert missing[-1] == (
        "seccomp's notices (Invalid argument): device memory cannot be shared with the worker"
    )
