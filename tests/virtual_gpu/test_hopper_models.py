"""Drawn tensor maps, wgmma descriptors and barrier traces give what independent models give."""

from __future__ import annotations

import random
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from common.build.program import Target, build_program
from common.virtual_gpu.session import run_program
from tests.virtual_gpu.hopper.models import Barrier, Box, Matrix, registers_of

FOLDER = Path(__file__).parent / "hopper"
LIMIT_SECONDS = 300.0
SHARED_BYTES = 64 << 10
BOXES, DESCRIPTORS, TRACES, STEPS = 60, 40, 20, 60
TYPES = {1: 0, 2: 1, 4: 7, 8: 4}  # bytes of an element -> CUtensorMapDataType
ARRIVE, DROP, EXPECT, COMPLETE, TEST_PARITY, ARRIVE_EXPECT, TEST_STATE = range(7)


@cache
def driver() -> Path:
    return build_program([FOLDER / "driver.cu"], Target.virtual("90a")).path


def run(what: str, words: np.ndarray, folder: Path) -> bytes:
    path = folder / "words"
    path.write_bytes(words.astype(np.uint32).tobytes())
    with (folder / "out").open("w+b") as out:
        ran = run_program(
            driver(), [what, str(path)], stdout=out, stderr=subprocess.PIPE, timeout=LIMIT_SECONDS
        )
        assert ran.status == 0, ran.stderr
        assert ran.report.findings == ()
        out.seek(0)
        return out.read()


def draw_box(rng: random.Random) -> Box:
    while True:
        rank, element, mode = rng.randint(1, 5), rng.choice([1, 2, 4, 8]), rng.randint(0, 3)
        widest = 256 if mode == 0 else 16 << mode
        row = 16 * rng.randint(1, widest // 16) if mode == 0 else widest
        if mode == 0 and row // element > 256:
            continue
        box = (row // element, *(rng.randint(1, 7) for _ in range(rank - 1)))
        sizes = (rng.randint(1, 3 * row // element), *(rng.randint(1, 9) for _ in range(rank - 1)))
        strides: list[int] = []
        extent = sizes[0] * element
        for size in sizes[1:]:
            strides.append((extent + 15) // 16 * 16 + 16 * rng.randint(0, 2))
            extent = strides[-1] * size
        steps = (1, *(rng.choice([1, 1, 2, 3]) for _ in range(rank - 1)))
        first = rng.randint(-2, 3) * max(1, 16 // element)
        corner = (first, *(rng.randint(-4, 8) for _ in range(rank - 1)))
        drawn = Box(element, mode, sizes, tuple(strides), box, steps, corner)
        if drawn.bytes <= SHARED_BYTES and drawn.tensor_bytes < 1 << 22:
            return drawn


def padded(values: tuple[int, ...], count: int, fill: int = 1) -> list[int]:
    return [*values, *[fill] * (count - len(values))]


def test_drawn_boxes_of_tensors(tmp_path):
    rng = random.Random(1)
    boxes = [draw_box(rng) for _ in range(BOXES)]
    words: list[int] = []
    for box in boxes:
        words += [len(box.sizes), TYPES[box.element], box.swizzle, box.bytes, box.tensor_bytes]
        words += padded(box.sizes, 5) + padded(box.strides, 4) + padded(box.box, 5) + padded(box.steps, 5)
        words += [at & 0xFFFFFFFF for at in padded(box.corner, 5, 0)]
    got = np.frombuffer(run("boxes", np.array(words, np.uint64), tmp_path), np.uint8)
    at = 0
    for box in boxes:
        memory = (np.arange(box.tensor_bytes, dtype=np.uint64) * 2654435761 % (1 << 32) >> 24).astype(
            np.uint8
        )
        np.testing.assert_array_equal(got[at : at + box.bytes], box.load(memory), str(box))
        at += box.bytes
    assert at == got.size


def draw_matrix(rng: random.Random) -> Matrix:
    while True:
        mode = rng.randint(0, 3)
        start = 1024 * rng.randint(0, 40) if mode else 16 * rng.randint(0, 2000)
        if mode == 1 and rng.random() < 0.5:
            start += 32 * rng.randint(0, 3)  # a step along k inside of the pattern
        leading, stride = (16 * rng.randint(1, 200) for _ in range(2))
        drawn = Matrix(start, leading, stride, mode, rng.random() < 0.5)
        if mode and (drawn.transposed or start % 1024 == 0):
            drawn = Matrix(start // 1024 * 1024, leading * 8, stride * 8, mode, drawn.transposed)
        if drawn.offsets().max() + 2 <= SHARED_BYTES and max(drawn.leading, drawn.stride) < 1 << 18:
            return drawn


def test_drawn_descriptors(tmp_path):
    rng = random.Random(2)
    image = np.random.default_rng(3).integers(-8, 9, SHARED_BYTES // 2).astype(np.float16)
    pairs = [(draw_matrix(rng), draw_matrix(rng)) for _ in range(DESCRIPTORS)]
    cases = [[m.start, m.leading, m.stride, m.mode, int(m.transposed)] for pair in pairs for m in pair]
    words = np.concatenate([image.view(np.uint32), np.array(cases, np.uint32).reshape(-1)])
    got = np.frombuffer(run("descriptors", words, tmp_path), np.float32).reshape(len(pairs), 128, 32)
    for (a, b), registers in zip(pairs, got, strict=True):
        want = a.values(image) @ b.values(image).T
        np.testing.assert_array_equal(registers, registers_of(want), f"{a}\n{b}")


def draw_trace(rng: random.Random) -> tuple[list[int], list[int]]:
    """Words for the driver, and what each step should answer."""
    barrier = Barrier(rng.randint(1, 6))
    words, want = [barrier.count, STEPS], []
    for _ in range(STEPS):
        choices = [TEST_PARITY, TEST_STATE, EXPECT]
        if barrier.pending > 0:
            choices += [ARRIVE, ARRIVE, ARRIVE_EXPECT]
        if barrier.pending > 0 and barrier.count > 1:
            choices += [DROP] if rng.random() < 0.3 else []
        if barrier.bytes > 0:
            choices += [COMPLETE] * 3
        what, value, answer = rng.choice(choices), 0, 0
        if what == ARRIVE:
            value = rng.randint(1, barrier.pending)
            answer = barrier.arrive(value)
        elif what == DROP:
            answer = barrier.arrive(drops=True)
        elif what == ARRIVE_EXPECT:
            value = 16 * rng.randint(0, 4)
            answer = barrier.arrive(expects=value)
        elif what == EXPECT:
            value = 16 * rng.randint(1, 4)
            barrier.bytes += value
        elif what == COMPLETE:
            value = rng.choice([barrier.bytes, 16 * rng.randint(1, barrier.bytes // 16)])
            barrier.complete(value)
        elif what == TEST_PARITY:
            value = rng.randint(0, 1)
            answer = int(barrier.parity_is_over(value))
        elif barrier.state[0] < barrier.phase - 1 or barrier.state == (0, 0):
            what, value = TEST_PARITY, 0  # the state is too old to be asked about
            answer = int(barrier.parity_is_over(0))
        else:
            answer = int(barrier.state_is_over())
        words += [what, value]
        want.append(answer)
    return words, want


@pytest.mark.parametrize("seed", [4, 5])
def test_drawn_traces_of_barriers(seed, tmp_path):
    rng = random.Random(seed)
    traces = [draw_trace(rng) for _ in range(TRACES)]
    words = np.array([word for trace, _ in traces for word in trace], np.uint64)
    got = np.frombuffer(run("traces", words, tmp_path), np.uint32)
    want = np.array([answer for _, answers in traces for answer in answers], np.uint32)
    np.testing.assert_array_equal(got, want)
