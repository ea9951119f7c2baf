"""Let workers of this user's connect to what they may and may not reach; print what came of it as JSON.

python drive_connections.py CONNECTING.so — needs the standard library alone, so that an ordinary user's
Python will do.
"""

from __future__ import annotations

import errno
import json
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from common.core.errors import CourseError
from common.sandbox import connections
from common.sandbox.policy import Walls
from common.worker.process import Worker
from tests.common.sandbox_attacks.drive import name_of

PACKETS, STREAM = socket.SOCK_SEQPACKET, socket.SOCK_STREAM
NAME = f"\0cuda-uvmfd-1234-{os.getpid()}"
_PATIENCE = 20.0  # seconds for a name to become free
DRIVERS = NAME + "\0"  # as NVIDIA's driver spells it
LISTEN_ELSEWHERE = (
    "import socket, sys\n"
    "s = socket.socket(socket.AF_UNIX); s.bind('\\0' + sys.argv[1]); s.listen()\n"
    "print('ready', flush=True); sys.stdin.read()\n"
    "s.setblocking(False)\n"
    "try: s.accept(); print('reached')\n"
    "except BlockingIOError: print('left alone')\n"
)


class Caller:
    """A worker with the library in it."""

    def __init__(self, library: Path) -> None:
        self.worker = Worker(None, Walls.gpu(), [library])
        self._library = self.worker.load(library)

    def __call__(self, entry: str, *values: int, timeout: float = 20.0) -> int:
        return self.worker.call(self._library, entry, ["i64"] * len(values), values, timeout)

    def address(self, name: str | bytes, which: int = 0, family: int = socket.AF_UNIX) -> None:
        data = struct.pack("=H", family) + (name.encode() if isinstance(name, str) else name)
        self("clear_address", which)
        for at in range(0, len(data), 8):
            part = data[at : at + 8]
            word = int.from_bytes(part.ljust(8, b"\0"), "little")
            self.worker.call(
                self._library, "push_address", ["i64", "u64", "i64"], [which, word, len(part)], 20.0
            )

    def connect(
        self, name: str | bytes, kind: int = STREAM, family: int = socket.AF_UNIX, more_length: int = 0
    ) -> str:
        self.address(name, family=family)
        return name_of(self("connect_to", 0, kind, more_length))


@contextmanager
def caller(library: Path) -> Iterator[Caller]:
    made = Caller(library)
    try:
        yield made
    finally:
        made.worker.close()


def _bind(made: socket.socket, name: str) -> None:
    """A process that is being started holds copies of sockets that are closed here, for a moment."""
    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return made.bind(name)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@contextmanager
def listening(name: str, kind: int = STREAM, queue: int = 128) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, kind) as made:
        _bind(made, name)
        made.listen(queue)
        made.setblocking(False)
        yield made


def drain(listener: socket.socket) -> int:
    """How many have connected since the last time."""
    count = 0
    while select.select([listener], [], [], 0)[0]:
        listener.accept()[0].close()
        count += 1
    return count


def talk(caller: Caller, name: str, kind: int) -> str:
    """A connection over which a file comes to the worker and what it holds comes back."""
    with listening(name, kind) as ours:
        code = caller.connect(name, kind)
        if code != "done":
            return code
        connection, _ = ours.accept()
        connection.settimeout(10)
        file = os.memfd_create("message")
        os.write(file, b"a secret of the parent's")
        socket.send_fds(connection, [b"!"], [file])
        os.close(file)
        answer = caller("exchange")
        with connection:
            return connection.recv(64).decode() if answer == 0 else name_of(answer)


def refusals(caller: Caller, folder: Path) -> dict[str, Any]:
    path = str(folder / "engine.sock")
    elsewhere = f"cuda-uvmfd-99-{os.getpid()}"
    with (
        listening(path) as by_path,
        listening(f"\0another-{os.getpid()}") as abstract,
        listening(f"\0cuda-uvmfd-1234-{os.getpid() + 10_000_000}") as other_pid,
        listening(NAME + "0") as longer,
        listening("\0x" + NAME[1:]) as prefixed,
        socket.create_server(("127.0.0.1", 0)) as tcp,
        subprocess.Popen(
            [sys.executable, "-c", LISTEN_ELSEWHERE, elsewhere],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as other,
    ):
        os.chmod(path, 0o777)
        assert other.stdout is not None
        assert other.stdin is not None
        other.stdout.readline()
        port = struct.pack("!H4s", tcp.getsockname()[1], socket.inet_aton("127.0.0.1")) + bytes(8)
        codes = {
            "a path": caller.connect(path + "\0"),
            "a name of another kind": caller.connect(f"\0another-{os.getpid()}"),
            "another process's number": caller.connect(f"\0cuda-uvmfd-1234-{os.getpid() + 10_000_000}"),
            "a longer number": caller.connect(NAME + "0"),
            "something before the name": caller.connect("\0x" + NAME[1:]),
            "a second line": caller.connect(NAME + "\n"),
            "the name in another family": caller.connect(NAME, family=socket.AF_INET),
            "an address of TCP": caller.connect(port, family=socket.AF_INET),
            "a length beyond every address": caller.connect(NAME, more_length=1 << 20),
            "a negative length": caller.connect(NAME, more_length=-1000),
            "an empty name": caller.connect(""),
            "our name, taken by another process": caller.connect("\0" + elsewhere),
            "our name, which nobody has": caller.connect(NAME),
            "memory that is not there": name_of(caller("connect_at", 64, 40)),
            "memory beyond all addresses": name_of(caller("connect_at", -64, 40)),
            "a socket for TCP": name_of(caller("make_socket", socket.AF_INET, STREAM)),
            "a socket for datagrams": name_of(caller("make_socket", socket.AF_UNIX, socket.SOCK_DGRAM)),
            "a raw socket": name_of(caller("make_socket", socket.AF_UNIX, socket.SOCK_RAW)),
            "a pair for datagrams": name_of(caller("make_pair", socket.SOCK_DGRAM)),
            "a raw pair": name_of(caller("make_pair", socket.SOCK_RAW)),
            "a listener of its own": name_of(caller("listen_to_itself")),
        }
        ours = (by_path, abstract, other_pid, longer, prefixed, tcp)
        os.unlink(path)
        said, _ = other.communicate("")
        return {"codes": codes, "reached": sum(map(drain, ours)), "elsewhere": said.strip()}


def descriptors(caller: Caller) -> dict[str, str]:
    with listening(NAME):
        caller.address(NAME)
        answers = {"no descriptor": 300, "minus one": -1, "no socket": 0}
        return {what: name_of(caller("connect_number", number)) for what, number in answers.items()}


def race(caller: Caller) -> dict[str, int]:
    other = "\0cuda-uvmfd-1235-" + "x" * len(str(os.getpid()))  # as long as the one that is allowed
    with listening(NAME, queue=4096) as ours, listening(other, queue=4096) as forbidden:
        caller.address(NAME, 0)
        caller.address(other, 1)
        successes = caller("race", STREAM, 2500)
        return {"successes": successes, "reached": drain(ours), "forbidden": drain(forbidden)}


def flood(caller: Caller) -> dict[str, float]:
    caller.address(f"\0another-{os.getpid()}")
    before, started = time.process_time(), time.monotonic()
    asked = caller("flood", 48, 1500)
    seconds, used = time.monotonic() - started, time.process_time() - before
    time.sleep(1.5)  # what it has used up comes back
    return {"asked": asked, "share": used / seconds, "seconds": seconds}


def juggle(caller: Caller) -> dict[str, Any]:
    with listening(NAME, queue=4096) as ours:
        caller.address(NAME)
        successes = caller("juggle", STREAM, 1000)
        return {"all_reached_ours": drain(ours) >= successes, "alive": caller.worker.alive}


def full_queue(library: Path) -> dict[str, Any]:
    """Workers that wait for a listener which is too busy: one that is patient, and two that end meanwhile."""
    found: dict[str, Any] = {}
    with listening(NAME, queue=3), caller(library) as waiting:
        waiting.address(NAME)
        found["fitted"] = waiting("fill_queue", STREAM) > 0
        started = time.monotonic()
        found["code"] = name_of(waiting("connect_to", 0, STREAM, 0))
        found["seconds"] = time.monotonic() - started
        found["blocking"] = waiting("is_blocking")
    for entry in ("end_while_connecting", "end_while_blocking"):
        with listening(NAME, queue=3) as ours, caller(library) as ending:
            ending.address(NAME)
            ending("fill_queue", STREAM)
            try:
                ending(entry, STREAM, 400)
            except CourseError as problem:
                found[entry] = str(problem)
            started = time.monotonic()
            ending.worker.close()
            found[f"{entry}, closing"] = time.monotonic() - started
            drain(ours)
    return found


def without_looking(library: Path) -> dict[str, Any]:
    """A machine that does not let a process read its child's memory."""

    def refuse(process: int) -> int:
        raise PermissionError(1, "Operation not permitted")

    with (
        mock.patch.object(os, "pidfd_open", refuse),
        caller(library) as made,
        listening(NAME),
    ):
        said = [wall for wall in made.worker.missing_walls if "device memory" in wall]
        return {"shares": made.worker.shares_memory, "said": said, "code": made.connect(NAME)}


def everything(library: Path, folder: Path) -> dict[str, Any]:
    with caller(library) as made:
        results: dict[str, Any] = {
            "talks": {
                "as the driver does": talk(made, DRIVERS, PACKETS),
                "over a stream": talk(made, NAME, STREAM),
                "once more": talk(made, DRIVERS, PACKETS),
            },
            "listeners": made("count_listeners"),
            "refusals": refusals(made, folder),
            "descriptors": descriptors(made),
            "flood": flood(made),
            "race": race(made),
            "juggle": juggle(made),
        }
        time.sleep(1.5)
        results["talks"]["after all that"] = talk(made, DRIVERS, PACKETS)
    return {**results, "full queue": full_queue(library)}


def threads_left() -> list[str]:
    """Threads that still serve; one may need a moment after its listener has been drained."""
    deadline = time.monotonic() + 5
    while True:
        left = [t.name for t in threading.enumerate() if t.name.startswith("connections")]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.01)


def main() -> None:
    library = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        with caller(library) as made:
            results: dict[str, Any] = {
                "missing": made.worker.missing_walls,
                "shares": made.worker.shares_memory,
                "copies": [served._copies for served in made.worker._connections],
            }
        before = len(os.listdir("/proc/self/fd"))
        results["their sockets"] = everything(library, Path(folder))
        with mock.patch.object(connections, "_can_copy", return_value=False):
            results["our sockets"] = everything(library, Path(folder))
        results["without looking"] = without_looking(library)
        results["threads_left"] = threads_left()
        results["descriptors_left"] = len(os.listdir("/proc/self/fd")) - before
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
