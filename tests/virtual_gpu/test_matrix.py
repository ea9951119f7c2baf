"""Tensor-core arithmetic: every row of the engine's table against dense matrices in numpy."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.virtual_gpu.matrix.library import BUILDS, LANES, MatrixLibrary, WmmaLayout, build
from tests.virtual_gpu.matrix.model import (
    TYPES,
    Form,
    from_registers,
    multiply_add,
    opcodes,
    parse,
    places,
    random_bits,
    to_registers,
    tolerance,
)

FORMS = [parse(name) for name in opcodes()]
MOVMATRIX = "movmatrix.sync.aligned.m8n8.trans.b16"
MMA = [form for form in FORMS if form.memory is None]
WMMA = [form for form in FORMS if form.memory is not None]
FLOAT_MMA = [form for form in MMA if not form.is_integer]
H200_LAYOUTS = json.loads(Path(__file__).with_name("matrix").joinpath("h200_wmma_layouts.json").read_text())
QUIET_NAN = {"f32": 0x7FFFFFFF, "f16": 0x7FFF}


@pytest.fixture(params=BUILDS)
def library(request) -> MatrixLibrary:
    return build(request.param)


def forms(chosen: list[Form]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test of every one of these forms: it tells all that differ, and how."""

    def looped(check: Callable[..., None]) -> Callable[..., None]:
        @wraps(check)
        def test(**fixtures: Any) -> None:
            wrong = {}
            for form in chosen:
                try:
                    check(form=form, **fixtures)
                except AssertionError as difference:
                    wrong[form.name] = str(difference).strip()
            stated = "\n".join(f"{name}: {difference}" for name, difference in wrong.items())
            assert not wrong, f"{len(wrong)} of {len(chosen)} forms differ\n{stated}"

        signature = inspect.signature(check)
        others = [parameter for name, parameter in signature.parameters.items() if name != "form"]
        test.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return test

    return looped


def random_operands(form: Form, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return (
        random_bits(form.a, (form.m, form.k), rng),
        random_bits(form.b, (form.k, form.n), rng),
        random_bits(form.c, (form.m, form.n), rng),
    )


def multiply(library: MatrixLibrary, form: Form, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """The raw bits of D from an mma, through its fragments."""
    where = places(form, "c")
    operands = [
        to_registers(a, places(form, "a"), form.a),
        to_registers(b, places(form, "b"), form.b),
        to_registers(c, where, form.c),
    ]
    count = form.m * form.n // LANES * TYPES[form.d].bits // operands[0].itemsize // 8
    return from_registers(library.run(form.name, count, operands), where, form.d, form.m, form.n)


def check(form: Form, got: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    values, wanted = TYPES[form.d].decode(got), multiply_add(form, a, b, c)
    if form.is_integer:
        np.testing.assert_array_equal(values, wanted)
    else:
        assert np.all(np.abs(values - wanted) <= tolerance(form, a, b, c))


# --- mma ---------------------------------------------------------------------------------------------------


def test_the_table_has_every_product_with_the_registers_of_its_shape(library):
    table = library.forms()
    assert table.keys() == {MOVMATRIX, *(form.name for form in FORMS)}
    assert table[MOVMATRIX] == "32 32"
    for form in FORMS:
        width = 64 if form.d == "f64" else 32

        def registers(rows: int, cols: int, kind: str, width: int = width) -> int:
            return rows * cols * TYPES[kind].bits // width // LANES

        inputs = [registers(form.m, form.k, form.a), registers(form.k, form.n, form.b)]
        if form.memory is not None and form.a == "f16":
            inputs = [8, 8]  # in wmma, f16 fragments are eight registers whatever the shape
        counts = [registers(form.m, form.n, form.d), *inputs, registers(form.m, form.n, form.c)]
        assert table[form.name] == " ".join(f"{width}x{count}" for count in counts), form.name


@forms(MMA)
def test_mma_multiplies_random_matrices(library, form):
    rng = np.random.default_rng(7)
    for _ in range(4):
        a, b, c = random_operands(form, rng)
        check(form, multiply(library, form, a, b, c), a, b, c)


@forms(MMA)
def test_identity_reproduces_a(library, form):
    a = random_bits(form.a, (form.m, form.k), np.random.default_rng(3))
    zero = np.zeros((form.m, form.n), np.uint64)
    for first in range(0, form.k, min(form.n, form.k)):
        b = np.zeros((form.k, form.n), np.uint64)
        columns = np.arange(min(form.n, form.k))
        b[first + columns, columns] = TYPES[form.b].one
        values = TYPES[form.d].decode(multiply(library, form, a, b, zero))
        wanted = TYPES[form.a].decode(a)[:, first : first + len(columns)]
        np.testing.assert_array_equal(values[:, : len(columns)], wanted)
        np.testing.assert_array_equal(values[:, len(columns) :], 0)


@forms(MMA)
def test_results_may_overwrite_operands_in_any_order(library, form):
    a, b, c = random_operands(form, np.random.default_rng(11))
    where = places(form, "c")
    registers = [
        to_registers(a, places(form, "a"), form.a),
        to_registers(b, places(form, "b"), form.b),
        to_registers(c, where, form.c),
    ]
    a_slots, b_slots, c_slots = np.split(
        np.arange(sum(map(len, registers))), np.cumsum(list(map(len, registers)))[:2]
    )
    sources = np.concatenate(registers)
    expected = multiply(library, form, a, b, c)
    for d_slots in (c_slots[::-1], np.resize([*a_slots, *b_slots, *c_slots], len(c_slots))):
        file = np.zeros((len(sources), 256 // sources.itemsize), sources.dtype)
        file[:, :LANES] = sources
        library.run_in_place(form.name, file, [*d_slots, *a_slots, *b_slots, *c_slots])
        got = from_registers(file[d_slots, :LANES], where, form.d, form.m, form.n)
        np.testing.assert_array_equal(got, expected)


@forms([form for form in MMA if form.is_integer])
def test_integers_wrap_or_saturate_at_both_ends(library, form):
    rng = np.random.default_rng(5)
    a, b, _ = random_operands(form, rng)
    low, high = 0x80000000, 0x7FFFFFFF
    for c in (np.full((form.m, form.n), low, np.uint64), np.full((form.m, form.n), high, np.uint64)):
        check(form, multiply(library, form, a, b, c), a, b, c)
    largest_a, largest_b = ((1 << TYPES[kind].bits) - 1 for kind in (form.a, form.b))
    a, b = np.full((form.m, form.k), largest_a, np.uint64), np.full((form.k, form.n), largest_b, np.uint64)
    c = np.full((form.m, form.n), high, np.uint64)
    check(form, multiply(library, form, a, b, c), a, b, c)


@forms([form for form in FLOAT_MMA if form.d != "f64"])
def test_nan_and_infinity_reach_the_rows_they_touch(library, form):
    rng = np.random.default_rng(13)
    a, b, c = random_operands(form, rng)
    nan_bits = (1 << (TYPES[form.a].bits - 1)) - 1  # all of exponent and mantissa: NaN in every format
    a[3, 1] = nan_bits
    c[5, 2] = (1 << (TYPES[form.c].bits - 1)) - 1
    infinity = {"f32": 0x7F800000, "f16": 0x7C00}[form.c]
    c[6, 0] = infinity
    got = multiply(library, form, a, b, c)
    values = TYPES[form.d].decode(got)
    assert np.isnan(values[3]).all()
    assert np.isnan(values[5, 2])
    assert values[6, 0] == np.inf
    assert set(got[np.isnan(values)].tolist()) == {QUIET_NAN[form.d]}
    untouched = np.ones((form.m, form.n), bool)
    untouched[3], untouched[5, 2], untouched[6, 0] = False, False, False
    assert np.isfinite(values[untouched]).all()


@forms([form for form in FLOAT_MMA if form.a in ("f16", "bf16", "e5m2")])
def test_infinity_times_zero_is_nan_and_opposite_infinities_cancel_to_nan(library, form):
    field = TYPES[form.a].exponent
    assert field is not None
    low, count = field
    infinity, sign = ((1 << count) - 1) << low, 1 << (TYPES[form.a].bits - 1)
    a = np.zeros((form.m, form.k), np.uint64)
    b = np.full((form.k, form.n), TYPES[form.b].one, np.uint64)
    c = np.zeros((form.m, form.n), np.uint64)
    a[0, 0], a[1, :2], a[2, 0] = infinity, (infinity, infinity | sign), infinity | sign
    b[0, 7] = 0
    values = TYPES[form.d].decode(multiply(library, form, a, b, c))
    assert np.isinf(values[0, :7]).all()
    assert np.isnan(values[0, 7])
    assert np.isnan(values[1]).all()
    assert (values[2, :7] == -np.inf).all()


def test_every_half_widens_exactly(library):
    form = parse("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32")
    one = np.full((8, 8), 0x3C00, np.uint64)
    zero = np.zeros((16, 8), np.uint64)
    for halves in np.arange(1 << 16, dtype=np.uint64).reshape(-1, 16):
        a = np.zeros((16, 8), np.uint64)
        a[:, 0] = halves  # a row holds one value, so that NaN and infinity meet no other
        got = TYPES["f32"].decode(multiply(library, form, a, one, zero))[:, 0]
        np.testing.assert_array_equal(got, halves.astype(np.uint16).view(np.float16).astype(np.float64))


def test_f16_results_round_to_nearest_even_once(library):
    form = parse("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
    rng = np.random.default_rng(17)
    for scale in (-24, -20, -14, -8, 0, 6, 9):  # from subnormal results to overflow
        a = (rng.integers(-2047, 2048, (16, 16)) * 2.0**-11).astype(np.float16)
        b = np.zeros((16, 8), np.float16)
        b[:2] = 2.0**scale * rng.choice([1.0, -1.0, 0.5, 1.5], (2, 8))
        c = np.zeros((16, 8), np.float16)
        got = multiply(library, form, *(x.view(np.uint16).astype(np.uint64) for x in (a, b, c)))
        with np.errstate(over="ignore"):
            wanted = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16)
        assert np.array_equal(TYPES["f16"].decode(got), wanted.astype(np.float64))


def test_f16_overflow_gives_infinity_from_65520_on(library):
    form = parse("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16")
    a, b = np.zeros((16, 16), np.float16), np.zeros((16, 8), np.float16)
    a[:, 0], b[0] = 16.0, np.array([4094, 4095, 4096, -4094, -4095, -4096, 0, 1], np.float16)
    a[:, 1], b[1] = 1.0, np.array([15, 0, 0, -15, 0, 0, 0, 0], np.float16)
    c = np.zeros((16, 8), np.float16)
    got = TYPES["f16"].decode(
        multiply(library, form, *(x.view(np.uint16).astype(np.uint64) for x in (a, b, c)))
    )
    np.testing.assert_array_equal(got[0], [65504, np.inf, np.inf, -65504, -np.inf, -np.inf, 0, 16])


@pytest.mark.skipif(len(BUILDS) < 2, reason="this CPU has no AVX2, FMA and F16C: there is only one build")
@forms(MMA)
def test_both_builds_give_the_same_bits(form):
    a, b, c = random_operands(form, np.random.default_rng(23))
    fast, portable = (multiply(build(variant), form, a, b, c) for variant in BUILDS)
    np.testing.assert_array_equal(fast, portable)


@settings(max_examples=60)
@given(form=st.sampled_from(MMA), seed=st.integers(0, 2**32 - 1), build_name=st.sampled_from(BUILDS))
def test_random_products_hold_for_any_seed(form, seed, build_name):
    a, b, c = random_operands(form, np.random.default_rng(seed))
    check(form, multiply(build(build_name), form, a, b, c), a, b, c)


# --- wmma --------------------------------------------------------------------------------------------------


def wmma_load(library: MatrixLibrary, opcode: str, memory: np.ndarray, kind: str) -> np.ndarray:
    """The fragment registers of a matrix that lies in memory as the opcode says."""
    layout = library.wmma_layout(opcode)
    assert layout is not None, opcode
    assert not layout.is_store
    assert memory.shape == ((layout.rows, layout.cols) if layout.row_major else (layout.cols, layout.rows))
    matrix = memory if layout.row_major else memory.T
    registers = to_registers(matrix, layout.places, kind)
    assert registers.shape == (layout.registers, LANES)
    assert registers.itemsize == layout.register_bytes
    assert layout.elements_per_register * layout.element_bytes == layout.register_bytes
    return registers


@forms(WMMA)
@pytest.mark.parametrize("c_memory", ["row", "col"])
def test_wmma_load_multiply_store_is_a_matrix_product(library, form, c_memory):
    a, b, c = random_operands(form, np.random.default_rng(29))
    a_memory, b_memory = form.memory

    def in_memory(matrix: np.ndarray, order: str) -> np.ndarray:
        return matrix if order == "row" else matrix.T

    def opcode(what: str, order: str, kind: str) -> str:
        return f"wmma.{what}.sync.aligned.{order}.{form.shape}.{kind}"

    operands = [
        wmma_load(library, opcode("load.a", a_memory, form.a), in_memory(a, a_memory), form.a),
        wmma_load(library, opcode("load.b", b_memory, form.b), in_memory(b, b_memory), form.b),
        wmma_load(library, opcode("load.c", c_memory, form.c), in_memory(c, c_memory), form.c),
    ]
    store = library.wmma_layout(opcode("store.d", c_memory, form.d))
    assert store is not None
    assert store.is_store
    assert store.row_major == (c_memory == "row")
    d = library.run(form.name, store.registers, operands)
    check(form, from_registers(d, store.places, form.d, form.m, form.n), a, b, c)


def h200_fragments() -> list[tuple[str, int, int, np.ndarray]]:
    return [
        (name, group["rows"], group["cols"], np.array(group["places"]))
        for group in H200_LAYOUTS
        for name in group["fragments"]
    ]


@pytest.mark.parametrize("fragment", h200_fragments(), ids=lambda fragment: fragment[0])
@pytest.mark.parametrize("order", ["row", "col"])
def test_wmma_fragments_are_those_of_an_h200(fragment, order):
    name, rows, cols, wanted = fragment
    operand, shape, kind = name.split(".")
    opcodes = [f"wmma.load.{operand}.sync.aligned.{order}.{shape}.{kind}"]
    if operand == "c":
        opcodes.append(f"wmma.store.d.sync.aligned.{order}.{shape}.{kind}")
    for opcode in opcodes:
        layout = build(BUILDS[0]).wmma_layout(opcode)
        assert layout is not None, opcode
        assert (layout.rows, layout.cols, layout.row_major) == (rows, cols, order == "row")
        np.testing.assert_array_equal(layout.places[..., 0] * cols + layout.places[..., 1], wanted)
        assert_covers(layout)


def assert_covers(layout: WmmaLayout) -> None:
    """Every element is somewhere; in a store, and in all that could be stored, exactly once."""
    times = np.zeros((layout.rows, layout.cols), int)
    np.add.at(times, (layout.places[..., 0], layout.places[..., 1]), 1)
    assert times.min() == times.max() >= 1
    if layout.is_store:
        assert times.max() == 1


@pytest.mark.parametrize("space", ["global", "shared", "shared::cta", "shared::cluster"])
def test_the_state_space_does_not_change_the_layout(space):
    library = build(BUILDS[0])
    plain = library.wmma_layout("wmma.load.a.sync.aligned.row.m16n16k16.f16")
    spaced = library.wmma_layout(f"wmma.load.a.sync.aligned.row.m16n16k16.{space}.f16")
    assert plain is not None
    assert spaced is not None
    np.testing.assert_array_equal(spaced.places, plain.places)


@pytest.mark.parametrize(
    "opcode",
    [
        "wmma.load.a.sync.aligned.row.m16n16k16.f32",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.shared.f16",
        "wmma.load.d.sync.aligned.row.m16n16k16.f32",
        "wmma.store.d.sync.aligned.row.m16n16k16.bf16",
        "wmma.load.a.sync.aligned.row.m8n8k128.b1",
        "wmma.load.a",
        "",
    ],
)
def test_unknown_fragments_have_no_layout(opcode):
    assert build(BUILDS[0]).wmma_layout(opcode) is None


# --- 8x8 matrices ------------------------------------------------------------------------------------------


def lanes_of(matrix: np.ndarray) -> np.ndarray:
    """ldmatrix as the PTX manual draws it: lane 4r + t holds elements 2t and 2t + 1 of row r."""
    return np.array(
        [
            int(matrix[lane // 4, 2 * (lane % 4)]) | int(matrix[lane // 4, 2 * (lane % 4) + 1]) << 16
            for lane in range(LANES)
        ],
        np.uint32,
    )


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", [False, True])
def test_ldmatrix_spreads_rows_and_stmatrix_gathers_them(library, count, trans):
    matrices = np.random.default_rng(31).integers(0, 1 << 16, (count, 8, 8)).astype(np.uint16)
    registers = library.ldmatrix(matrices, trans)
    for matrix, register in zip(matrices, registers, strict=True):
        np.testing.assert_array_equal(register, lanes_of(matrix.T if trans else matrix))
    np.testing.assert_array_equal(library.stmatrix(registers, trans), matrices)
    np.testing.assert_array_equal(library.stmatrix(registers, not trans), matrices.transpose(0, 2, 1))


def test_movmatrix_transposes_in_registers(library):
    matrix = np.random.default_rng(37).integers(0, 1 << 16, (8, 8)).astype(np.uint16)
    moved = library.run(MOVMATRIX, 1, [lanes_of(matrix)[None]])
    np.testing.assert_array_equal(moved[0], lanes_of(matrix.T))
    file = np.zeros((1, 64), np.uint32)
    file[0, :LANES] = lanes_of(matrix)
    library.run_in_place(MOVMATRIX, file, [0, 0])
    np.testing.assert_array_equal(file[0, :LANES], lanes_of(matrix.T))


def test_ldmatrix_feeds_mma(library):
    """A from ldmatrix.x4 and B, stored by rows, from ldmatrix.x2.trans: the usual way into m16n8k16."""
    form = parse("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32")
    a, b, c = random_operands(form, np.random.default_rng(41))
    blocks = [a[:8, :8], a[8:, :8], a[:8, 8:], a[8:, 8:]]
    operands = [
        library.ldmatrix(np.stack(blocks), trans=False),
        library.ldmatrix(np.stack([b[:8], b[8:]]), trans=True),
        to_registers(c, places(form, "c"), "f32"),
    ]
    d = from_registers(library.run(form.name, 4, operands), places(form, "c"), "f32", 16, 8)
    check(form, d, a, b, c)
