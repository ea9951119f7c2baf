"""The miniature decode engine on the virtual GPU: right, and the same whichever way the copies are made."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.serving import decode_engine
from common.serving.arguments import ArgumentError
from common.serving.batch import make_batch
from common.serving.decode_engine import FLAG, STEP_SOURCE, DecodeEngine, captured_sizes, use_fused_copy
from common.serving.device import VirtualDevice
from common.serving.fused_copy import FIELDS
from tests.serving.decode_reference import decode
from tests.serving.requests import RequestPool

KERNEL = REPOSITORY / "solutions" / "02_fused_copy" / "kernel.cu"
KERNELS = [STEP_SOURCE, KERNEL]
SIZES = (1, 2, 4, 8)
MAX_SEQ_LEN = 24
VOCABULARY = 31


def pool(seed: int = 1) -> RequestPool:
    return RequestPool(SIZES[-1], MAX_SEQ_LEN, VOCABULARY, seed)


def engine(device: VirtualDevice, fused: bool | None) -> DecodeEngine:
    made = DecodeEngine(
        device, SIZES, MAX_SEQ_LEN, pool().slots, vocabulary=VOCABULARY, fused=fused, kernel=KERNEL
    )
    made.capture()
    return made


@pytest.fixture
def both(device: VirtualDevice) -> Iterator[tuple[DecodeEngine, DecodeEngine]]:
    """An engine that copies one by one, and one with the fused copy; both begin alike."""
    engines = engine(device, False), engine(device, True)
    yield engines
    for made in engines:
        made.close()


def test_many_replays_of_changing_sizes_are_the_same_on_both_paths(
    device: VirtualDevice, both: tuple[DecodeEngine, DecodeEngine]
) -> None:
    requests, sizes = pool(), random.Random(7)
    for _ in range(30):
        step = requests.next_step(sizes.randint(1, SIZES[-1]))
        plain, fused = (made.step(step.batch(made)).clone() for made in both)
        assert torch.equal(plain, fused)
        assert bool(torch.isfinite(plain).all())
    assert torch.equal(both[0].k_cache, both[1].k_cache)
    assert torch.equal(both[0].v_cache, both[1].v_cache)
    assert device.gpu.findings == ()


@pytest.mark.parametrize("fused", [False, True])
def test_replays_agree_with_torch(device: VirtualDevice, fused: bool) -> None:
    made = engine(device, fused)
    embedding = made._embedding.clone().double()
    k_cache, v_cache = made.k_cache.clone().double(), made.v_cache.clone().double()
    requests = pool(2)
    for size in (3, 8, 1, 5):
        batch = requests.next_step(size).batch(made)
        expected = decode(batch, embedding, k_cache, v_cache)[:size]
        got = made.step(batch).double()
        assert (got - expected).abs().max() < 1e-4
    made.close()


def test_a_graph_computes_what_the_step_itself_computes(device: VirtualDevice) -> None:
    made = engine(device, False)
    batch = pool(3).next_step(4).batch(made)
    replayed = made.step(batch).clone()
    made.output.zero_()
    made._call_step(4, decode_engine._NOT_CAPTURED)
    assert torch.equal(made.output[:4], replayed)
    made.close()


@pytest.mark.parametrize("field", FIELDS)
def test_an_element_that_is_not_copied_changes_the_output(device: VirtualDevice, field: str) -> None:
    """Each captured tensor is read, so that a wrong copy of any of them shows."""
    made = engine(device, True)
    requests = pool(4)
    made.step(requests.next_step(4).batch(made))
    step = requests.next_step(4)
    batch = step.batch(made)
    caches = made.k_cache.clone(), made.v_cache.clone()
    right = made.step(batch).clone()
    stale = getattr(batch, field).clone()
    if field == "page_table":
        stale[1, 0] = stale[2, 0]
    elif field == "cu_seqlens_k":
        stale[2] -= 1
    elif field == "seq_lens":
        stale[1] -= 1
    else:
        stale[1] = (stale[1] + 1) % VOCABULARY
    # As before the first try: what is not computed or stored now is not there by chance.
    made._scores.fill_(0.5)
    made.k_cache.copy_(caches[0])
    made.v_cache.copy_(caches[1])
    wrong = made.step(replace(batch, **{field: device.put(field, stale)}))
    assert not torch.equal(wrong, right)
    made.close()


def test_rows_beyond_the_batch_and_columns_beyond_its_longest_request_stay(
    both: tuple[DecodeEngine, DecodeEngine],
) -> None:
    for made in both:
        made.step(pool(5).next_step(8).batch(made))
        before = [tensor.clone() for tensor in made.captured.tensors()]
        batch = pool(6).next_step(2).batch(made)
        made.step(batch)
        for field, was, tensor, source in zip(
            FIELDS, before, made.captured.tensors(), batch.tensors(), strict=True
        ):
            expected = was
            if field == "page_table":
                expected[:2, : batch.max_seqlen_k] = source
            else:
                expected[: len(source)] = source
            assert torch.equal(tensor, expected), field


def test_a_batch_is_padded_to_the_next_captured_size(both: tuple[DecodeEngine, DecodeEngine]) -> None:
    made = both[0]
    assert [made.size_for(size) for size in range(1, 9)] == [1, 2, 4, 4, 8, 8, 8, 8]
    batch = pool().next_step(5).batch(made)
    assert (batch.size, batch.requests) == (8, 5)
    assert batch.seq_lens[5:].tolist() == [1, 1, 1]
    assert len(set(batch.out_loc[5:].tolist())) == 3
    assert len(made.step(batch)) == 5


def test_sizes_that_were_not_captured_are_refused(both: tuple[DecodeEngine, DecodeEngine]) -> None:
    made = both[0]
    with pytest.raises(ArgumentError, match="9 requests is larger than the largest captured one, 8"):
        made.size_for(9)
    batch = pool().next_step(3).batch(made)
    unpadded = replace(
        batch,
        **{name: getattr(batch, name)[:3] for name in FIELDS},
    )
    with pytest.raises(ArgumentError, match="no graph was captured for a batch of 3: pad it to 4"):
        made.prepare_for_replay(unpadded)


@pytest.mark.parametrize("size", [3, 0])
def test_a_graph_that_was_not_captured_cannot_be_replayed(
    both: tuple[DecodeEngine, DecodeEngine], size: int
) -> None:
    with pytest.raises(ArgumentError, match=f"no graph was captured for a batch of {size}: pad it to"):
        both[0].replay(size)
    with pytest.raises(ArgumentError, match=r"size is 2.0, but must be a whole number"):
        both[0].replay(2.0)  # type: ignore[arg-type]
    assert len(both[0].replay(torch.tensor(2))) == 2


def test_a_closed_engine_has_no_graphs(device: VirtualDevice) -> None:
    made = engine(device, False)
    batch = pool().next_step(2).batch(made)
    made.close()
    for use in (lambda: made.replay(1), lambda: made.prepare_for_replay(batch)):
        with pytest.raises(ArgumentError, match="there is no graph for a batch of .*call capture"):
            use()
    made.capture()
    assert len(made.step(batch)) == 2
    made.close()


@pytest.mark.parametrize("fused", [False, True])
def test_a_batch_longer_than_the_captured_tensors_is_refused(device: VirtualDevice, fused: bool) -> None:
    made = engine(device, fused)
    batch = pool().next_step(2).batch(made)
    table = device.full("page_table", (2, MAX_SEQ_LEN + 1), torch.int32, 0)
    with pytest.raises(ArgumentError, match="page table has 25 columns, but the captured one has 24"):
        made.prepare_for_replay(replace(batch, page_table=table))
    made.close()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"batch_sizes": ()}, "batch_sizes is empty"),
        ({"batch_sizes": (0,)}, "a size in batch_sizes is 0, but must be 1 or more"),
        ({"batch_sizes": (-1, 2)}, "a size in batch_sizes is -1, but must be 1 or more"),
        ({"batch_sizes": (1, 2.5)}, "a size in batch_sizes is 2.5, but must be a whole number"),
        ({"batch_sizes": 8}, "batch_sizes is of type int, but must be of type Sequence"),
        ({"max_seq_len": 0}, "max_seq_len is 0, but must be 1 or more"),
        ({"slots": None}, "slots is None, but must be a whole number"),
        ({"vocabulary": 0}, "vocabulary is 0, but must be 1 or more"),
    ],
)
def test_sizes_that_no_engine_can_have_are_refused(
    device: VirtualDevice, change: dict[str, Any], words: str
) -> None:
    right = {"batch_sizes": SIZES, "max_seq_len": MAX_SEQ_LEN, "slots": 8}
    with pytest.raises(ArgumentError, match=words):
        DecodeEngine(device, **{**right, **change})


def test_a_size_that_is_named_twice_is_captured_once(device: VirtualDevice) -> None:
    assert DecodeEngine(device, (2, 1, 2), MAX_SEQ_LEN, 8).batch_sizes == [1, 2]


def test_a_capture_of_more_than_the_tensors_hold_is_refused(both: tuple[DecodeEngine, DecodeEngine]) -> None:
    for size, words in ((9, "9 requests is larger than the largest captured"), (0, "size is 0, but must be")):
        with pytest.raises(ArgumentError, match=words):
            both[0].prepare_for_capture(size)


@pytest.mark.parametrize(
    ("tokens", "slots", "padded_to", "words"),
    [
        ([5, 6], [[1], [2]], 1, "2 requests do not fit a batch of 1"),
        ([5, 6], [[1, 2]], 2, "rows of these lengths: 2; but each of the 2 requests needs a row"),
        ([5, 6], [[1, 2], []], 2, "rows of these lengths: 2, 0; but each of the 2 requests needs a row"),
        ([5], [[1]], 1.0, "padded_to is 1.0, but must be a whole number"),
    ],
)
def test_a_batch_of_requests_without_keys_is_refused(
    device: VirtualDevice, tokens: list[int], slots: list[list[int]], padded_to: int, words: str
) -> None:
    with pytest.raises(ArgumentError, match=words):
        make_batch(device, tokens, slots, padded_to=padded_to, padding_slot=0)


def test_a_batch_may_be_empty(device: VirtualDevice) -> None:
    batch = make_batch(device, [], [], padded_to=0, padding_slot=0)
    assert (batch.size, batch.max_seqlen_k, batch.cu_seqlens_k.tolist()) == (0, 0, [0])


@pytest.mark.parametrize(
    ("value", "fused"),
    [
        *((value, True) for value in ("1", "true", "True", "YES", "on")),
        *((value, False) for value in ("0", "false", "No", "OFF", "")),
    ],
)
def test_the_flag_is_read_as_people_write_it(
    monkeypatch: pytest.MonkeyPatch, value: str, fused: bool
) -> None:
    monkeypatch.setenv(FLAG, value)
    assert use_fused_copy() is fused


@pytest.mark.parametrize("value", ["2", "ja", "tru"])
def test_a_flag_that_says_neither_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(FLAG, value)
    with pytest.raises(CourseError, match=f"{FLAG} is '{value}', which says neither yes nor no: set it to 1"):
        use_fused_copy()


@pytest.mark.parametrize(("value", "fused"), [(None, False), ("0", False), ("1", True)])
def test_the_environment_chooses_the_path(
    device: VirtualDevice, monkeypatch: pytest.MonkeyPatch, value: str | None, fused: bool
) -> None:
    monkeypatch.delenv(FLAG, raising=False)
    if value is not None:
        monkeypatch.setenv(FLAG, value)
    made = engine(device, None)
    device.gpu.reset()
    made.prepare_for_replay(pool().next_step(2).batch(made))
    launches = [launch.kernel for launch in device.gpu.launches]
    assert len(launches) == int(fused)
    made.close()


def test_servers_capture_these_sizes() -> None:
    assert captured_sizes(32) == (1, 2, 4, 8, 16, 24, 32)
    assert captured_sizes(2) == (1, 2)
