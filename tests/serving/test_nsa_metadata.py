"""The metadata of a step of sparse attention, copied into captured tensors on the virtual GPU."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from common.serving.arguments import ArgumentError
from common.serving.batched_copy import EXERCISE, VARIABLE
from common.serving.device import VirtualDevice
from common.serving.kernels import chosen_kernel
from common.serving.nsa_metadata import FIELD_NAMES, Mode, NsaMetadata, Step, copy_metadata, step_fields

KERNELS = [chosen_kernel(EXERCISE, VARIABLE)]

CAPTURED = Step(Mode.DECODE, batch=40, max_len=96, real_page_columns=12, flashmla_parts=20)
STEPS = [
    dataclasses.replace(
        Step(mode, batch=5, max_len=33, draft_tokens=4, accepted=(1, 4, 0, 2, 3)),
        real_page_columns=pages,
        flashmla_parts=parts,
    )
    for mode in Mode
    for pages in (None, 7)
    for parts in (None, 20)
]


def tensors(device: VirtualDevice, step: Step, first_value: int) -> NsaMetadata:
    """Tensors of exactly a step's sizes, all values different."""
    made = {}
    for field in step_fields(step):
        shape = (field.skip + field.columns,) if field.rows is None else (field.rows, field.columns)
        count = torch.Size(shape).numel()
        values = torch.arange(first_value, first_value + count, dtype=torch.int32).view(shape)
        made[field.name] = device.put(field.name, values)
        first_value += count
    return NsaMetadata(**made)


def copied_with_torch(step: Step, source: NsaMetadata, before: NsaMetadata) -> dict[str, torch.Tensor]:
    """What each captured tensor should hold: one `.copy_` a field, as servers write it."""
    wanted = {name: getattr(before, name).clone() for name in FIELD_NAMES}
    for field in step_fields(step):
        to, values = wanted[field.name], getattr(source, field.name)
        if field.rows is None:
            to[field.skip : field.skip + field.columns].copy_(values[field.skip :])
        else:
            to[: field.rows, : field.columns].copy_(values)
    return wanted


@pytest.mark.parametrize("step", STEPS, ids=str)
@pytest.mark.parametrize("sets", [1, 3])
def test_every_mode_with_every_option_into_one_set_or_three(
    device: VirtualDevice, step: Step, sets: int
) -> None:
    source = tensors(device, step, first_value=1_000_000)
    captured = [tensors(device, CAPTURED, first_value=-10_000 * (number + 1)) for number in range(sets)]
    wanted = [copied_with_torch(step, source, one) for one in captured]
    device.gpu.reset()
    copy_metadata(step, source, captured[0] if sets == 1 else captured)
    for one, expected in zip(captured, wanted, strict=True):
        for name in FIELD_NAMES:
            assert torch.equal(getattr(one, name), expected[name]), name
    assert len(device.gpu.launches) == -(-sets * len(step_fields(step)) // 16)
    assert device.gpu.findings == ()


def test_element_0_of_cumulative_arrays_stays(device: VirtualDevice) -> None:
    step = STEPS[0]
    captured = tensors(device, CAPTURED, first_value=-10_000)
    before = int(captured.cu_seqlens_k[0]), int(captured.nsa_cu_seqlens_k[0])
    copy_metadata(step, tensors(device, step, first_value=1), captured)
    assert (int(captured.cu_seqlens_k[0]), int(captured.nsa_cu_seqlens_k[0])) == before


@pytest.mark.parametrize(
    ("mode", "queries"), [(Mode.DECODE, 5), (Mode.TARGET_VERIFY, 20), (Mode.DRAFT_EXTEND, 10)]
)
def test_the_mode_says_how_many_tokens_a_step_computes(mode: Mode, queries: int) -> None:
    step = next(step for step in STEPS if step.mode is mode)
    assert step.queries == queries
    rows = {field.name: field.rows or field.columns for field in step_fields(step)}
    assert rows["cache_seqlens"] == 5
    assert rows["page_table_1"] == rows["nsa_seqlens_expanded"] == queries


def test_a_page_table_too_narrow_by_the_draft_tokens_is_refused_before_anything_is_written(
    device: VirtualDevice,
) -> None:
    """Short by the two draft tokens: a server met this, and a kernel would write into the next row."""
    wide = Step(Mode.TARGET_VERIFY, batch=1, max_len=202_754, draft_tokens=2)
    narrow = dataclasses.replace(wide, max_len=202_752)
    source, captured = tensors(device, wide, first_value=1), tensors(device, narrow, first_value=-1_000_000)
    before = captured.cache_seqlens.clone()
    words = "captured.page_table_1 is too narrow: it has 202,752 columns, but 202,754 are needed"
    with pytest.raises(ArgumentError, match=words):
        copy_metadata(wide, source, captured)
    assert torch.equal(captured.cache_seqlens, before)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"real_page_table": None}, r"captured\[1\].real_page_table is missing, but this step has it"),
        (
            {"cache_seqlens": torch.zeros(2, dtype=torch.int32)},
            r"captured\[1\].cache_seqlens holds 2 elements, but 5",
        ),
        (
            {"nsa_cache_seqlens": torch.zeros(99, dtype=torch.int64)},
            r"captured\[1\].nsa_cache_seqlens is torch.int64",
        ),
        ({"nsa_cache_seqlens": [1, 2]}, r"captured\[1\].nsa_cache_seqlens is of type list, but must be of"),
        ({"cu_seqlens_k": torch.tensor(1, dtype=torch.int32)}, r"captured\[1\].cu_seqlens_k has shape \[\]"),
    ],
)
def test_a_tensor_that_does_not_fit_is_named(device: VirtualDevice, change: dict, words: str) -> None:
    step = dataclasses.replace(STEPS[0], real_page_columns=7)
    captured = tensors(device, CAPTURED, first_value=-10_000)
    with pytest.raises(ArgumentError, match=words):
        copy_metadata(
            step, tensors(device, step, first_value=1), [captured, dataclasses.replace(captured, **change)]
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"step": 5}, "step is of type int, but must be of type Step"),
        ({"precomputed": None}, "precomputed is None, but must be of type NsaMetadata"),
        ({"captured": None}, "captured is None, but must be of type Sequence: pass an NsaMetadata"),
        ({"captured": [{}]}, "captured is of type dict, but must be of type NsaMetadata"),
    ],
)
def test_what_is_no_metadata_is_refused(device: VirtualDevice, change: dict, words: str) -> None:
    right = {
        "step": STEPS[0],
        "precomputed": tensors(device, STEPS[0], first_value=1),
        "captured": tensors(device, CAPTURED, first_value=-10_000),
    }
    with pytest.raises(ArgumentError, match=words):
        copy_metadata(**{**right, **change})


def test_a_tensor_of_another_virtual_gpu_is_the_one_that_is_named(device: VirtualDevice) -> None:
    captured = tensors(device, CAPTURED, first_value=-10_000)
    with VirtualDevice([chosen_kernel(EXERCISE, VARIABLE)]) as other:
        foreign = other.put("cache_seqlens", captured.cache_seqlens)
        with pytest.raises(ArgumentError, match=r"^captured.cache_seqlens is in the memory of another"):
            copy_metadata(
                STEPS[0],
                tensors(device, STEPS[0], first_value=1),
                dataclasses.replace(captured, cache_seqlens=foreign),
            )


def test_a_step_without_requests_or_columns_copies_what_is_left(device: VirtualDevice) -> None:
    for step in (Step(Mode.DECODE, batch=0, max_len=33), Step(Mode.DECODE, batch=3, max_len=0)):
        source = tensors(device, step, first_value=1)
        captured = tensors(device, CAPTURED, first_value=-10_000)
        wanted = copied_with_torch(step, source, captured)
        copy_metadata(step, source, captured)
        for name in FIELD_NAMES:
            assert torch.equal(getattr(captured, name), wanted[name]), name


def test_sizes_may_be_whole_numbers_of_torch() -> None:
    step = Step(Mode.DECODE, batch=torch.tensor(5), max_len=torch.tensor(33))
    assert step == Step(Mode.DECODE, batch=5, max_len=33)


def test_sets_that_share_a_tensor_are_refused(device: VirtualDevice) -> None:
    captured = tensors(device, CAPTURED, first_value=-10_000)
    with pytest.raises(
        ArgumentError, match=r"captured\[1\].cache_seqlens .* overlaps captured\[0\].cache_seqlens"
    ):
        copy_metadata(STEPS[0], tensors(device, STEPS[0], first_value=1), [captured, captured])


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"batch": -1}, "batch is -1, but must be 0 or more"),
        ({"batch": 2.0}, "batch is 2.0, but must be a whole number"),
        ({"max_len": None}, "max_len is None, but must be a whole number"),
        ({"draft_tokens": 0}, "draft_tokens is 0, but must be 1 or more"),
        ({"real_page_columns": "7"}, "real_page_columns is '7', but must be a whole number"),
        ({"flashmla_parts": -1}, "flashmla_parts is -1, but must be 0 or more"),
        ({"accepted": (1, 4, -1, 2, 3)}, "a number in accepted is -1, but must be 0 or more"),
        ({"accepted": 3}, "accepted is of type int, but must be of type Sequence"),
        ({"mode": "decode"}, "mode is of type str, but must be of type Mode: one of Mode.DECODE"),
        ({"mode": Mode.DRAFT_EXTEND, "accepted": (1, 2)}, "accepted names 2 requests, but the step has 5"),
    ],
)
def test_a_step_that_cannot_be_is_refused(sizes: dict, words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        dataclasses.replace(STEPS[0], **sizes)
