"""Arithmetic opcodes: every form of the engine's tables against an exact model, and laws that all keep."""

from __future__ import annotations

import random
import zlib
from collections import defaultdict
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.build.toolchain import find_nvcc
from tests.virtual_gpu.ops.assembler import refused
from tests.virtual_gpu.ops.driver import ALL_LANES, LANES, OpDriver, Slot, build, slots_of
from tests.virtual_gpu.ops.grammar import Form, all_forms
from tests.virtual_gpu.ops.model import Bits, Model
from tests.virtual_gpu.ops.models import model_of
from tests.virtual_gpu.ops.vectors import draw, edges, width_of

FORMS = all_forms()
LARGE_FAMILIES = ("cvt", "set", "setp")
WARPS = 4
# Several hundred forms differ only in the registers around the same conversion.
WARPS_OF_WIDE_REGISTERS = 1
# ptxas fails on its own expansion of these, so no program can hold them.
UNASSEMBLED = [f"cvt.{r}.ftz{sat}.f32.f64#64.64" for r in ("rz", "rm", "rp") for sat in ("", ".sat")]
# Forms of one signature share this many sets of operands, so that the models read an operand once.
OPERAND_SETS = 8
SHOWN_LANES = 4  # of a form that differs
STALE = 0x5A5A5A5A5A5A5A5B  # no operation leaves it by accident


def families() -> dict[str, list[Form]]:
    """The forms by opcode, those of the three large opcodes by the type that they read too."""
    found: defaultdict[str, list[Form]] = defaultdict(list)
    for form in FORMS:
        opcode, *_, type = form[0].partition("#")[0].split(".")
        found[f"{opcode} {type}" if opcode in LARGE_FAMILIES else opcode].append(form)
    return dict(found)


FAMILIES = families()


@pytest.fixture(scope="module")
def driver() -> OpDriver:
    return build("fast")


def lane_operands(kinds: tuple[str, ...], count: int, rng: random.Random) -> list[Bits]:
    """Source values for `count` lanes: for one operand all of its edges first, then a mixture."""
    if len(kinds) == 1:
        first = list(edges(kinds[0])) if kinds[0] != "pred" else [0, 1]
        rng.shuffle(first)
        lanes: list[Bits] = [(bits,) for bits in first[:count]]
        return lanes + [(_draw(kinds[0], rng),) for _ in range(count - len(lanes))]
    return [tuple(_draw(kind, rng) for kind in kinds) for _ in range(count)]


def _draw(kind: str, rng: random.Random) -> int:
    return rng.getrandbits(1) if kind == "pred" else draw(kind, rng)


def as_slot(slot: Slot, values: list[int]) -> np.ndarray:
    """A slot's contents over all warps, from one value a lane."""
    lanes = np.array(values, np.uint64).reshape(-1, LANES)
    if slot.width == 1:
        return (lanes << np.arange(LANES, dtype=np.uint64)).sum(axis=1, keepdims=True).astype(np.uint32)
    return lanes.astype(slot.dtype)


def as_lanes(slot: Slot, contents: np.ndarray) -> list[int]:
    if slot.width == 1:
        return [int(mask) >> lane & 1 for mask in contents[:, 0] for lane in range(LANES)]
    return [int(value) for value in contents.reshape(-1)]


def fill(slots: list[Slot], sources: list[Bits], stale: int) -> list[np.ndarray]:
    """All slots of a form: results hold `stale`, which no operation leaves by accident."""
    columns = iter(zip(*sources, strict=True))
    count = len(sources)
    stale_value = [stale & ((1 << max(slot.width, 1)) - 1) if slot.is_result else 0 for slot in slots]
    return [
        as_slot(slot, [stale_value[place]] * count if slot.is_result else list(next(columns)))
        for place, slot in enumerate(slots)
    ]


def results_by_lane(slots: list[Slot], contents: list[np.ndarray]) -> list[Bits]:
    results = [
        as_lanes(slot, content) for slot, content in zip(slots, contents, strict=True) if slot.is_result
    ]
    return list(zip(*results, strict=True))


def line(source: Bits, found: Bits) -> str:
    return f"{' '.join(map(hex, source))} -> {' '.join(map(hex, found))}"


def differences(model: Model, sources: list[Bits], got: list[Bits], immediate: int) -> list[str]:
    wrong = []
    for source, found in zip(sources, got, strict=True):
        if model.accepts is not None:
            good, wanted = model.accepts(source, found), "within the error bound"
        else:
            expected = model.results(source, immediate)
            good, wanted = found == expected, " ".join(map(hex, expected))
        if not good:
            wrong.append(f"{line(source, found)}, expected {wanted}")
    return wrong


def test_the_tables_have_exactly_the_forms_of_the_grammar(driver):
    assert len(driver.forms) == len(set(driver.forms))
    assert set(driver.forms) == set(FORMS)


def test_nvidias_assembler_takes_every_form(tmp_path):
    forms = [form for form in FORMS if form[0] not in UNASSEMBLED]
    assert refused(find_nvcc().path.with_name("ptxas"), forms, tmp_path) == {}


@lru_cache(maxsize=1 << 12)
def drawn(kinds: tuple[str, ...], count: int, turn: int) -> tuple[list[Bits], np.ndarray]:
    """Sources of `count` lanes, and for each of their warps the lanes that are on."""
    rng = random.Random(f"{kinds} {count} {turn}")
    masks = np.array([rng.getrandbits(32) for _ in range(count // LANES)], np.uint32)
    return lane_operands(kinds, count, rng), masks


def wrong_of(driver: OpDriver, form: Form) -> list[str]:
    """What a form does otherwise than the model says, in full warps and in partial ones."""
    model, slots = model_of(form), slots_of(form[1])
    warps = WARPS_OF_WIDE_REGISTERS if "#" in form[0] else WARPS
    wrong = []
    for place, immediate in enumerate(model.immediates):
        turn = (zlib.crc32(form[0].encode()) + place) % OPERAND_SETS
        sources, masks = drawn(model.kinds, warps * LANES, turn)
        operands = fill(slots, sources, STALE)
        full = results_by_lane(slots, driver.run(form, operands, imm=immediate))
        wrong += differences(model, sources, full, immediate)

        partial = results_by_lane(slots, driver.run(form, operands, exec_masks=masks, imm=immediate))
        on = [int(mask) >> lane & 1 for mask in masks for lane in range(LANES)]
        stale = results_by_lane(slots, operands)
        for lane, (active, found, *both) in enumerate(zip(on, partial, stale, full, strict=True)):
            if found != both[active]:
                state = "on" if active else "off"
                wrong.append(
                    f"{line(sources[lane], found)} in lane {lane % LANES}, {state}, of a partial warp"
                )
    return wrong


@pytest.mark.parametrize("family", FAMILIES)
def test_forms_of(driver, family):
    """Full warps and partial ones give what the model says; lanes that are off keep what they had."""
    wrong = {form: found for form in FAMILIES[family] if (found := wrong_of(driver, form))}
    stated = [
        f"{' '.join(form)}: {len(found)} lanes\n    " + "\n    ".join(found[:SHOWN_LANES])
        for form, found in wrong.items()
    ]
    assert not wrong, f"{len(wrong)} of {len(FAMILIES[family])} forms differ\n" + "\n".join(stated)


def test_every_form_is_in_one_family():
    assert sorted(form for forms in FAMILIES.values() for form in forms) == sorted(FORMS)


def test_a_result_may_replace_an_operand(driver):
    """Destination and source may be the same register, in full and in partial warps."""
    mask = 0x0F0FF0F5
    on = np.array([mask >> lane & 1 for lane in range(LANES)], bool)
    differing = []
    for form in FORMS:
        model, slots = model_of(form), slots_of(form[1])
        sources, _ = drawn(model.kinds, LANES, zlib.crc32(form[0].encode()) % OPERAND_SETS)
        operands, immediate = fill(slots, sources, 0), model.immediates[0]
        apart = driver.run(form, operands, imm=immediate)[0]
        same_width = [
            i for i, slot in enumerate(slots) if not slot.is_result and slot.width == slots[0].width
        ]
        for place in same_width if len(slots_of(form[1].split()[0])) == 1 else []:
            shared = driver.run(form, operands, imm=immediate, alias=place)[0]
            partly = driver.run(
                form, operands, imm=immediate, alias=place, exec_masks=np.array([mask], np.uint32)
            )[0]
            if slots[0].width == 1:
                kept = apart & np.uint32(mask) | operands[place] & ~np.uint32(mask)
            else:
                kept = np.where(on, apart, operands[place])
            if (shared != apart).any() or (partly != kept).any():
                differing.append((form, place))
    assert differing == []


def test_the_portable_build_gives_the_same_bits(driver):
    """Without vector instructions, FMA and F16C: another path through the same sources."""
    portable = build("portable")
    assert portable.forms == driver.forms
    differing = []
    for form in FORMS:
        model, slots = model_of(form), slots_of(form[1])
        sources, _ = drawn(model.kinds, 2 * LANES, zlib.crc32(form[0].encode()) % OPERAND_SETS)
        operands, immediate = fill(slots, sources, 0), model.immediates[0]
        masks = np.array([ALL_LANES, 0x13579BDF], np.uint32)
        for exec_masks in (None, masks):
            ran = [d.run(form, operands, exec_masks=exec_masks, imm=immediate) for d in (driver, portable)]
            if any((a != b).any() for a, b in zip(*ran, strict=True)):
                differing.append(form)
    assert differing == []


def test_half_precision_conversions_of_every_value(driver):
    """All 65,536 patterns against numpy, an implementation that is not ours."""
    bits = np.arange(1 << 16, dtype=np.uint16).reshape(-1, LANES)
    halves = bits.view(np.float16)
    wanted = np.where(np.isnan(halves), 0x7FFFFFFF, halves.astype(np.float32).view(np.uint32))
    widened = driver.run(("cvt.f32.f16", "32 16"), [np.zeros_like(bits, np.uint32), bits])[0]
    assert (widened == wanted).all()
    back = driver.run(("cvt.rn.f16.f32", "16 32"), [np.zeros_like(bits), widened])[0]
    assert (back == np.where(np.isnan(halves), 0x7FFF, bits)).all()


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("operation", ["add", "mul", "div"])
def test_nearest_arithmetic_agrees_with_numpy_in_bulk(driver, operation, width):
    rng = np.random.default_rng(7)
    kind, lanes = {32: (np.float32, np.uint32), 64: (np.float64, np.uint64)}[width]
    a, b = (rng.integers(0, 1 << width, (2000, LANES), dtype=lanes, endpoint=False) for _ in range(2))
    with np.errstate(all="ignore"):
        wanted = {"add": np.add, "mul": np.multiply, "div": np.divide}[operation](a.view(kind), b.view(kind))
    form = (f"{operation}.rn.f{width}", f"{width} {width} {width}")
    got = driver.run(form, [np.zeros_like(a), a, b])[0]
    assert (np.isnan(got.view(kind)) == np.isnan(wanted)).all()
    numbers = ~np.isnan(wanted)
    assert (got[numbers] == wanted.view(lanes)[numbers]).all()


# Where a second rounding, a lost sticky bit or a wrong tie would show, on operands near each other.
DELICATE = """
    fma.rn.f32 fma.rz.f32 fma.rm.f32 fma.rp.f32 fma.rn.f64 fma.rz.f64 fma.rm.f64 fma.rp.f64
    fma.rn.f16 fma.rn.bf16 fma.rn.relu.bf16x2 fma.rn.ftz.f16x2 mul.bf16 add.bf16 add.sat.f16
    cvt.rn.f16.f64 cvt.rm.f16.f64 cvt.rn.bf16.f64 cvt.rp.bf16.f64 cvt.rz.f32.f64 cvt.rn.f32.u64
    cvt.rp.f16.s64 cvt.rm.bf16.u64 cvt.rz.f64.u64 cvt.rni.s64.f64 cvt.rna.tf32.f32 sqrt.rm.f64
    div.rp.f32 mad.hi.cc.s64 madc.hi.cc.u32 div.s32 rem.u32 bfe.s64 bfi.b64 fns.b32
""".split()
DELICATE_FORMS = [form for form in FORMS if form[0] in DELICATE]


@st.composite
def nearby_operands(draw_, kinds: tuple[str, ...]) -> Bits:
    """Values whose bits differ little from an edge or from each other: ties, cancellation, boundaries."""
    found: list[int] = []
    for kind in kinds:
        if kind == "pred":
            found.append(draw_(st.integers(0, 1)))
            continue
        top = (1 << width_of(kind)) - 1
        base = draw_(st.sampled_from(edges(kind)) | st.integers(0, top) | st.sampled_from(found or [0]))
        flipped_sign = draw_(st.sampled_from([0, 0, (top + 1) // 2]))
        found.append((base + draw_(st.integers(-3, 3)) ^ flipped_sign) & top)
    return tuple(found)


@pytest.mark.parametrize("form", DELICATE_FORMS, ids=[name for name, _ in DELICATE_FORMS])
@settings(max_examples=20, derandomize=True)
@given(data=st.data())
def test_delicate_operands(driver, form, data):
    model, slots = model_of(form), slots_of(form[1])
    some = data.draw(st.lists(nearby_operands(model.kinds), min_size=8, max_size=8))
    sources = [some[lane % len(some)] for lane in range(LANES)]
    got = results_by_lane(slots, driver.run(form, fill(slots, sources, 0)))
    assert differences(model, sources, got, 0) == []
