"""Time limits count what a process ran and slept, and not what it waited for a CPU."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from common.core import cpu_time
from common.core.cpu_time import OutOfTime, ProcessClock, ThreadTimes, TimeLimit, threads_of, wait_ready
from common.core.errors import MachineOverloaded
from common.core.process import run_contained

LOOP = [sys.executable, "-I", "-S", "-c", "while True: pass"]
SLEEP = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(100)"]


class Machine:
    """A clock and one process, moved on by hand. With `hold_back`, waits are written down when they end."""

    def __init__(self, threads: int = 1, cpus: int = 2) -> None:
        self.now = 100.0
        self.cpus = cpus
        self.threads = {number: ThreadTimes(5.0, 7.0, 3, ready=True) for number in range(threads)}
        self.held_back = dict.fromkeys(self.threads, 0.0)

    def pids(self) -> list[int]:
        return [1]

    def clock(self, pids=None) -> ProcessClock:
        return ProcessClock(
            pids or self.pids, now=lambda: self.now, look=lambda _: dict(self.threads), cpus=self.cpus
        )

    def limit(self, seconds: float) -> TimeLimit:
        return TimeLimit(seconds, self.pids, now=lambda: self.now, clock=self.clock)

    def passes(
        self, seconds: float, *, ran: float = 0.0, waited: float = 0.0, hold_back: bool = False
    ) -> None:
        """Every thread runs and waits so long of these seconds, and sleeps for the rest."""
        self.now += seconds
        slept = seconds - ran - waited > 1e-9
        for number, t in self.threads.items():
            stated = 0.0 if hold_back else waited + self.held_back[number]
            self.held_back[number] = waited + self.held_back[number] if hold_back else 0.0
            self.threads[number] = ThreadTimes(
                t.ran + ran, t.waited + stated, t.sleeps + slept, ready=not slept
            )


def test_running_and_sleeping_count_as_on_a_wall_clock():
    machine = Machine()
    clock = machine.clock()
    machine.passes(2.0, ran=2.0)
    assert clock.seconds() == pytest.approx(2.0)
    machine.passes(3.0)
    assert clock.seconds() == pytest.approx(5.0)


def test_waiting_for_a_cpu_does_not_count():
    machine = Machine()
    clock = machine.clock()
    machine.passes(10.0, ran=2.0, waited=8.0)
    assert clock.seconds() == pytest.approx(2.0)
    machine.passes(10.0, ran=1.0, waited=5.0)  # and sleeps for four
    assert clock.seconds() == pytest.approx(7.0)


def test_a_wait_that_is_not_over_yet_does_not_count_either():
    machine = Machine()
    clock = machine.clock()
    for _ in range(5):
        machine.passes(1.0, waited=1.0, hold_back=True)
        assert clock.seconds() == pytest.approx(0.0)
    machine.passes(1.0, ran=1.0)  # now the kernel writes five seconds down, which are not counted twice
    assert clock.seconds() == pytest.approx(1.0)


def test_a_wait_that_was_taken_for_sleep_is_given_back():
    machine = Machine()
    clock = machine.clock()
    machine.passes(1.0, ran=0.1, waited=0.5, hold_back=True)  # it slept too: who can say for how long?
    assert clock.seconds() == pytest.approx(1.0)
    machine.passes(1.0, ran=0.2, waited=0.8)
    assert clock.seconds() == pytest.approx(0.1 + 0.4 + 0.2)


def test_threads_side_by_side_take_as_long_as_one_of_them():
    idle, busy = Machine(threads=2), Machine(threads=2)
    clocks = idle.clock(), busy.clock()
    idle.passes(4.0, ran=4.0)
    busy.passes(20.0, ran=4.0, waited=16.0)
    assert [clock.seconds() for clock in clocks] == pytest.approx([4.0, 4.0])


def test_threads_that_crowd_each_other_out_gain_no_time():
    machine = Machine(threads=8, cpus=2)
    clock = machine.clock()
    machine.passes(8.0, ran=2.0, waited=6.0)
    assert clock.seconds() == pytest.approx(8.0)


def test_what_ended_processes_had_stays_counted():
    machine = Machine()
    clock = machine.clock()
    machine.passes(2.0, ran=1.0, waited=1.0)
    clock.seconds()
    machine.threads = {}
    machine.passes(1.0)
    assert clock.seconds() == pytest.approx(2.0)


def test_a_process_that_comes_later_counts_from_its_start():
    machine = Machine()
    started, machine.threads = machine.threads, {}
    clock = machine.clock()
    machine.passes(20.0)
    machine.threads = started  # has run for 5 s and waited for 7
    assert clock.seconds() == pytest.approx(20.0 - 7.0)


def test_where_the_kernel_does_not_tell_the_load_does(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cpu_time, "_share_of_a_cpu", lambda cpus: 0.2)
    now = [0.0]
    clock = ProcessClock(lambda: [1], now=lambda: now[0], look=lambda _: None, cpus=2)
    now[0] = 10.0
    assert clock.seconds() == pytest.approx(2.0)


@pytest.mark.parametrize(("ran", "over_after"), [(0.1, 2.0), (0.02, 10.0)], ids=["idle", "busy"])
def test_a_limit_is_over_when_its_time_was_had(ran: float, over_after: float):
    machine = Machine()
    limit = machine.limit(2.0)
    while not limit.over():
        assert limit.tick() <= 0.1
        machine.passes(0.1, ran=ran, waited=0.1 - ran)
    assert machine.now - 100.0 == pytest.approx(over_after, abs=0.75)
    assert not limit.starved


def test_a_starved_process_is_given_up_after_twenty_times_its_limit():
    machine = Machine()
    limit = machine.limit(2.0)
    while not limit.over():
        machine.passes(0.1, ran=0.001, waited=0.099)
    assert machine.now - 100.0 == pytest.approx(40.0, abs=0.2)
    assert limit.starved
    machine.passes(1.0, waited=1.0)
    with pytest.raises(OutOfTime) as caught:
        limit.check()
    assert caught.value.starved
    assert caught.value.got == "0.4 s of CPU time and sleep in 41 s"


def test_looks_are_few_however_often_it_is_asked():
    machine, looked = Machine(), []

    def pids() -> list[int]:
        looked.append(machine.now)
        return [1]

    limit = TimeLimit(5.0, pids, now=lambda: machine.now, clock=machine.clock)
    for _ in range(1000):
        machine.passes(0.001, ran=0.001)
        limit.over()
    assert len(looked) < 20


def test_a_wait_ends_with_what_it_waits_for():
    ours, theirs = socket.socketpair()
    limit = TimeLimit(0.2, list)
    theirs.send(b"x")
    wait_ready(ours.fileno(), select.POLLIN, limit)
    ours.recv(1)
    with pytest.raises(OutOfTime, match=r"not done within 0.2 s of CPU time and sleep"):
        wait_ready(ours.fileno(), select.POLLIN, limit)
    theirs.close()
    wait_ready(ours.fileno(), select.POLLIN, TimeLimit(0.2, list))
    ours.close()


def test_this_kernel_tells_what_threads_run_and_wait():
    threads = threads_of(os.getpid())
    if threads is None:
        pytest.skip("this kernel writes nothing down about waits")
    assert threads[os.getpid()].ran > 0
    assert threads[os.getpid()].ready
    assert threads_of(1 << 30) == {}


@contextmanager
def crowd(size: int) -> Iterator[None]:
    """So many processes that leave nobody a CPU for long. They end with this one, however it ends. Each has a
    session of its own: where CPUs are shared out by session, one for all would count as one process."""
    script = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    crowd = [subprocess.Popen([*LOOP[:-1], script], start_new_session=True) for _ in range(size)]
    try:
        yield
    finally:
        for process in crowd:
            process.kill()
        for process in crowd:
            process.wait()


def ended(command: list[str], timeout: float, folder: Path) -> tuple[int | None, float]:
    finished = run_contained(command, cwd=folder, env={}, timeout=timeout)
    return finished.status, finished.seconds


def test_what_was_used_is_known_between_looks_too():
    machine = Machine()
    limit = machine.limit(10.0)
    machine.passes(0.02, ran=0.02)
    assert limit.used == pytest.approx(0.02)
    machine.passes(3.0, waited=3.0)
    assert limit.used == pytest.approx(0.05), "nobody looked: no more than until the first look is due"
    limit.over()
    machine.passes(1.0, ran=1.0)
    limit.over()
    assert limit.used == pytest.approx(1.05)


@pytest.mark.parametrize("command", [LOOP, SLEEP], ids=["a loop", "a sleep"])
def test_what_does_not_end_is_ended(command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cpu_time, "_STARVED_FACTOR", 1000.0)
    status, seconds = ended(command, 0.5, tmp_path)
    assert status is None
    assert seconds >= 0.45


@pytest.mark.skipif(threads_of(os.getpid()) is None, reason="this kernel writes nothing down about waits")
def test_a_crowded_machine_gives_a_command_the_same_time(tmp_path: Path):
    script = "import time\nwhile time.process_time() < 0.5: pass"
    right = [sys.executable, "-I", "-S", "-c", script]
    with crowd(5 * len(os.sched_getaffinity(0))):
        status, seconds = ended(right, 1.0, tmp_path)
        assert status == 0
        assert seconds > 1.0, "a wall clock would have ended it"
        started = time.process_time()
        assert ended(SLEEP, 1.0, tmp_path)[0] is None
        assert time.process_time() - started < 1.0, "waiting costs next to nothing"


def test_a_command_that_gets_no_cpu_is_not_said_to_have_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ProcessClock, "seconds", lambda self: 0.0)
    monkeypatch.setattr(cpu_time, "_STARVED_FACTOR", 2.0)
    with pytest.raises(MachineOverloaded, match=r"this machine is too busy: python\S* got only"):
        ended(SLEEP, 0.2, tmp_path)
