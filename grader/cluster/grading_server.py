"""`python -m grader.cluster.grading_server`: grades on a node what its Dask worker passes on.

A process of its own, because a grading adopts orphans and ends them, which would be wrong in the process of
somebody else's worker. It stays for many submissions: torch is loaded once. Requests and replies are lines of
JSON on stdin and stdout; when stdin ends, so does the server with all that it runs.
"""

from __future__ import annotations

import functools
import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

from common.build.engine.build import build_engine
from common.core.errors import CourseError
from common.gpu.devices import find_gpus, first_gpu
from common.sandbox.kernel_facilities import kernel_facilities
from grader.building.scratch_folder import scratch_folder
from grader.classes.class_run import ClassRun
from grader.classes.dependencies import read_key
from grader.classes.executor import Graded
from grader.classes.grading_process import Orphans
from grader.classes.local_processes import LocalProcesses
from grader.classes.progress import PlainProgress
from grader.cluster.leases import leased
from grader.cluster.order import Order
from grader.records.device_info import DeviceInfo

ALIVE_SECONDS = 5.0
_OURS = "grader."  # functions of the course that grade; others may do without the engine
Send = Callable[[dict[str, Any]], None]


def refusal(order: Order) -> str:
    """Why this node does not grade such an order; empty where it does."""
    missing = [facility.name for facility in kernel_facilities() if not facility.present]
    if missing and not order.without_walls:
        return (
            f"it lacks {', '.join(missing)}, so student code could reach its files and processes "
            "(docs/security.md). Grade on a newer kernel, or set missing_walls = true under [cluster] in "
            "course.toml"
        )
    if problem := _other_gpu(order.on):
        return problem
    try:
        differing = _differences(order)
    except CourseError as lack:
        return f"{lack}: install the same course there as on the submitting machine"
    if differing:
        return (
            f"{differing} differ from the submitting machine's, so marks could differ: install the same "
            "course there, with the same compilers"
        )
    return ""


_known: dict[str, str] = {}


def _differences(order: Order) -> str:
    """Hashed once per exercise and state of the course: a class has many submissions of one exercise."""
    asked = json.dumps({**order.without_source().to_dict(), "key": read_key(order.key)}, sort_keys=True)
    if asked not in _known:
        _known[asked] = order.differences()
    return _known[asked]


def _other_gpu(device: DeviceInfo) -> str:
    if device.modelled:
        return ""
    try:
        gpu = first_gpu()
    except CourseError:
        return f"it has no GPU, and this run grades on {device}"
    if (gpu.name, gpu.driver) != (device.name, device.driver):
        return (
            f"its GPU is {gpu.name} with driver {gpu.driver}, and this run grades on {device.name} with "
            f"driver {device.driver}: marks of one run come from one kind of GPU"
        )
    return ""


def grade(order: Order, send: Send) -> dict[str, Any]:
    """The reply to an order: the record, or why the node refuses."""
    if problem := refusal(order):
        return {"refused": problem}
    exercise = order.exercise()
    with scratch_folder() as scratch, _share(order.on) as processes, Orphans():
        run = ClassRun(
            order.on,
            {exercise.id: exercise},
            scratch,
            order.wall_seconds,
            jobs=1,
            seed=order.seed,
            grader=order.grader,
        )
        with closing(processes.graded(run, [order.task], _Sent(send))) as graded:
            one: Graded = next(graded)
    return {"record": one.record.to_dict(), "lost": list(one.lost)}


@contextmanager
def _share(device: DeviceInfo) -> Iterator[LocalProcesses]:
    """One CPU for each grading on the virtual GPU; on a GPU, that card alone and its share of the CPUs."""
    cpus = sorted(os.sched_getaffinity(0))
    with ExitStack() as held:
        if device.modelled:
            cpu = held.enter_context(leased("cpu", cpus, wait=False))
            yield LocalProcesses((cpu,) if cpu is not None else tuple(cpus), beside=len(cpus) - 1)
        else:
            cards = range(len(_visible_gpus()))
            card = held.enter_context(leased("gpu", cards, wait=True))
            assert card is not None
            yield LocalProcesses(tuple(cpus[card :: len(cards)] or cpus), gpu=_visible_gpus()[card])


def _visible_gpus() -> list[str]:
    """The cards that this node's worker may use, as CUDA_VISIBLE_DEVICES has them."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    return given.split(",") if given else [str(number) for number in range(len(find_gpus()))]


class _Sent(PlainProgress):
    """Progress that goes to the submitting machine."""

    def __init__(self, send: Send) -> None:
        super().__init__(1)
        self._send = send

    def says(self, name: str, text: str) -> None:
        self._send({"says": text})


def _examined(order: Order) -> dict[str, Any]:
    """Whether this node grades such orders. Builds the engine first, once per node: minutes on a new one."""
    problem = refusal(order)
    if not problem and order.grader.startswith(_OURS):
        build_engine()
    return {"refused": problem}


def main() -> int:
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anything prints must not look like a reply
    lock = threading.Lock()

    def send(reply: dict[str, Any]) -> None:
        with lock:
            replies.write(json.dumps(reply) + "\n")
            replies.flush()

    requests: queue.Queue[dict[str, Any]] = queue.Queue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    threading.Thread(target=_tick, args=(send,), daemon=True).start()
    kinds: dict[str, Callable[[Order], dict[str, Any]]] = {
        "examine": _examined,
        "grade": functools.partial(grade, send=send),
    }
    while True:
        request = requests.get()
        try:
            reply = kinds[request["do"]](Order.from_dict(request["order"]))
        except (CourseError, TypeError, KeyError) as problem:
            reply = {"failed": f"{type(problem).__name__}: {problem}"}
        send({"done": reply})


def _read(requests: queue.Queue[dict[str, Any]]) -> None:
    for line in sys.stdin:
        requests.put(json.loads(line))
    os._exit(0)  # the worker is gone; gradings end with their server


def _tick(send: Send) -> None:
    """Tell the worker that this process is not hung."""
    while not threading.Event().wait(ALIVE_SECONDS):
        try:
            send({})
        except OSError:
            os._exit(0)


if __name__ == "__main__":
    # Gradings are pickled by this module's name, which is not __main__ in their process.
    from grader.cluster.grading_server import main as named_main

    sys.exit(named_main())
