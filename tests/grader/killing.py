"""Kills processes of a class run at random, as a machine without memory or a person in a hurry would."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from common.core.proc import all_processes, stat_of

# What a victim's command line has.
VICTIMS = {
    "engine": ("vgpu-engine",),
    "worker": ("native_script.py",),
    "compiler": ("cicc", "cudafe++", "ptxas"),
}
RUN = "run"
_LOOK_SECONDS = 0.2  # between two lists of all processes of a run
_SOON = 20.0  # seconds: a victim of the kind comes, or another has to do


def below(root: int) -> Iterator[int]:
    """The process and all that came of it, whatever session they lead."""
    children: dict[int, list[int]] = {}
    for process in all_processes():
        children.setdefault(process.parent, []).append(process.pid)
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += children.get(pid, [])


def _runs(pid: int, words: tuple[str, ...]) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return False
    return any(Path(word).name in words for word in command)


def kill_one(root: int, words: tuple[str, ...], rng: random.Random) -> bool:
    """Kill one process below `root` that runs one of these programs; False where there is none."""
    if not (found := [pid for pid in below(root) if _runs(pid, words)]):
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(rng.choice(found), signal.SIGKILL)
    return True


class Killer:
    """Kills `kills` times while a run goes on, at even distances of its progress from 0 to 1."""

    def __init__(self, kills: list[str], rng: random.Random) -> None:
        self._left, self._rng, self._count = list(kills), rng, len(kills)
        self._seen: set[tuple[int, bytes]] = set()  # all that ran below the run, by number and birth
        self._looked = 0.0
        self.killed: dict[str, int] = dict.fromkeys((*VICTIMS, RUN), 0)

    def see_to_its_end(
        self, start: Callable[[], subprocess.Popen[str]], progress: Callable[[], float]
    ) -> subprocess.Popen[str]:
        """The process of the run that ended by itself; those that are killed are started again."""
        run = start()
        while run.poll() is None:
            self._look(run.pid)
            due = (self._count - len(self._left) + 0.5) / (self._count + 1)
            if not self._left or progress() < due:
                time.sleep(0.02)
            elif self._left[0] == RUN:
                self._left.pop(0)
                self._look(run.pid, now=True)
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
                self.killed[RUN] += 1
                run = start()
            else:
                self._kill_part(run, self._left.pop(0))
        return run

    def left(self) -> list[int]:
        """Of all processes that were seen below a run, in whatever session, those that live."""
        found = [(stat_of(pid), born) for pid, born in self._seen]
        return [stat.pid for stat, born in found if stat is not None and stat.lives and stat.born == born]

    def _look(self, root: int, *, now: bool = False) -> None:
        if now or time.monotonic() - self._looked > _LOOK_SECONDS:
            self._looked = time.monotonic()
            self._seen |= {(pid, stat.born) for pid in below(root) if (stat := stat_of(pid)) is not None}

    def _kill_part(self, run: subprocess.Popen[str], kind: str) -> None:
        """One of that kind; where none comes soon, one of another."""
        time.sleep(self._rng.uniform(0, 0.5))
        began = time.monotonic()
        while run.poll() is None and time.monotonic() - began < 2 * _SOON:
            self._look(run.pid)
            late = time.monotonic() - began > _SOON
            for one in VICTIMS if late else (kind,):
                if kill_one(run.pid, VICTIMS[one], self._rng):
                    self.killed[one] += 1
                    return
            time.sleep(0.01)
