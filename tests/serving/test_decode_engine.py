"""The miniature decode engine on the virtual GPU: right, and the same whichever way the copies are made."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from common.cache import REPOSITORY
from common.serving import decode_engine
from common.serving.arguments import ArgumentError
from common.serving.decode_engine import FLAG, STEP_SOURCE, DecodeEngine, captured_sizes
from common.serving.device import VirtualDevice
from common.serving.fused_copy import FIELDS
from common.serving.requests import RequestPool
from tests.serving.decode_reference import decode

KERNEL = REPOSITORY / "solutions" / "02_fused_copy" / "kernel.cu"
SIZES = (1, 2, 4, 8)
MAX_SEQ_LEN = 24
VOCABULARY = 31


@pytest.fixture(scope="module")
def device() -> Iterator[VirtualDevice]:
    with VirtualDevice([STEP_SOURCE, KERNEL]) as device:
        yield device


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
