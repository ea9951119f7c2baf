"""Damaged PTX that still loads is run: every launch ends within its limit and the engine survives, whatever
the kernel has become. VGPU_FUZZ=N tries N modules instead of a few, VGPU_FUZZ_SEED=S others; with
VGPU_SANITIZER the engine checks itself.
"""

from __future__ import annotations

import os
import random
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.build.program import Target
from common.core.cpu_time import TimeLimit
from common.machine_code.embedded_ptx import embedded_ptx
from grader.building.build import build
from grader.spec import registry
from tests.virtual_gpu.engine_client import EngineProcess, Program
from tests.virtual_gpu.ptx.tokens import TOKEN

SEED = int(os.environ.get("VGPU_FUZZ_SEED", "20261117"))
MODULES = int(os.environ.get("VGPU_FUZZ", "24"))  # for each exercise
SECONDS = 0.5  # of a launch
MOST_SECONDS = 20.0  # of CPU time and sleep, for a module and all its launches
ENTRY = re.compile(rb"\.entry\s+(\w+)")
ROOM = 1 << 16
MOST_PARAMETERS = 4096  # bytes, of any kernel
# Words that may stand for each other: registers of one kind, labels, numbers.
ALIKE = re.compile(rb"(%[a-z]+)\d+$|(\$L\w+)$|()-?\d+$")
NUMBERS = (b"0", b"1", b"-1", b"31", b"4096", b"2147483647", b"4294967295")


def damaged(text: bytes, rng: random.Random) -> bytes:
    """Some words behind the declarations replaced by others of their kind: it mostly loads."""
    tokens = TOKEN.findall(text)
    first = tokens.index(b"{")
    places: dict[bytes, list[int]] = {}
    for at in range(first, len(tokens)):
        if found := ALIKE.match(tokens[at]):
            places.setdefault(found[1] or (b"$" if found[2] else b""), []).append(at)
    for _ in range(rng.randint(1, 6)):
        kind = rng.choice(list(places))
        at, other = rng.choice(places[kind]), rng.choice(places[kind])
        tokens[at] = tokens[other] if kind else rng.choice(NUMBERS)
    return b"".join(tokens)


def entries(program: Program, module: bytes, text: bytes) -> Iterator[tuple[int, int]]:
    """The kernels of a module that was loaded: their numbers, and the bytes of their parameters."""
    for name in ENTRY.findall(text):
        reply = program.ask("GetFunction", module + name)
        size = struct.unpack_from("=Q13i", reply.payload)[13] if reply.error == 0 else -1
        if 0 <= size <= MOST_PARAMETERS:
            yield reply.number(), size


def run_all(program: Program, text: bytes, room: int, rng: random.Random) -> int:
    """Load and launch everything; how many launches were accepted."""
    loaded = program.ask("LoadModule", text)
    if loaded.error != 0:
        return 0
    accepted = 0
    for function, size in entries(program, loaded.payload, text):
        words = [rng.choice([room, room, room + 4096, rng.randrange(64)]) for _ in range(-(-size // 8))]
        head = struct.pack("=QQ12I", function, 0, 2, 1, 1, 64, 1, 1, 0, 0, 0, 1024, 0, size)
        accepted += program.ask("Launch", head + struct.pack(f"={len(words)}Q", *words)[:size]).error == 0
    program.ask("DeviceSync")
    return accepted


@pytest.mark.parametrize("exercise", ["01", "02", "03"])
def test_a_damaged_kernel_ends_and_so_does_no_engine(exercise: str):
    library = build(registry.find(exercise).solution, Target.virtual("90")).library
    assert library is not None
    original = embedded_ptx(Path(library).read_bytes())
    assert original is not None
    rng = random.Random(f"{SEED} {exercise}")
    accepted = sum(judged(damaged(original, rng), rng, number) for number in range(MODULES))
    assert accepted > 0


def judged(text: bytes, rng: random.Random, number: int) -> int:
    engine = EngineProcess(["--option", f"max_seconds={SECONDS}", "--option", "threads=1"])
    try:
        program = engine.ready()
        limit = TimeLimit(MOST_SECONDS, lambda: [engine.process.pid])
        accepted = run_all(program, text, program.malloc(ROOM), rng)
        assert not limit.over(), f"module {number} took more than {MOST_SECONDS:.0f} s"
        assert engine.harness.report()["version"] == 1
        return accepted
    except OSError:
        status, said = engine.wait()
        pytest.fail(f"module {number} ended the engine with {status}: {said[-2000:]}")
    finally:
        engine.stop()
