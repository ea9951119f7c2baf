"""The parent's side of the worker: start it behind its walls, give it orders, survive whatever it does."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common.core.cpu_time import COUNTED, OutOfTime, TimeLimit, wait_ready
from common.core.errors import CourseError, MachineOverloaded
from common.core.process import kill_session, session_members, status_text
from common.sandbox import walls as walls_module
from common.sandbox.connections import Connections, serve_worker
from common.sandbox.folder import PrivateFolder
from common.sandbox.policy import Walls
from common.sandbox.spawn import spawn
from common.sandbox.watchdog import Watchdog, count_threads

_START_SECONDS = 60.0
_LOAD_SECONDS = 20.0
_END_SECONDS = 2.0  # an ended process with much memory takes a while to be gone
_MOST_OUTPUT = 1 << 20
_MOST_ANSWER = 64 << 10
_MOST_PROBLEM = 1000
_ADDRESSES_BEYOND_MEMORY = 1 << 30  # stacks, libraries, and arenas that are reserved and not used
_INT32 = range(-(1 << 31), 1 << 31)

Value = int | float | Sequence[int] | Mapping[str, Any]


class WorkerDied(CourseError):
    """The worker process ended in the middle of a call; `ending` is the signal's name or the status."""

    def __init__(self, what: str, ending: str) -> None:
        super().__init__(f"{what} ended its process with {ending}")
        self.ending = ending

    @property
    def from_outside(self) -> bool:
        """Whether a signal ended it that nobody here sends: only this machine, a person, or it itself."""
        return self.ending == signal.SIGKILL.name


class WorkerStopped(WorkerDied):
    """The worker process was killed for what it used; `reason` says what, as in "used more than …"."""

    def __init__(self, what: str, reason: str) -> None:
        CourseError.__init__(self, f"{what} {reason}; its process was killed")
        self.ending = f"SIGKILL, because it {reason}"
        self.reason = reason


class WorkerTimeout(CourseError):
    """A call in the worker process did not return in time; the process was killed. `starved` says how little
    the machine gave it, where it was not its own time that was over; else it is empty."""

    def __init__(self, what: str, seconds: float, starved: str = "") -> None:
        super().__init__(f"{what} did not return within {seconds:g} s {COUNTED}; its process was killed")
        self.starved = starved


class WorkerMisbehaved(CourseError):
    """The worker process answered as no worker does, which only foreign code in it can; it was killed."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: the process {why}, so nothing it says can be trusted; it was killed")
        self.why = why


@dataclass(frozen=True)
class Order:
    """A call of an entry point: the number of its library, its name, and its arguments with their C types.

    A value of the type "table" is the list of its fields; what else a script takes is JSON. It is made so
    many `times` in a row, with as many answers.
    """

    library: int
    entry: str
    types: Sequence[str] = ()
    values: Sequence[Value] = ()
    times: int = 1


@dataclass(frozen=True)
class Script:
    """What a worker process runs: the native script, with Python's own flags, or what that one loads."""

    flags: tuple[str, ...]
    loaded: str = ""  # a file of this folder


_FOLDER = Path(__file__).parent
NATIVE = Script(("-P", "-I", "-S"))


class Worker:
    """A process with student libraries in it, behind `walls`.

    `program` connects it to an engine, and `runtime` is loaded first to do so; without them its libraries are
    for a GPU. It may read the folders of the `libraries` it will be asked to load, and holds `descriptors`
    open under the numbers they have here. Its time is counted together with that of `helpers`, processes it
    waits for; `seconds` is what its orders took so far. `missing_walls` has, in words, what this kernel does
    not offer, and `shares_memory` whether the worker can open device memory of this process's, for which its
    walls must have `broker_connect`. `shared` are files of memory that it fills together with others:
    what they hold counts as its own. `script` is what the process runs.
    """

    def __init__(
        self,
        program: socket.socket | None,
        walls: Walls | None = None,
        libraries: Sequence[Path] = (),
        runtime: Path | None = None,
        descriptors: Sequence[int] = (),
        script: Script = NATIVE,
        helpers: Sequence[int] = (),
        shared: Sequence[int] = (),
    ) -> None:
        walls = walls or (Walls() if program is not None else Walls.gpu())
        folder = PrivateFolder()
        self._output = os.memfd_create("worker-output", os.MFD_CLOEXEC)
        self._control, theirs = socket.socketpair()
        kept = [theirs.fileno(), *([program.fileno()] if program is not None else []), *descriptors]
        engine = {"VGPU_FD": str(program.fileno())} if program is not None else {}
        try:
            self._process = spawn(
                [
                    sys.executable,
                    *script.flags,
                    str(_FOLDER / "native_script.py"),
                    str(theirs.fileno()),
                    *([str(_FOLDER / script.loaded)] if script.loaded else []),
                ],
                env={**walls.environment, **engine, "TMPDIR": str(folder.path)},
                cwd=folder.path,
                pass_fds=kept,
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                start_new_session=True,
            )
        except BaseException:
            self._control.close()
            os.close(self._output)
            folder.close()
            raise
        finally:
            theirs.close()
            if program is not None:
                program.close()
        self._alone, self._helpers = walls.children == 0, helpers
        self.seconds = 0.0
        self._watchdog = Watchdog(
            self._process.pid, walls.limits(), output=self._output, folder=folder.path, shared=shared
        )
        self._connections: list[Connections] = []  # one, once the worker has entered walls that have them
        self._finalizer = weakref.finalize(
            self, _end, self._process, self._watchdog, self._connections, self._control, self._output, folder
        )
        self._turn = 0
        self._from_outside = False
        self.missing_walls = self._enter(walls, folder.path, kept, libraries, runtime)

    @property
    def shares_memory(self) -> bool:
        return bool(self._connections)

    @property
    def alive(self) -> bool:
        """Asked without collecting the exit status: until that is done nobody else gets the process's number,
        and killing its session kills nobody else's."""
        if self._process.returncode is not None:
            return False
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    @property
    def was_killed(self) -> bool:
        """Whether it was found ended by a signal that nobody here sends."""
        return self._from_outside

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def pids(self) -> list[int]:
        """Of the process, its children and its helpers: those whose time counts for its limits."""
        own = [self._process.pid] if self._alone else session_members(self._process.pid)
        return [*own, *self._helpers]

    def close(self) -> None:
        """End the process and all that could have come of it, and remove its folder."""
        self._finalizer()

    def load(self, path: Path, timeout: float = _LOAD_SECONDS) -> int:
        answer = self._order({"load": str(path.absolute())}, f"loading {path}", timeout, "library")
        if isinstance(answer, _Problem):
            raise CourseError(f"{path} could not be loaded: {answer.text}")
        (number,) = self._plausible([answer], 1, range(1 << 16), f"loading {path}")
        return number

    def call(
        self, library: int, entry: str, types: Sequence[str], values: Sequence[Value], timeout: float
    ) -> int:
        (returned,) = self.calls([Order(library, entry, types, values)], entry, timeout)
        return returned

    def calls(self, orders: Sequence[Order], what: str, timeout: float) -> list[int]:
        """Call entry points one right after the other, whatever each returns; `what` names them in errors."""
        answer = self._order({"calls": [asdict(order) for order in orders]}, what, timeout, "returned")
        if isinstance(answer, _Problem):
            raise CourseError(answer.text)
        return self._plausible(answer, sum(order.times for order in orders), _INT32, what)

    def threads(self) -> int:
        """How many threads the process has now."""
        return count_threads(self._process.pid)

    def require_alive(self, what: str, seconds: float = 0.0) -> None:
        """Raises what came of the process when it ended outside of any call: printing too much, for one.
        `seconds` is how long it may take to end, where somebody else has seen that it does."""
        limit = TimeLimit(seconds, lambda: [self._process.pid])
        while seconds and not self._closed() and self.alive and not limit.over():
            time.sleep(0.002)
        if not self._closed() and not self.alive:
            raise self._explain_end(what)

    def output(self) -> str:
        """What the libraries have printed; the end of it when it is long."""
        if self._closed():
            return ""
        size = os.fstat(self._output).st_size
        return os.pread(self._output, _MOST_OUTPUT, max(0, size - _MOST_OUTPUT)).decode(errors="replace")

    def _closed(self) -> bool:
        return not self._finalizer.alive

    def _enter(
        self,
        walls: Walls,
        folder: Path,
        keep: Sequence[int],
        libraries: Sequence[Path],
        runtime: Path | None,
    ) -> list[str]:
        needed = [*libraries, *([runtime] if runtime else [])]
        more = walls.memory_bytes + _ADDRESSES_BEYOND_MEMORY
        order = {
            "walls": str(walls_module.__file__),
            "policy": walls.policy(folder, keep, needed),
            "parent": os.getpid(),
            "runtime": None if runtime is None else str(runtime),
            "more_addresses": more if walls.bounded_addresses else None,
        }
        listeners: list[int] = []
        try:
            answer = self._order(order, "starting the worker", _START_SECONDS, "missing", listeners)
            if isinstance(answer, _Problem):
                raise CourseError(
                    f"student code cannot be kept in its place here: {answer.text}. "
                    "`./course doctor` says what this machine offers"
                )
            connections, problems = serve_worker(listeners, self._process.pid)
        except BaseException as problem:
            for listener in listeners:
                os.close(listener)
            self.close()
            if isinstance(problem, WorkerTimeout):  # no student's code is in it yet
                got = problem.starved or f"{_START_SECONDS:g} s {COUNTED}"
                raise MachineOverloaded("the worker process that was to start", got) from None
            raise
        self._connections += connections
        return [*(str(wall) for wall in answer), *problems]

    def _order(
        self,
        order: dict[str, Any],
        what: str,
        timeout: float,
        wanted: str,
        descriptors: list[int] | None = None,
    ) -> Any:
        """The part of the answer that was `wanted`, or the worker's problem. No answer can break this.
        Descriptors that come with it are closed unless there is a list for them."""
        if self._closed():
            raise WorkerDied(what, "status 0: this virtual GPU has been closed, or an earlier call ended it")
        self._turn += 1
        try:
            text = json.dumps({**order, "turn": self._turn}).encode() + b"\n"
            line = self._exchange(text, timeout, descriptors)
            return _read_answer(line, self._turn, wanted)
        except _Nonsense as nonsense:
            self._kill()
            raise WorkerMisbehaved(what, str(nonsense)) from None
        except OutOfTime as over:
            self._kill()
            if self._watchdog.reason is not None:
                raise WorkerStopped(what, self._watchdog.reason) from None
            raise WorkerTimeout(what, timeout, over.got if over.starved else "") from None
        except OSError:
            raise self._explain_end(what) from None

    def _exchange(self, order: bytes, timeout: float, descriptors: list[int] | None) -> bytes:
        limit = TimeLimit(timeout, lambda: self.pids)
        try:
            return self._answer(order, limit, descriptors)
        finally:
            self.seconds += limit.used

    def _answer(self, order: bytes, limit: TimeLimit, descriptors: list[int] | None) -> bytes:
        self._control.setblocking(False)
        try:
            if self._control.recv(1):
                raise _Nonsense("answered before it was asked")
            raise ConnectionResetError
        except BlockingIOError:
            pass  # as it should be
        unsent = memoryview(order)
        while unsent:
            wait_ready(self._control.fileno(), select.POLLOUT, limit)
            unsent = unsent[self._control.send(unsent) :]
        received = bytearray()
        while b"\n" not in received:
            wait_ready(self._control.fileno(), select.POLLIN, limit)
            if descriptors is None:
                chunk = self._control.recv(_MOST_ANSWER)
            else:
                chunk, came, _, _ = socket.recv_fds(self._control, _MOST_ANSWER, 1, socket.MSG_CMSG_CLOEXEC)
                descriptors += came
            if not chunk:
                raise ConnectionResetError
            received += chunk
            if len(received) > _MOST_ANSWER:
                raise _Nonsense(f"answered with more than {_MOST_ANSWER >> 10} KiB")
        line, _, more = bytes(received).partition(b"\n")
        if more:
            raise _Nonsense("answered twice")
        return line

    def _plausible(self, numbers: list[Any], count: int, allowed: range, what: str) -> list[int]:
        # type() and not isinstance(): True is no number here
        if len(numbers) != count or any(type(n) is not int or n not in allowed for n in numbers):
            self._kill()
            raise WorkerMisbehaved(what, "answered with numbers that no entry point can return")
        return numbers

    def _explain_end(self, what: str) -> CourseError:
        """The channel is closed: the process has ended, or foreign code in it has closed it."""
        limit = TimeLimit(_END_SECONDS, lambda: [self._process.pid])
        while self.alive and not limit.over():
            time.sleep(0.002)
        ended_itself = not self.alive
        status, reason = self._kill(), self._watchdog.stop()
        if reason is not None:
            return WorkerStopped(what, reason)
        if ended_itself:
            died = WorkerDied(what, status_text(status))
            self._from_outside = died.from_outside
            return died
        return WorkerMisbehaved(what, "closed the channel it answers on")

    def _kill(self) -> int:
        return _kill(self._process)


class _Nonsense(Exception):
    """An answer that cannot come from worker.py; the text says how."""


class _Problem:
    """The worker's own words for why it could not obey."""

    def __init__(self, text: str) -> None:
        self.text = "".join(c if c.isprintable() else " " for c in text[:_MOST_PROBLEM])


_ANSWER_TYPES: dict[str, type] = {"library": int, "returned": list, "missing": list, "problem": str}


def _read_answer(line: bytes, turn: int, wanted: str) -> Any:
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        raise _Nonsense("answered with something that is not JSON") from None
    if not isinstance(answer, dict) or answer.get("turn") != turn:
        raise _Nonsense("answered another question than the one asked")
    for key in (wanted, "problem"):
        if answer.keys() == {"turn", key} and type(answer[key]) is _ANSWER_TYPES[key]:
            return _Problem(answer[key]) if key == "problem" else answer[key]
    raise _Nonsense("answered in a form that no worker uses")


def _kill(process: subprocess.Popen[bytes]) -> int:
    """Kill the whole session, then collect the status of its first process."""
    if process.returncode is None:
        kill_session(process.pid)
    return process.wait()


def _end(
    process: subprocess.Popen[bytes],
    watchdog: Watchdog,
    connections: Sequence[Connections],
    control: socket.socket,
    output: int,
    folder: PrivateFolder,
) -> None:
    control.close()
    _kill(process)
    watchdog.stop()
    for served in connections:
        served.close()
    os.close(output)
    folder.close()
