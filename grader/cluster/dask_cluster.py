"""Grades on a Dask cluster: which worker grades what, and what follows when workers or schedulers are lost.

A task is sent to one worker that has been examined. Dask would send the tasks of a lost worker elsewhere by
itself, but it holds the loss against all tasks that the worker had been given. Here it counts against those
that ran, and from then on each of these runs alone: a submission that ends its worker can only take others
along once. Exceptions of a node are retried there by Dask (`retries`), lost workers are noticed by Dask
(`worker-ttl`).
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING, Any

from common.core.errors import CourseError
from grader.classes.executor import Graded, Task, ungraded_record
from grader.classes.progress import RunProgress
from grader.cluster import node
from grader.cluster.order import Order
from grader.records.device_info import GPU, DeviceInfo
from grader.records.record import Record
from grader.words import numbers
from grader.words.text import listed, one_line

if TYPE_CHECKING:
    from grader.classes.class_run import ClassRun

MOST_WORKERS = 3  # that may be lost with a submission, and then it has a verdict
_RETRIES = 1  # by Dask, on the same worker
_TICK_SECONDS = 0.5
_LOOK_SECONDS = 1.0  # between two looks at the list of workers
_ALONE_SECONDS = 60.0  # without a worker, until the next note
_REFUSED_SECONDS = 10.0  # nobody but refused nodes for so long ends the run
_RECONNECT_SECONDS = 600.0
_RESULT_SECONDS = 20.0
_FIRST_SECONDS = 3600.0  # a job may wait long in Slurm's queue


@dataclass
class _Attempts:
    """What has become of a task so far."""

    task: Task
    lost: list[str] = field(default_factory=list)
    started: float = 0.0
    waited: float | None = None


@dataclass
class _Worker:
    """A worker of the cluster. `slots`: how many submissions it may grade at once, 0 until it is examined."""

    name: str
    examination: Any = None
    slots: int = 0
    running: dict[Any, _Attempts] = field(default_factory=dict)  # by Dask's future

    @property
    def has_suspect(self) -> bool:
        return any(one.lost for one in self.running.values())

    def fits(self, one: _Attempts) -> bool:
        if one.lost:
            return bool(self.slots) and not self.running
        return len(self.running) < self.slots and not self.has_suspect


class DaskCluster:
    """The workers behind an address. `connect` gives a new client; `keep_up` is called now and then, to
    replace workers that were lost."""

    def __init__(
        self,
        connect: Callable[[], Any],
        *,
        without_walls: bool = False,
        keep_up: Callable[[], None] = lambda: None,
    ) -> None:
        self._connect, self._without_walls, self._keep_up = connect, without_walls, keep_up
        self._client = connect()

    def close(self) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            self._client.close(timeout=5)

    def device(self) -> DeviceInfo:
        """The GPU of the workers that announce one. Marks of one run come from one kind of GPU."""
        found: set[tuple[str, str]] = set()
        for address, facts in self._first_workers().items():
            if facts["resources"].get(GPU.upper()):
                asked = self._client.submit(node.gpus, workers=[address], pure=False)
                found |= {(name, driver) for name, driver in asked.result(timeout=60)}
        if len(found) == 1:
            [(name, driver)] = found
            return DeviceInfo(GPU, name, driver=driver)
        if found:
            names = listed([f"{name} (driver {driver})" for name, driver in sorted(found)])
            raise CourseError(f"the cluster's workers have different GPUs: {names}. Use workers of one kind.")
        raise CourseError(
            "no worker of the cluster announces a GPU: start them with --resources GPU=1, or say "
            "--device virtual"
        )

    def _first_workers(self) -> dict[str, Any]:
        """Those that are there; where jobs are still in a queue, wait for the first."""
        deadline = time.monotonic() + _FIRST_SECONDS
        while not (found := self._workers()) and time.monotonic() < deadline:
            self._keep_up()
            time.sleep(_TICK_SECONDS)
        return found

    def graded(
        self, run: ClassRun, tasks: Sequence[Task], progress: RunProgress
    ) -> Generator[Graded, None, None]:
        """Every task with its record, as they come."""
        yield from _Grading(self, run, tasks, progress).results()

    def _workers(self) -> dict[str, Any]:
        """Facts by address, from the scheduler itself: Client.scheduler_info repeats old ones without it."""
        if self._client.status != "running":
            raise ConnectionError("the scheduler does not answer")
        found: dict[str, Any] = self._client.sync(self._client.scheduler.identity, n_workers=-1)["workers"]
        return found

    def _reconnect(self, progress: RunProgress) -> None:
        progress.note("the scheduler does not answer; what it had is given to it again when it does")
        self.close()
        deadline = time.monotonic() + _RECONNECT_SECONDS
        while True:
            try:
                self._client = self._connect()
                return
            except (OSError, CourseError) as problem:
                if time.monotonic() > deadline:
                    raise CourseError(
                        f"the scheduler did not come back within {numbers.duration(_RECONNECT_SECONDS)}. The "
                        "records written so far are complete; the same command continues."
                    ) from problem
                time.sleep(_TICK_SECONDS)


class _Grading:
    """One run on the cluster."""

    def __init__(
        self, cluster: DaskCluster, run: ClassRun, tasks: Sequence[Task], progress: RunProgress
    ) -> None:
        self._cluster, self._run, self._progress = cluster, run, progress
        self._waiting = deque(_Attempts(task) for task in tasks)
        self._workers: dict[str, _Worker] = {}
        self._refused: dict[str, str] = {}  # reasons by worker's address
        self._began = time.monotonic()
        self._looked = 0.0
        self._served = self._began  # when there last was a worker
        self._something = Event()
        # One order of each exercise: nodes are asked whether they grade such.
        samples = {task.submission.exercise: task for task in tasks}
        self._samples = [self._order(task).without_source().to_dict() for task in samples.values()]

    def results(self) -> Generator[Graded, None, None]:
        self._listen()
        try:
            while self._waiting or any(worker.running for worker in self._workers.values()):
                try:
                    self._look()
                    self._assign()
                    self._something.wait(_TICK_SECONDS)
                    self._something.clear()
                    yield from self._collect()
                except OSError:  # Dask's errors about connections are such
                    self._forget_all()
                    self._cluster._reconnect(self._progress)
                    self._listen()
        finally:
            with contextlib.suppress(Exception):
                self._client.cancel(
                    [future for worker in self._workers.values() for future in worker.running]
                )

    @property
    def _client(self) -> Any:
        return self._cluster._client

    def _order(self, task: Task) -> Order:
        return Order.of(self._run, task, without_walls=self._cluster._without_walls)

    def _listen(self) -> None:
        """Show what running gradings say."""

        def heard(event: tuple[float, Any]) -> None:
            said = event[1]
            for worker in list(self._workers.values()):
                for future, one in list(worker.running.items()):
                    if future.key == said.get("key"):
                        self._progress.says(one.task.name, one_line(str(said.get("says"))))

        self._client.subscribe_topic(node.TOPIC, heard)

    def _look(self) -> None:
        """See who came, who is gone and who passed the examination."""
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        self._cluster._keep_up()
        present = self._cluster._workers()
        for address in [known for known in self._workers if known not in present]:
            self._lost(self._workers.pop(address), "was lost")
        for address, facts in present.items():
            if address not in self._workers:
                self._workers[address] = worker = _Worker(str(facts.get("name") or address))
                worker.examination = [
                    self._submit(node.examine, sample, address, what="examine") for sample in self._samples
                ]
            self._examine(address, facts)
        self._progress.workers(sum(worker.slots for worker in self._workers.values()))
        self._nobody(now)

    def _submit(self, function: Callable[..., Any], order: dict[str, Any], address: str, what: str) -> Any:
        """To this worker and no other. Where a GPU grades, Dask counts its use, too: others may share it."""
        on_gpu = not self._run.device.modelled and what == "grade"
        future = self._client.submit(
            function,
            order,
            key=f"{what}-{uuid.uuid4()}",
            workers=[address],
            allow_other_workers=False,
            retries=_RETRIES,
            resources={GPU.upper(): 1} if on_gpu else None,
            pure=False,
        )
        future.add_done_callback(lambda done: self._something.set())
        return future

    def _examine(self, address: str, facts: dict[str, Any]) -> None:
        worker = self._workers[address]
        if worker.examination is None or not all(future.done() for future in worker.examination):
            return
        reasons = [reason for future in worker.examination if (reason := _reason(future))]
        worker.examination = None
        if reasons:
            self._refused[address] = reasons[0]
            self._progress.note(f"worker {worker.name} at {address} does not grade: {reasons[0]}")
            return
        on_gpu = not self._run.device.modelled
        worker.slots = int(facts["resources"].get(GPU.upper(), 0)) if on_gpu else int(facts["nthreads"])

    def _nobody(self, now: float) -> None:
        """Say so where nobody can grade; end the run where all refused."""
        if any(worker.slots or worker.examination for worker in self._workers.values()):
            self._served = now
            return
        refused = [self._refused[address] for address in self._workers if address in self._refused]
        if refused and now - self._served > _REFUSED_SECONDS:
            raise CourseError(f"no worker of the cluster may grade. The first refused: {refused[0]}")
        if now - self._served > _ALONE_SECONDS:
            self._served = now
            self._progress.note("the cluster has no workers now; the run goes on when some come")

    def _assign(self) -> None:
        """Give each free worker a task; those that lost a worker before come first, and run alone."""
        suspects = [one for one in self._waiting if one.lost]
        for one in [*suspects, *(one for one in self._waiting if not one.lost)]:
            free = [address for address, worker in self._workers.items() if worker.fits(one)]
            if not free:
                if one.lost:
                    continue
                return
            address = min(free, key=lambda address: len(self._workers[address].running))
            self._waiting.remove(one)
            one.started = time.monotonic()
            if one.waited is None:
                one.waited = one.started - self._began
            future = self._submit(node.grade, self._order(one.task).to_dict(), address, what="grade")
            self._workers[address].running[future] = one

    def _collect(self) -> Iterator[Graded]:
        for worker in list(self._workers.values()):
            for future in [future for future in worker.running if future.done()]:
                one = worker.running.pop(future)
                if future.status == "finished":
                    if (reply := _result(future)) is None:
                        self._waiting.appendleft(one)
                    else:
                        yield from self._finished(one, worker, reply)
                elif future.status == "error":
                    self._again(one, f"{worker.name}: {one_line(_error(future))}")
                else:  # cancelled: the scheduler does not know it any more
                    self._waiting.appendleft(one)
        yield from self._hopeless()

    def _finished(self, one: _Attempts, worker: _Worker, reply: dict[str, Any]) -> Iterator[Graded]:
        if "record" in reply:
            yield Graded(
                one.task,
                Record.from_dict(reply["record"]),
                reply["machine"],
                one.waited or 0.0,
                reply["seconds"],
                (*one.lost, *reply["lost"]),
            )
            return
        if "refused" in reply:  # what it has was changed after the examination
            worker.slots = 0
            self._progress.note(f"worker {worker.name} grades no more: {reply['refused']}")
            self._waiting.appendleft(one)
            return
        self._again(one, f"{worker.name}: {reply.get('failed')}")

    def _lost(self, worker: _Worker, how: str) -> None:
        """The tasks that it was grading are tried elsewhere."""
        if worker.running:
            names = listed([one.task.name for one in worker.running.values()])
            self._progress.note(f"worker {worker.name} {how} while it graded {names}")
        for future, one in worker.running.items():
            future.cancel()
            self._again(one, f"worker {worker.name} {how}")

    def _again(self, one: _Attempts, why: str) -> None:
        one.lost.append(why)
        self._waiting.appendleft(one)

    def _hopeless(self) -> Iterator[Graded]:
        """Those that were tried on as many workers as may be: they get a verdict."""
        for one in [one for one in self._waiting if len(one.lost) >= MOST_WORKERS]:
            self._waiting.remove(one)
            seconds = time.monotonic() - one.started
            reason = (
                f"tried on {MOST_WORKERS} workers, none of which returned a record ({'; '.join(one.lost)})"
            )
            record = ungraded_record(self._run, one.task, reason)
            yield Graded(one.task, record, "", one.waited or 0.0, seconds, tuple(one.lost))

    def _forget_all(self) -> None:
        """Without a scheduler no worker is known. That is held against no task."""
        for worker in self._workers.values():
            self._waiting.extendleft(worker.running.values())
        self._workers.clear()
        self._looked = 0.0


def _reason(future: Any) -> str:
    """Why the node behind an examination does not grade; empty where it does."""
    if future.status == "finished":
        if (reply := _result(future)) is None:
            return "its answer was lost"
        return str(reply.get("refused") or reply.get("failed") or "")
    return f"it could not be examined ({one_line(_error(future))})"


def _result(future: Any) -> dict[str, Any] | None:
    """Of a future that is finished; None where its worker, which keeps it, was lost since."""
    try:
        reply: dict[str, Any] = future.result(timeout=_RESULT_SECONDS)
    except (OSError, CancelledError):
        return None
    return reply


def _error(future: Any) -> str:
    if future.status == "cancelled":
        return "cancelled"
    problem = future.exception()
    return f"{type(problem).__name__}: {problem}"
