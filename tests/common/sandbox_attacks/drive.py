"""Run every attack of attacks.cpp against workers of this user's and print what came of each as JSON.

python drive.py ATTACKS.so — needs the standard library alone, so that an ordinary user's Python will do.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from common.core.errors import CourseError
from common.core.process import session_members
from common.sandbox import walls
from common.sandbox.policy import Walls
from common.worker.process import Worker, WorkerStopped

HERE = -100  # AT_FDCWD
SMALL = Walls(
    memory_bytes=256 << 20, output_bytes=4 << 20, folder_bytes=48 << 20, folder_files=100, file_bytes=32 << 20
)
COLUMN = walls._ARCHITECTURES[platform.machine()][0]
# Numbers of calls that the walls have no table entry for, on x86-64 and aarch64.
MORE_CALLS = "openat:257:56 mkdirat:258:34 unlinkat:263:35 symlinkat:266:36 linkat:265:37"


def calls(*tables: str) -> dict[str, int]:
    return {name: number for table in tables for name, number in walls._numbers(table, COLUMN).items()}


class Attacker:
    """A worker with the attacks in it."""

    def __init__(self, worker: Worker, library: int) -> None:
        self.worker = worker
        self._library = library

    def __call__(self, entry: str, *values: int, timeout: float = 20.0) -> int:
        return self.worker.call(self._library, entry, ["i64"] * len(values), values, timeout)

    def attempt(self, number: int, *arguments: int, path: str = "", paths: int = 0) -> str:
        """The name of the errno that a system call gives, or "done"."""
        self("clear_path")
        data = path.encode()
        data += bytes(8 - len(data) % 8)
        for at in range(0, len(data), 8):
            self.push(int.from_bytes(data[at : at + 8], sys.byteorder))
        padded = [*arguments, 0, 0, 0, 0][:4]
        return name_of(self("attempt", number, paths, *padded))

    def push(self, word: int) -> None:
        self.worker.call(self._library, "push_path", ["u64"], [word], 20.0)


def name_of(code: int) -> str:
    return errno.errorcode.get(code, str(code)) if code else "done"


@contextmanager
def attacker(library: Path, around: Walls = SMALL) -> Iterator[Attacker]:
    worker = Worker(None, around, [library])
    try:
        yield Attacker(worker, worker.load(library))
    finally:
        worker.close()


def refusals(library: Path) -> dict[str, str]:
    """Every call that the tables refuse, tried for real."""
    tables = [*walls._REFUSED.values(), *walls._REFUSED_WITHOUT.values()]
    with attacker(library) as attack:
        return {name: attack.attempt(number) for name, number in calls(*tables).items()}


def reaches(library: Path, secret: Path, neighbour: Path) -> dict[str, str]:
    """Files, processes and descriptors that are not the worker's, and some that are."""
    number = calls(walls._OTHERS, MORE_CALLS)
    create = os.O_CREAT | os.O_WRONLY
    me = os.getpid()

    def opened(path: str | Path, flags: int = os.O_RDONLY) -> Callable[[Attacker], str]:
        return lambda attack: attack.attempt(number["openat"], HERE, 0, flags, 0o600, path=str(path), paths=2)

    def asked(call: str, *arguments: int) -> Callable[[Attacker], str]:
        return lambda attack: attack.attempt(number[call], *arguments)

    attempts: dict[str, Callable[[Attacker], str]] = {
        "read a hidden file": opened(secret),
        "write to a hidden file": opened(secret, os.O_WRONLY),
        "list a hidden folder": opened(secret.parent, os.O_RDONLY | os.O_DIRECTORY),
        "read another worker's file": opened(neighbour),
        "read the repository": opened(Path(__file__)),
        "list the home folder": opened(Path.home(), os.O_RDONLY | os.O_DIRECTORY),
        "list the temporary folder": opened(tempfile.gettempdir(), os.O_RDONLY | os.O_DIRECTORY),
        "write outside": opened(f"{tempfile.gettempdir()}/left-by-an-attack", create),
        "write to shared memory": opened("/dev/shm/left-by-an-attack", create),
        "read the parent's memory": opened(f"/proc/{me}/mem"),
        "read the parent's environment": opened(f"/proc/{me}/environ"),
        "remove a hidden file": lambda attack: attack.attempt(
            number["unlinkat"], HERE, path=str(secret), paths=2
        ),
        "make a folder": lambda attack: attack.attempt(
            number["mkdirat"], HERE, 0, 0o700, path="deep", paths=2
        ),
        "load a hidden library": lambda attack: (
            attack.attempt(number["openat"], path=str(secret), paths=2),
            name_of(attack("load_hidden_library")),
        )[1],
        "signal the parent": asked("kill", me, 0),
        "signal everybody": asked("kill", -1, 0),
        "signal a thread of the parent": asked("tgkill", me, me, 0),
        "let a descriptor signal the parent": asked("fcntl", 1, 8, me),
        "let a descriptor send any signal": asked("fcntl", 1, 10, 9),
        "let a device signal the parent": asked("ioctl", 1, 0x8901, me),
        "limit the parent": asked("prlimit64", me, 7),
        "pin the parent": asked("sched_setaffinity", me, 8),
        "outlive the parent": asked("prctl", 1, 0),
        "hide from the parent": asked("prctl", 4, 0),
        "open a socket": asked("socket", 2, 1),
        "open a local socket": asked("socket", 1, 1),
        "start a process by clone": asked("clone", 17),
        "start a process by clone3": asked("clone3"),
        "make a call of the future": lambda attack: attack.attempt(467),
        "start a thread": lambda attack: name_of(attack("start_thread")),
        "open 100,000 files": lambda attack: name_of(attack("open_many", 100_000)),
        "hide memory": lambda attack: name_of(attack("hide_memory", 4096)),
        "grow a file for ever": lambda attack: name_of(attack("grow_one_file")),
        "signal itself": lambda attack: attack.attempt(number["kill"], attack.worker._process.pid, 0),
        "write a file of its own": opened("note", create),
        "read a system library": opened("/usr/lib/os-release"),
        "load its own code from memory": lambda attack: name_of(attack("load_from_memory")),
    }
    results = {}
    for name, attempt in attempts.items():
        try:
            with attacker(library) as attack:
                results[name] = attempt(attack)
        except WorkerStopped as stopped:
            results[name] = stopped.reason
    return results


def endings(library: Path) -> dict[str, dict[str, Any]]:
    """Attacks that end their worker: the verdict, its words, and what was left afterwards."""
    threaded = Walls(more_threads=8, bounded_addresses=False)
    attacks: dict[str, tuple[Walls, Callable[[Attacker], int]]] = {
        "endless loop": (SMALL, lambda attack: attack("loop", timeout=0.5)),
        "stopping itself": (SMALL, lambda attack: attack("stop_itself", timeout=0.5)),
        "ending quietly": (SMALL, lambda attack: attack("end_quietly")),
        "a 32-bit system call": (SMALL, lambda attack: attack("old_system_call")),
        "eating memory": (SMALL, lambda attack: attack("eat_memory", 8192)),
        "eating memory in files": (SMALL, lambda attack: attack("eat_nameless_files", 3072)),
        "flooding the output": (SMALL, lambda attack: attack("flood_output", 32)),
        "filling the disk": (SMALL, lambda attack: attack("fill_disk", 4096)),
        "making files": (SMALL, lambda attack: attack("make_files", 100_000)),
        "starting threads": (threaded, lambda attack: attack("start_threads", 10_000)),
        "closing everything": (SMALL, lambda attack: attack("close_everything")),
        "closing everything and staying": (SMALL, lambda attack: attack("close_everything_and_stay")),
        "faking answers": (SMALL, lambda attack: attack("fake_answers") + attack("parent")),
    }
    for form in range(13):
        # The policy was the first turn, the load the second, so this call is the third.
        attacks[f"babbling in form {form}"] = (SMALL, lambda attack, form=form: attack("babble", form, 3))  # type: ignore[misc]
    return {name: ending(library, around, attack) for name, (around, attack) in attacks.items()}


def ending(library: Path, around: Walls, attack: Callable[[Attacker], int]) -> dict[str, Any]:
    started = time.monotonic()
    verdict, words, pid, folder = "none", "", 0, ""
    try:
        with attacker(library, around) as made:
            pid = made.worker._process.pid
            folder = os.readlink(f"/proc/{pid}/cwd")
            attack(made)
    except CourseError as problem:
        verdict, words = type(problem).__name__, str(problem)
    return {
        "verdict": verdict,
        "words": words,
        "seconds": time.monotonic() - started,
        "processes_left": session_members(pid),
        "folder_left": os.path.exists(folder),
    }


def open_descriptors() -> int:
    """Of this process. The neighbour's watchdog opens a file for a moment now and then: the fewest of many
    looks."""

    def look() -> int:
        time.sleep(0.005)
        return len(os.listdir("/proc/self/fd"))

    return min(look() for _ in range(20))


def in_shared_memory() -> list[str]:
    """What lies there but for the locks of Python processes, such as tests that run beside this one."""
    return [name for name in os.listdir("/dev/shm") if not name.startswith("sem.mp-")]


def main() -> None:
    library = Path(sys.argv[1])
    shared_memory = set(in_shared_memory())
    with tempfile.TemporaryDirectory() as folder, attacker(library) as neighbour:
        secret = Path(folder) / "expected.json"
        secret.write_text("{}")
        neighbours_own = Path(os.readlink(f"/proc/{neighbour.worker._process.pid}/cwd")) / "answers"
        neighbours_own.write_text("42")
        before = open_descriptors()
        results = {
            "user": os.geteuid(),
            "missing": neighbour.worker.missing_walls,
            "refusals": refusals(library),
            "reaches": reaches(library, secret, neighbours_own),
            "endings": endings(library),
            "secret_kept": secret.read_text() == "{}",
        }
        results["descriptors_left"] = open_descriptors() - before
        results["watchdogs_left"] = sum(t.name.startswith("watchdog") for t in threading.enumerate()) - 1
    results["shared_memory_left"] = sorted(set(in_shared_memory()) - shared_memory)
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
