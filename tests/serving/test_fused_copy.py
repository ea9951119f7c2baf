"""The Python wrapper of exercise 02: it checks everything, then copies in one launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.serving import kernels
from common.serving.arguments import ArgumentError
from common.serving.device import KernelFailed, VirtualDevice
from common.serving.fused_copy import FIELDS, VARIABLE, fused_copy_replay_data

KERNEL = REPOSITORY / "solutions" / "02_fused_copy" / "kernel.cu"
KERNELS = [KERNEL]
CAPTURED, WIDTH = 8, 32
BATCH, COLUMNS = 5, 11

Arguments = dict[str, Any]


@pytest.fixture
def arguments(device: VirtualDevice) -> Arguments:
    """A call that is right in every way."""
    random = torch.Generator().manual_seed(3)

    def numbers(name: str, *shape: int) -> torch.Tensor:
        values = torch.randint(-(1 << 31), (1 << 31) - 1, shape, dtype=torch.int32, generator=random)
        return device.put(name, values)

    shapes = dict.fromkeys(FIELDS[:4], (BATCH,)) | {"cu_seqlens_k": (BATCH + 1,)}
    captured = dict.fromkeys(FIELDS[:4], (CAPTURED,)) | {"cu_seqlens_k": (CAPTURED + 1,)}
    sources = {f"src_{field}": numbers(field, *shape) for field, shape in shapes.items()}
    targets = {f"dst_{field}": numbers(f"captured_{field}", *shape) for field, shape in captured.items()}
    return {
        **sources,
        "src_page_table": numbers("page_table", BATCH, COLUMNS),
        **targets,
        "dst_page_table": numbers("captured_page_table", CAPTURED, WIDTH),
        "batch_size": BATCH,
        "max_seqlen_k": COLUMNS,
        "kernel": KERNEL,
    }


def destinations(arguments: Arguments) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in arguments.items() if name.startswith("dst_")}


def expected(arguments: Arguments) -> dict[str, torch.Tensor]:
    after = destinations(arguments)
    batch, columns = arguments["batch_size"], arguments["max_seqlen_k"]
    for field in FIELDS[:4]:
        after[f"dst_{field}"][:batch] = arguments[f"src_{field}"][:batch]
    after["dst_cu_seqlens_k"][: batch + 1] = arguments["src_cu_seqlens_k"][: batch + 1]
    after["dst_page_table"][:batch, :columns] = arguments["src_page_table"][:batch, :columns]
    return after


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def test_it_copies_what_six_copies_would_in_one_launch(device: VirtualDevice, arguments: Arguments) -> None:
    wanted = expected(arguments)
    device.gpu.reset()
    fused_copy_replay_data(**arguments)
    assert same(destinations(arguments), wanted)
    assert len(device.gpu.launches) == 1
    assert device.gpu.findings == ()


def test_positions_of_arguments_are_sources_then_destinations_then_sizes(arguments: Arguments) -> None:
    wanted = expected(arguments)
    kernel = arguments.pop("kernel")
    fused_copy_replay_data(*arguments.values(), kernel=kernel)
    assert same(destinations(arguments), wanted)


@pytest.mark.parametrize("batch", [1, CAPTURED - 4])
def test_a_smaller_batch_than_its_tensors_copies_a_part(arguments: Arguments, batch: int) -> None:
    arguments |= {"batch_size": batch, "max_seqlen_k": 3}
    wanted = expected(arguments)
    fused_copy_replay_data(**arguments)
    assert same(destinations(arguments), wanted)


def test_an_empty_batch_does_nothing_and_succeeds(device: VirtualDevice, arguments: Arguments) -> None:
    before = destinations(arguments)
    device.gpu.reset()
    fused_copy_replay_data(**{**arguments, "batch_size": 0})
    assert same(destinations(arguments), before)
    assert device.gpu.launches == ()


def test_without_columns_the_page_table_stays(arguments: Arguments) -> None:
    arguments["max_seqlen_k"] = 0
    before, wanted = destinations(arguments), expected(arguments)
    fused_copy_replay_data(**arguments)
    after = destinations(arguments)
    assert torch.equal(after["dst_page_table"], before["dst_page_table"])
    assert same(after, wanted)


@pytest.mark.parametrize("side", ["src", "dst"])
def test_without_columns_a_page_table_may_have_none(
    device: VirtualDevice, arguments: Arguments, side: str
) -> None:
    arguments["max_seqlen_k"] = 0
    name = f"{side}_page_table"
    rows = len(arguments[name])
    for empty in (
        arguments[name][:, arguments[name].shape[1] :],
        device.put("nothing", torch.zeros(rows, 0, dtype=torch.int32)),
    ):
        arguments[name] = empty
        wanted = expected(arguments)
        fused_copy_replay_data(**arguments)
        assert same(destinations(arguments), wanted)


@pytest.mark.parametrize("kind", [np.int32, torch.tensor])
def test_sizes_may_be_whole_numbers_of_numpy_and_torch(arguments: Arguments, kind: Any) -> None:
    wanted = expected(arguments)
    fused_copy_replay_data(**{**arguments, "batch_size": kind(BATCH), "max_seqlen_k": kind(COLUMNS)})
    assert same(destinations(arguments), wanted)


@pytest.mark.parametrize("name", ["dst_input_ids", "src_input_ids", "dst_page_table"])
def test_a_tensor_of_another_virtual_gpu_is_the_one_that_is_named(arguments: Arguments, name: str) -> None:
    with VirtualDevice([KERNEL]) as other:
        arguments[name] = other.put(name, arguments[name])
        with pytest.raises(ArgumentError, match=f"^{name} is in the memory of another virtual GPU"):
            fused_copy_replay_data(**arguments)


def test_rows_of_sliced_page_tables_are_found_through_their_strides(
    device: VirtualDevice, arguments: Arguments
) -> None:
    wide = device.put("wide", torch.arange(BATCH * 40, dtype=torch.int32).view(BATCH, 40))
    arguments["src_page_table"] = wide[:, 7 : 7 + COLUMNS]
    arguments["dst_page_table"] = arguments["dst_page_table"][1:, 3:]
    wanted = expected(arguments)
    fused_copy_replay_data(**arguments)
    assert same(destinations(arguments), wanted)


def test_source_and_destination_may_be_different_columns_of_one_tensor(
    device: VirtualDevice, arguments: Arguments
) -> None:
    both = device.put("both", torch.arange(BATCH * 40, dtype=torch.int32).view(BATCH, 40))
    arguments |= {"src_page_table": both[:, 20:], "dst_page_table": both[:, :20], "max_seqlen_k": 20}
    wanted = expected(arguments)
    fused_copy_replay_data(**arguments)
    assert same(destinations(arguments), wanted)


def on_cpu(arguments: Arguments, name: str) -> Arguments:
    return {**arguments, name: arguments[name].clone()}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda a: {**a, "batch_size": CAPTURED + 1},
            "batch_size is 9, but dst_input_ids was captured for at most 8",
        ),
        (lambda a: {**a, "batch_size": 6}, "src_input_ids holds 5 elements, but 6 are needed"),
        (
            lambda a: {**a, "src_cu_seqlens_k": a["src_cu_seqlens_k"][:BATCH]},
            "src_cu_seqlens_k holds 5 elements, but 6 are needed",
        ),
        (
            lambda a: {**a, "max_seqlen_k": COLUMNS + 1},
            "src_page_table is too narrow: it has 11 columns, but 12 are needed",
        ),
        (
            lambda a: {**a, "dst_page_table": a["dst_page_table"][:, :10]},
            "dst_page_table is too narrow: it has 10 columns, but 11 are needed",
        ),
        (
            lambda a: {**a, "dst_page_table": a["dst_page_table"][:4]},
            "dst_page_table has 4 rows, but 5 are needed",
        ),
        (
            lambda a: {**a, "src_positions": a["src_positions"].long()},
            "src_positions is torch.int64, but must be torch.int32",
        ),
        (
            lambda a: {**a, "src_positions": a["src_positions"].to("meta")},
            "src_positions is on meta, but must be on cpu",
        ),
        (
            lambda a: {**a, "dst_input_ids": a["dst_input_ids"].to("meta")},
            "dst_input_ids is on meta, but must be on cpu",
        ),
        (lambda a: {**a, "src_input_ids": [1, 2, 3, 4, 5]}, "src_input_ids is of type list, but must be of"),
        (
            lambda a: {**a, "src_page_table": a["src_page_table"].to_sparse()},
            "src_page_table is torch.sparse_coo, but must be dense",
        ),
        (lambda a: {**a, "dst_page_table": None}, "dst_page_table is None, but must be of type Tensor"),
        (lambda a: {**a, "dst_input_ids": a["dst_input_ids"][0]}, r"dst_input_ids has shape \[\], but must"),
        (lambda a: {**a, "src_seq_lens": a["src_seq_lens"][0]}, r"src_seq_lens has shape \[\], but must"),
        (lambda a: {**a, "src_page_table": a["src_page_table"][0]}, r"src_page_table has shape \[11\], but"),
        (lambda a: on_cpu(a, "src_out_loc"), "src_out_loc is on cpu, in memory that no kernel can reach"),
        (lambda a: on_cpu(a, "dst_input_ids"), "dst_input_ids is on cpu, in memory that no kernel can reach"),
        (
            lambda a: {**a, "src_seq_lens": a["dst_seq_lens"]},
            r"dst_seq_lens \(bytes .*\) overlaps src_seq_lens",
        ),
        (
            lambda a: {**a, "dst_out_loc": a["dst_positions"]},
            r"dst_positions \(bytes .*\) overlaps dst_out_loc",
        ),
        (
            lambda a: {**a, "src_page_table": a["dst_page_table"][2:, 5:], "batch_size": 4},
            r"dst_page_table \(bytes .*\) overlaps src_page_table",
        ),
        (
            lambda a: {**a, "src_page_table": a["src_page_table"].t(), "batch_size": 2, "max_seqlen_k": 2},
            "src_page_table has stride 11 within a row",
        ),
        (
            lambda a: {**a, "batch_size": -1},
            "batch_size is -1, but must be 0 or more",
        ),
        (lambda a: {**a, "max_seqlen_k": -3}, "max_seqlen_k is -3, but must be 0 or more"),
        (lambda a: {**a, "batch_size": 5.0}, "batch_size is 5.0, but must be a whole number"),
        (lambda a: {**a, "max_seqlen_k": None}, "max_seqlen_k is None, but must be a whole number"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_written(
    device: VirtualDevice, arguments: Arguments, change: Any, words: str
) -> None:
    before = destinations(arguments)
    device.gpu.reset()
    with pytest.raises(ArgumentError, match=words):
        fused_copy_replay_data(**change(arguments))
    assert same(destinations(arguments), before)
    assert device.gpu.launches == ()


def test_a_kernel_that_fails_is_named_with_its_error(tmp_path: Path) -> None:
    broken = tmp_path / "kernel.cu"
    broken.write_text('extern "C" int fused_copy_replay_data() { return 700; }\n')
    with VirtualDevice([broken]) as device:
        tensors = [device.full(name, (4,), torch.int32, 0) for name in "abcdeABCDE"]
        tables = [device.full(name, (4, 4), torch.int32, 0) for name in ("table", "captured_table")]
        arguments = (*tensors[:5], tables[0], *tensors[5:], tables[1], 3, 4)
        with pytest.raises(KernelFailed, match="fused_copy_replay_data failed with cudaErrorIllegalAddress"):
            fused_copy_replay_data(*arguments, kernel=broken)


def test_the_kernel_is_the_one_that_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "somewhere/mine.cu")
    assert kernels.chosen_kernel("02_fused_copy", VARIABLE) == Path("somewhere/mine.cu").absolute()
    monkeypatch.delenv(VARIABLE)
    assert kernels.chosen_kernel("02_fused_copy", VARIABLE) == KERNEL


def test_without_any_kernel_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(CourseError, match="no kernel for 99_none yet: write one .*start 99"):
        kernels.chosen_kernel("99_none", VARIABLE)


def test_a_file_that_a_virtual_gpu_was_not_made_for_is_named(arguments: Arguments, tmp_path: Path) -> None:
    with pytest.raises(CourseError, match="other.cu was not named when this virtual GPU was made"):
        fused_copy_replay_data(**{**arguments, "kernel": tmp_path / "other.cu"})


def test_a_device_takes_tensors_alone_and_empty_ones_too(device: VirtualDevice) -> None:
    nothing = device.put("nothing", torch.zeros(3, 0, dtype=torch.int32))
    assert (tuple(nothing.shape), nothing.dtype, device.address(nothing, "nothing")) == (
        (3, 0),
        torch.int32,
        0,
    )
    with pytest.raises(ArgumentError, match="ids is of type list, but must be of type Tensor"):
        device.put("ids", [1, 2])
