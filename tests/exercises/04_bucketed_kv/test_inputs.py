"""Properties of exercise 04's inputs and guesses, for any sizes that its cases could have."""

from __future__ import annotations

import dataclasses
import sys
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from common.serving.bucketed.quantizing import dequantize, row_bytes
from common.virtual_gpu.report import Counters
from grader.answers.compare import answer, difference
from grader.spec import At, Call, Case, HostTable, Scalar, Speedup, Task, registry
from grader.spec.evidence import Evidence
from grader.spec.random_inputs import Random

EXERCISE = registry.find("04")
STORE, MOVE, SCORE, SUM, ATTEND, MERGE = EXERCISE.steps
SHAPES = sys.modules["exercise_04_bucketed_kv.shapes"]
TOKENS = sys.modules["exercise_04_bucketed_kv.tokens"]
PARTS = sys.modules["exercise_04_bucketed_kv.parts"]

BUCKETS = st.sampled_from((2348, 8432, 3, 28))
HEAD_DIMS = st.sampled_from((8, 24, 80))
COUNTS = st.tuples(*[st.integers(0, 20)] * 4)
ATTENTION = st.builds(
    SHAPES.attention,
    st.just("drawn"),
    batch=st.integers(1, 3),
    kv_heads=st.integers(1, 3),
    group=st.integers(1, 3),
    head_dim=HEAD_DIMS,
    tokens=COUNTS,
    buckets=BUCKETS,
    scale_bytes=st.sampled_from((2, 4)),
    uneven=st.integers(0, 5),
    empty=st.integers(0, 1),
    mask=st.integers(0, 2),
    sharp=st.sampled_from((3, 10, 40)),
    spare=st.integers(0, 1),
    strange=st.integers(0, 1),
)
STORING = st.builds(
    TOKENS.storing,
    st.just("drawn"),
    batch=st.integers(1, 3),
    kv_heads=st.integers(1, 3),
    head_dim=HEAD_DIMS,
    tokens=st.tuples(*[st.integers(1, 9)] * 4),
    buckets=BUCKETS,
    scale_bytes=st.sampled_from((2, 4)),
    token_gap=st.integers(0, 9),
    head_gap=st.integers(0, 9),
    head_major=st.integers(0, 1),
    shift=st.integers(0, 9),
    scattered=st.integers(0, 1),
)
MOVING = st.builds(
    TOKENS.moving,
    st.just("drawn"),
    st.integers(1, 40),
    batch=st.integers(1, 3),
    kv_heads=st.integers(1, 3),
    head_dim=HEAD_DIMS,
    buckets=st.sampled_from((2348, 8432, 28, 43)),
    scale_bytes=st.sampled_from((2, 4)),
)
MERGING = st.builds(
    PARTS.merging,
    st.just("drawn"),
    st.integers(1, 9),
    st.integers(1, 9),
    HEAD_DIMS,
    none=st.integers(0, 1),
    apart=st.sampled_from((1, 100, 20_000)),
)
quickly = settings(max_examples=25)


def made(task: Task, case: Case, seed: str = "drawn") -> Call:
    return task.inputs(case.size, Random(seed))


def after(task: Task, case: Case, call: Call) -> dict[str, torch.Tensor]:
    buffers = {name: tensor.clone() for name, tensor in call.kept.items()}
    task.reference(case.size, buffers)
    return buffers


def table(call: Call) -> list[dict[str, Any]]:
    """The buckets that a call describes: names of buffers, and numbers."""
    fields = ("keys", "values", "key_scales", "value_scales", "slots", "capacity", "bits", "scale_bytes")
    rows = next(argument.rows for argument in call.arguments if isinstance(argument, HostTable))
    return [
        {
            name: field.buffer if isinstance(field, At) else int(field.value)
            for name, field in zip(fields, row, strict=True)
        }
        for row in rows
    ]


@given(ATTENTION)
@quickly
def test_buckets_are_as_large_as_they_are_said_to_be(case: Case) -> None:
    call, size = made(EXERCISE, case), case.size
    for bucket in table(call):
        capacity, bits = bucket["capacity"], bucket["bits"]
        rows = (size.batch, size.kv_heads, capacity)
        assert capacity % 64 == 0
        for name in ("keys", "values"):
            assert call.buffers[bucket[name]].shape == (*rows, row_bytes(bits, size.head_dim))
        for name in ("key_scales", "value_scales"):
            assert call.buffers[bucket[name]].shape == rows
            assert call.buffers[bucket[name]].element_size() == bucket["scale_bytes"] == size.scale_bytes
        assert call.buffers[bucket["slots"]].shape == (size.batch, capacity)


@given(ATTENTION)
@quickly
def test_slots_are_a_permutation_of_each_sequence(case: Case) -> None:
    call = made(EXERCISE, case)
    for sequence, row in enumerate(SHAPES.lengths(case.size)):
        slots = [
            int(slot)
            for bucket, count in zip(table(call), row, strict=True)
            for slot in call.buffers[bucket["slots"]][sequence, :count]
        ]
        assert sorted(slots) == list(range(sum(row)))


@given(ATTENTION)
@quickly
def test_arguments_follow_from_the_sizes_alone_and_values_from_the_seed(case: Case) -> None:
    one, two, other = made(EXERCISE, case), made(EXERCISE, case), made(EXERCISE, case, "another")
    for name, tensor in one.kept.items():
        assert torch.equal(tensor.view(torch.uint8), two.buffers[name].view(torch.uint8))
    assert one.arguments == two.arguments == other.arguments
    assert not torch.equal(one.buffers["queries"], other.buffers["queries"])


@given(ATTENTION)
@quickly
def test_the_reference_is_softmax_over_the_tokens_that_are_there(case: Case) -> None:
    """Token by token, in float64, by the definition."""
    call, size = made(EXERCISE, case), case.size
    got = answer(EXERCISE, size, call).exact["out"]
    mask = call.buffers["mask"]
    for sequence, row in enumerate(SHAPES.lengths(size)):
        keys: list[torch.Tensor] = []
        values: list[torch.Tensor] = []
        visible: list[torch.Tensor] = []
        for bucket, count in zip(table(call), row, strict=True):
            for what, found in (("key", keys), ("value", values)):
                packed, scales = call.buffers[bucket[f"{what}s"]], call.buffers[bucket[f"{what}_scales"]]
                heads = dequantize(
                    packed[sequence, :, :count], scales[sequence, :, :count], bucket["bits"], torch.float64
                )
                found.append(heads)
            slots = call.buffers[bucket["slots"]][sequence, :count].long()
            visible.append(mask[sequence, slots] != 0 if mask.numel() else slots >= 0)
        seen = torch.cat(visible)
        all_keys, all_values = torch.cat(keys, 1)[:, seen], torch.cat(values, 1)[:, seen]
        for head in range(size.kv_heads * size.group):
            if not seen.any():
                assert (got[sequence, head] == 0).all()
                continue
            query = call.buffers["queries"][sequence, head].double()
            scores = all_keys[head // size.group] @ query * size.head_dim**-0.5
            expected = scores.softmax(0) @ all_values[head // size.group]
            assert torch.allclose(got[sequence, head], expected, rtol=1e-5, atol=1e-6)


@given(STORING)
@quickly
def test_places_are_distinct_and_inside_their_buckets(case: Case) -> None:
    call, size = made(STORE, case), case.size
    places = call.buffers["places"].tolist()
    assert len({tuple(place[:3]) for place in places}) == len(places) == SHAPES.keys_of(size)
    assert sorted(place[3] for place in places) == list(range(len(places)))
    buckets = table(call)
    assert all(bucket < len(buckets) and sequence < size.batch for bucket, sequence, _, _ in places)
    assert all(entry < buckets[bucket]["capacity"] for bucket, _, entry, _ in places)


@given(STORING)
@quickly
def test_a_store_writes_its_places_and_nothing_else(case: Case) -> None:
    call = made(STORE, case)
    left = after(STORE, case, call)
    mine = {tuple(place[:3]) for place in call.buffers["places"].tolist()}
    for number, bucket in enumerate(table(call)):
        changed = left[bucket["keys"]] != call.buffers[bucket["keys"]]
        for sequence, _, entry, _ in changed.nonzero().tolist():
            assert (number, sequence, entry) in mine
        for sequence, entry in (left[bucket["slots"]] != call.buffers[bucket["slots"]]).nonzero().tolist():
            assert (number, sequence, entry) in mine


@given(MOVING)
@quickly
def test_no_destination_of_a_move_is_anybody_elses_place(case: Case) -> None:
    call = made(MOVE, case)
    rows = call.buffers["moves"].tolist()
    sources = {(row[0], row[1], row[2]) for row in rows}
    destinations = {(row[0], row[3], row[4]) for row in rows}
    assert len(sources) == len(destinations) == len(rows)
    assert not sources & destinations
    assert all(row[1] != row[3] for row in rows)


@given(MERGING)
@quickly
def test_merged_rows_are_numbers_and_zero_without_keys(case: Case) -> None:
    call = made(MERGE, case)
    out = after(MERGE, case, call)["out"]
    assert torch.isfinite(out).all()
    assert (out[call.buffers["max"].isneginf().all(0)] == 0).all()


@pytest.mark.parametrize(
    ("task", "cases"),
    [(EXERCISE, ATTENTION), (STORE, STORING), (MOVE, MOVING), (MERGE, MERGING)],
    ids=["attention", "quantise", "change widths", "merge"],
)
def test_every_guess_can_be_made_for_every_case(task: Task, cases: st.SearchStrategy[Case]) -> None:
    """A guess runs on whatever sizes a failing case has: it must not fail itself."""

    @given(cases)
    @settings(max_examples=6, phases=[Phase.generate])
    def guess(case: Case) -> None:
        for change in task.known_mistakes.values():
            change(case.size, {name: tensor.clone() for name, tensor in made(task, case).kept.items()})

    guess()


SHOWN_BY = {
    "the mask is looked up by an entry's place in its bucket, not by its slot": "a mask",
    "the mask is ignored": "a mask",
    "lengths of the longest sequence are used for all": "two sequences of different lengths",
    "query heads read the wrong key heads: head h belongs to key head h / group": "4 query heads share a key",
    "a row without keys is NaN: its highest maximum is -inf, and -inf minus -inf is NaN, as is "
    "0 / 0": "a mask that hides a sequence",
    "offsets in a bucket wrap at 32 bits: a later head reads the rows of the first": "heads past 2^32 bytes",
}


@pytest.mark.parametrize(
    "name", [name for name in EXERCISE.known_mistakes if "keys of each bucket" not in name]
)
def test_what_a_mistake_leaves_is_wrong_and_looks_like_it(name: str) -> None:
    mistake_alone, _, _ = name.partition(" (the ")  # without the part that is wrong
    shown_by = SHOWN_BY.get(mistake_alone, "20 tokens")
    case = next(case for case in EXERCISE.cases if case.name == shown_by)
    call, mistake = made(EXERCISE, case), EXERCISE.known_mistakes[name]
    left = {key: tensor.clone() for key, tensor in call.kept.items()}
    mistake(case.size, left)
    task = dataclasses.replace(EXERCISE, known_mistakes={name: mistake})
    found = difference(task, case.size, call, answer(EXERCISE, case.size, call), left)
    assert found is not None
    assert name in found.message or "is zero" in found.message


@given(st.text(max_size=12))
@quickly
def test_hidden_cases_stay_small_and_on_any_device(seed: str) -> None:
    drawn = EXERCISE.hidden(Random(seed))
    assert (drawn[0].size.head_dim, drawn[0].size.group) == (128, 1)  # mechanisms are looked at there
    for case in drawn:
        assert not case.gpu_only
        assert SHAPES.keys_of(case.size) <= 750


def test_the_cases_are_those_that_the_statement_names() -> None:
    sizes = [case.size for case in EXERCISE.cases]
    assert {8, 64, 80, 96, 128, 256} <= {size.head_dim for size in sizes}
    assert {1, 2, 4, 8} <= {size.group for size in sizes}
    assert {1, 64} <= {size.kv_heads for size in sizes}
    assert {2, 4} <= {size.scale_bytes for size in sizes}
    assert max(map(SHAPES.keys_of, sizes)) >= 1 << 16


def test_mixes_keep_to_their_budgets_and_targets_to_their_bounds() -> None:
    for case in EXERCISE.bench:
        budget = float(case.name.rpartition(" ")[2])
        assert 0.96 * budget < SHAPES.budget_of(case.size) <= budget
        uniform = EXERCISE.case_of_baseline(case)
        assert SHAPES.keys_of(uniform.size) == SHAPES.keys_of(case.size)
        assert SHAPES.budget_of(uniform.size) == pytest.approx(0.515625)
    single = [t for t in EXERCISE.targets if isinstance(t, Speedup) and len(t.cases) == 1]
    for target in single:
        most = SHAPES.bound(EXERCISE.bench_case(target.cases[0]))
        assert target.passing == pytest.approx(1 + 0.45 * (most - 1))
        assert target.full == pytest.approx(1 + 0.70 * (most - 1))


def test_bytes_moved_are_payload_scales_queries_and_output() -> None:
    case = SHAPES.attention("small", kv_heads=2, group=3, head_dim=64, tokens=(1, 2, 3, 4), scale_bytes=2)
    payload = 2 * 2 * (1 * 16 + 2 * 24 + 3 * 32 + 4 * 64)
    scales = 2 * 2 * 10 * 2
    assert EXERCISE.moved(case) == payload + scales + 2 * (2 * 3 * 64 * 2)


def test_scalars_of_a_call_are_the_sizes_of_its_case() -> None:
    case = EXERCISE.cases[0]
    numbers = [a.value for a in made(EXERCISE, case).arguments if isinstance(a, Scalar) and a.type == "i32"]
    size = case.size
    assert numbers == [4, size.batch, size.kv_heads, size.group, size.head_dim]


@pytest.mark.parametrize(
    ("counters", "seen"),
    [
        ({"matrix_instructions": 2017 * 3 * 128 // 512, "by_class": {"convert": 1e9}}, True),
        ({"matrix_instructions": 7, "by_class": {"convert": 1e9}}, False),  # too few to be of any use
        # Addresses are converted too, which says nothing about keys.
        ({"by_class": {"dot": 2017 * 3 * 128 // 128, "convert": 1e9}}, True),
        ({"by_class": {"dot": 7, "convert": 1e9}}, False),
        ({"by_class": {"convert": 2017 * 3 * 128 * 1.5 / 32}}, True),  # values alone, and scales
        ({"by_class": {"convert": 2017 * 3 * 128 * 2.5 / 32}}, False),  # keys as well
    ],
)
def test_keys_that_become_floating_numbers_are_seen(counters: dict[str, Any], seen: bool) -> None:
    mechanism = next(one for one in EXERCISE.mechanisms if one.name == "integer products for the scores")
    case = next(case for case in EXERCISE.cases if case.name == EXERCISE.mechanism_case)
    launches: Any = [SimpleNamespace(counters=Counters(**counters))]
    assert (mechanism.look(Evidence(case, launches, ())) is None) is seen
