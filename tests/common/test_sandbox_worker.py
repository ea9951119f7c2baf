"""Student code attacks from inside its worker, as this user and as an ordinary one: nothing gives way."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from common.core.errors import CourseError
from common.sandbox.folder import sweep
from common.sandbox.policy import Walls
from common.virtual_gpu.device import VirtualGpu
from common.worker.process import Order, Worker, WorkerMisbehaved
from tests.common.attacking import FOLDER, USERS, attack_library, attack_results
from tests.waiting import wait_until

# What each attempt of drive.py must come to.
REFUSED_BY_LANDLOCK = [
    "read a hidden file",
    "write to a hidden file",
    "list a hidden folder",
    "read another worker's file",
    "read the repository",
    "list the temporary folder",
    "write outside",
    "write to shared memory",
    "read the parent's memory",
    "read the parent's environment",
    "remove a hidden file",
    "make a folder",
    "load a hidden library",
]
REFUSED_BY_SECCOMP = [
    "signal the parent",
    "signal everybody",
    "signal a thread of the parent",
    "let a descriptor signal the parent",
    "let a descriptor send any signal",
    "let a device signal the parent",
    "limit the parent",
    "pin the parent",
    "outlive the parent",
    "hide from the parent",
    "open a socket",
    "open a local socket",
    "start a process by clone",
    "start a thread",
]
REACHES = {
    **dict.fromkeys(REFUSED_BY_LANDLOCK, "EACCES"),
    **dict.fromkeys(REFUSED_BY_SECCOMP, "EPERM"),
    "start a process by clone3": "ENOSYS",
    "make a call of the future": "ENOSYS",
    "open 100,000 files": "EMFILE",
    "grow a file for ever": "EFBIG",
    "signal itself": "done",
    "write a file of its own": "done",
    "read a system library": "done",
    "load its own code from memory": "done",
}
# By a limit on addresses, or by a cgroup, which sees it.
HIDDEN_MEMORY = ("ENOMEM", "used more than 256 MiB of memory")
# What is said of each form of `babble`.
BABBLE = [
    "answered with more than 64 KiB",
    "not JSON",
    "not JSON",
    "not JSON",
    "in a form that no worker uses",
    "in a form that no worker uses",
    "not JSON",
    "numbers that no entry point can return",
    "numbers that no entry point can return",
    "numbers that no entry point can return",
    "not JSON",
    "another question than the one asked",
    "another question than the one asked",
]
ENDINGS = {
    "endless loop": ("WorkerTimeout", "loop did not return within 0.5 s"),
    "stopping itself": ("WorkerTimeout", "stop_itself did not return within 0.5 s"),
    "ending quietly": ("WorkerDied", "end_quietly ended its process with status 0"),
    "a 32-bit system call": ("WorkerDied", "ended its process with SIGSYS"),
    "eating memory": ("WorkerStopped", "eat_memory used more than 256 MiB of memory"),
    "eating memory in files": ("WorkerStopped", "used more than 256 MiB of memory"),
    "flooding the output": ("WorkerStopped", "flood_output printed more than 4 MiB"),
    "filling the disk": ("WorkerStopped", "wrote more than 48 MiB to its temporary folder"),
    "making files": ("WorkerStopped", "made more than 100 files in its temporary folder"),
    "starting threads": ("WorkerStopped", "started more than 9 threads"),
    "closing everything": ("WorkerDied", "close_everything ended its process with status"),
    "closing everything and staying": ("WorkerMisbehaved", "closed the channel it answers on"),
    "faking answers": ("WorkerMisbehaved", "the process answered"),
    **{f"babbling in form {form}": ("WorkerMisbehaved", words) for form, words in enumerate(BABBLE)},
}


@pytest.fixture(scope="module")
def attacks() -> Iterator[Path]:
    with attack_library("attacks") as library:
        yield library


@pytest.fixture(params=USERS)
def results(request: pytest.FixtureRequest, attacks: Path) -> dict[str, Any]:
    return attack_results(request.param, "drive.py", attacks)


def test_every_call_in_the_tables_is_refused(results):
    assert {name: code for name, code in results["refusals"].items() if code != "EPERM"} == {}
    assert len(results["refusals"]) > 80


def test_nothing_outside_can_be_reached(results):
    assert results["reaches"].keys() - REACHES.keys() == {"list the home folder", "hide memory"}
    assert {name: results["reaches"][name] for name in REACHES} == REACHES
    assert results["reaches"]["list the home folder"] in ("EACCES", "ENOENT")
    assert results["reaches"]["hide memory"] in HIDDEN_MEMORY
    assert results["secret_kept"]


def test_every_attack_ends_in_its_verdict_and_in_time(results):
    assert results["endings"].keys() == ENDINGS.keys()
    for name, (verdict, words) in ENDINGS.items():
        ending = results["endings"][name]
        assert (ending["verdict"], words in ending["words"]) == (verdict, True), (name, ending)
        assert ending["seconds"] < 15, name


def test_nothing_is_left_of_any_attack(results):
    for name, ending in results["endings"].items():
        assert (ending["processes_left"], ending["folder_left"]) == ([], False), name
    left = ("descriptors_left", "watchdogs_left", "shared_memory_left")
    assert {key: results[key] for key in left} == {left[0]: 0, left[1]: 0, left[2]: []}


def test_noise_on_the_engines_socket_spoils_neither_parent_nor_engine(attacks):
    with VirtualGpu(walls=Walls.virtual()) as gpu:
        tensor = gpu.tensor("kept", (4,), "int32", fill=7)
        library = gpu.load(attacks)
        with pytest.raises(WorkerMisbehaved):
            library.call("fake_answers", synchronise=False)
        assert gpu.launches == ()
        assert tensor.numpy().tolist() == [7, 7, 7, 7]


def test_a_later_library_must_have_been_named(attacks, tmp_path):
    other = tmp_path / "other.so"
    shutil.copy(attacks, other)
    with VirtualGpu() as gpu:
        gpu.load(attacks)
        with pytest.raises(CourseError, match=r"other.so could not be loaded: .*VirtualGpu\(libraries="):
            gpu.load(other)
    with VirtualGpu(libraries=[other]) as gpu:
        gpu.load(attacks)
        assert gpu.load(other).call("parent", synchronise=False).returned == os.getpid()


def test_a_worker_dies_with_its_parent_and_the_next_one_sweeps_its_folder(attacks):
    script = (
        "import sys, threading\nfrom pathlib import Path\n"
        "from common.worker.process import Worker\n"
        "path = Path(sys.argv[1])\n"
        "worker = Worker(None, None, [path])\n"
        "number = worker.load(path)\n"
        "print(worker._process.pid, flush=True)\n"
        "worker.call(number, 'loop', [], [], 600.0)\n"
    )
    root = str(FOLDER.parents[2])
    with subprocess.Popen(
        [sys.executable, "-c", script, str(attacks)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": root},
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        folder = Path(os.readlink(f"/proc/{pid}/cwd"))
        os.kill(parent.pid, signal.SIGKILL)
    assert wait_until(lambda: not Path(f"/proc/{pid}/exe").exists())
    assert folder.exists()
    mine = Worker(None, Walls(), [attacks])
    sweep()
    assert not folder.exists()
    assert mine.load(attacks) == 0, "the folder of a living process stays"
    mine.close()


def test_calls_in_a_row_are_made_in_one_order(attacks):
    worker = Worker(None, Walls(), [attacks])
    number = worker.load(attacks)
    orders = [Order(number, "clear_path"), Order(number, "push_path", ["u64"], [7]), Order(number, "parent")]
    assert worker.calls(orders, "three calls", 10.0) == [0, 0, os.getpid()]
    assert worker.threads() == 1
    with pytest.raises(CourseError, match="there is no entry point nothing"):
        worker.calls([orders[0], Order(number, "nothing")], "two calls", 10.0)
    worker.close()


def test_workers_outlive_the_thread_that_asked_for_them(attacks):
    with ThreadPoolExecutor(1) as pool:
        worker = pool.submit(Worker, None, Walls(), [attacks]).result()
    assert worker.call(worker.load(attacks), "parent", [], [], 10.0) == os.getpid()
    worker.close()
