"""Drawn tensor maps, wgmma descriptors and barrier traces give what independent models give."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from common.build.program import Target, build_program
from common.virtual_gpu.session import run_program
from tests.virtual_gpu.hopper.models import Barrier, Box, Matrix, Pixels, registers_of

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


def draw_strides(rng: random.Random, extent: int, sizes: tuple[int, ...], unit: int) -> tuple[int, ...]:
    """Of all dimensions but the first, which has `extent` bytes, with room between them now and then."""
    strides: list[int] = []
    for size in sizes[1:]:
        strides.append((extent + unit - 1) // unit * unit + unit * rng.randint(0, 2))
        extent = strides[-1] * size
    return tuple(strides)


def draw_row(rng: random.Random) -> tuple[int, int, int]:
    """Bytes of an element, swizzle and bytes of a row, which is often as wide as the swizzle."""
    while True:
        element, mode = rng.choice([1, 2, 4, 8]), rng.randint(0, 3)
        widest = 16 << mode if mode else 256
        row = widest if mode and rng.random() < 0.5 else 16 * rng.randint(1, widest // 16)
        if row // element <= 256:
            return element, mode, row


def draw_box(rng: random.Random) -> Box:
    while True:
        rank = rng.randint(1, 5)
        element, mode, row = draw_row(rng)
        box = (row // element, *(rng.randint(1, 7) for _ in range(rank - 1)))
        sizes = (rng.randint(1, 3 * row // element), *(rng.randint(1, 9) for _ in range(rank - 1)))
        strides = draw_strides(rng, sizes[0] * element, sizes, 16)
        steps = (1, *(rng.choice([1, 1, 2, 3]) for _ in range(rank - 1)))
        first = rng.randint(-2, 3) * max(1, 16 // element)
        corner = (first, *(rng.randint(-4, 8) for _ in range(rank - 1)))
        drawn = Box(element, mode, sizes, strides, box, steps, corner)
        if drawn.reach <= SHARED_BYTES and drawn.tensor_bytes < 1 << 22:
            return drawn


def draw_interleaved_box(rng: random.Random) -> Box:
    rank, element, interleave = rng.randint(3, 5), rng.choice([1, 2, 4, 8]), rng.randint(1, 2)
    mode, unit = (1, 32) if interleave == 2 else (rng.randint(0, 3), 16)
    chunk = 16 // element  # the first of a box is a whole number of 16 bytes, here, too
    box = (chunk * rng.randint(1, 3), *(rng.randint(1, 5) for _ in range(rank - 2)), 1)
    sizes = (rng.randint(1, 2 * box[0]), *(rng.randint(1, 6) for _ in range(rank - 1)))
    strides = draw_strides(rng, sizes[0] * unit, sizes, unit)
    corner = (rng.randint(-4, 8), *(rng.randint(-2, 5) for _ in range(rank - 1)))
    return Box(element, mode, sizes, strides, box, (1,) * rank, corner, interleave)


def draw_pixels(rng: random.Random) -> Pixels:
    while True:
        rank, interleave = rng.randint(3, 5), rng.choice([0, 0, 0, 1, 2])
        element, mode, row = draw_row(rng)
        unit = (element, 16, 32)[interleave]
        if interleave:
            mode = 1 if interleave == 2 else rng.randint(0, 3)
        spatial = rank - 2
        inner = tuple(rng.randint(1, 7) for _ in range(spatial))
        channels = rng.randint(1, 3 * row // element)
        middle = (*inner, rng.randint(1, 3)) if interleave else (channels, *inner)
        sizes = (*middle, rng.randint(1, 3))
        strides = draw_strides(rng, sizes[0] * unit, sizes, max(16, unit))
        lower = tuple(rng.randint(-3, 2) for _ in inner)
        upper = tuple(rng.randint(-3, 2) for _ in inner)
        boxes = [range(low, size + up) for low, size, up in zip(lower, inner, upper, strict=True)]
        if not all(boxes):
            continue
        start = tuple(rng.choice(box) for box in boxes)
        if interleave:
            steps, corner = (1,) * rank, (*start, rng.randint(-1, 3), rng.randint(-1, 2))
        else:
            steps = tuple(rng.choice([1, 1, 2, 3]) for _ in sizes)
            corner = (rng.randint(-2, 3) * max(1, 16 // element), *start, rng.randint(-1, 2))
        offset = tuple(rng.randint(0, 4) for _ in inner)
        count = rng.randint(1, 90)
        return Pixels(
            element,
            mode,
            sizes,
            strides,
            row // element,
            count,
            steps,
            corner,
            lower,
            upper,
            offset,
            interleave,
        )


def padded(values: tuple[int, ...], count: int, fill: int = 1) -> list[int]:
    return [*values, *[fill] * (count - len(values))]


def words_of(load: Box | Pixels) -> list[int]:
    """As the driver reads them."""
    pixels = load if isinstance(load, Pixels) else None
    box = (pixels.channels, pixels.count) if pixels else load.box if isinstance(load, Box) else ()
    corners = (pixels.lower, pixels.upper, pixels.offset) if pixels else ((), (), ())
    words = [len(load.sizes), TYPES[load.element], load.swizzle, load.interleave, int(pixels is not None)]
    words += [load.bytes, load.reach, load.tensor_bytes]
    words += padded(load.sizes, 5) + padded(load.strides, 4) + padded(box, 5) + padded(load.steps, 5)
    words += padded(load.corner, 5, 0)
    for values in corners:
        words += padded(values, 3, 0)
    return [word & 0xFFFFFFFF for word in words]


@pytest.mark.parametrize("draw", [draw_box, draw_interleaved_box, draw_pixels])
def test_drawn_loads_of_tensors(draw: Callable[[random.Random], Box | Pixels], tmp_path):
    rng = random.Random(1)
    loads = [draw(rng) for _ in range(BOXES)]
    words = np.array([word for load in loads for word in words_of(load)], np.uint64)
    got = np.frombuffer(run("boxes", words, tmp_path), np.uint8)
    at = 0
    for load in loads:
        count = np.arange(load.tensor_bytes, dtype=np.uint64)
        memory = (count * 2654435761 % (1 << 32) >> 24).astype(np.uint8)
        np.testing.assert_array_equal(got[at : at + load.reach], load.load(memory), str(load))
        at += load.reach
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
            # The tile may begin at any row of 128 bytes, and the pattern of its swizzle at another.
            row, base = rng.choice([(0, 0), (rng.randint(0, 7), rng.randint(0, 7))])
            start = start // 1024 * 1024 + 128 * row
            drawn = Matrix(start, leading * 8, stride * 8, mode, drawn.transposed, base)
        if drawn.offsets().max() + 2 <= SHARED_BYTES and max(drawn.leading, drawn.stride) < 1 << 18:
            return drawn


def words_of_descriptors(image: np.ndarray, pairs: list[tuple[Matrix, Matrix]]) -> np.ndarray:
    cases = [
        [m.start, m.leading, m.stride, m.mode, m.base_offset, int(m.transposed)]
        for pair in pairs
        for m in pair
    ]
    return np.concatenate([image.view(np.uint32), np.array(cases, np.uint32).reshape(-1)])


def test_drawn_descriptors(tmp_path):
    rng = random.Random(2)
    image = np.random.default_rng(3).integers(-8, 9, SHARED_BYTES // 2).astype(np.float16)
    pairs = [(draw_matrix(rng), draw_matrix(rng)) for _ in range(DESCRIPTORS)]
    assert any(m.base_offset for pair in pairs for m in pair)
    words = words_of_descriptors(image, pairs)
    got = np.frombuffer(run("descriptors", words, tmp_path), np.float32).reshape(len(pairs), 128, 32)
    for (a, b), registers in zip(pairs, got, strict=True):
        want = a.values(image) @ b.values(image).T
        np.testing.assert_array_equal(registers, registers_of(want), f"{a}\n{b}")


def test_drawn_descriptors_of_bits(tmp_path):
    rng = random.Random(6)
    image = np.random.default_rng(7).integers(0, 1 << 16, SHARED_BYTES // 2).astype(np.uint16)
    drawn = [draw_matrix(rng) for _ in range(4 * DESCRIPTORS)]
    along_k = [matrix for matrix in drawn if not matrix.transposed]  # bits have no other order
    pairs = list(zip(along_k[::2], along_k[1::2], strict=False))
    words = words_of_descriptors(image, pairs)
    got = np.frombuffer(run("bits", words, tmp_path), np.int32).reshape(len(pairs), 128, 32)
    for (a, b), registers in zip(pairs, got, strict=True):
        want = a.bits(image) @ b.bits(image).T
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
