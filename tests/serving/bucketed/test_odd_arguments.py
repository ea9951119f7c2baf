"""Whatever a cache is given, of whatever type: it takes it or refuses it by name, and never lets an error of
torch's or numpy's through."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from common.serving.arguments import ArgumentError
from common.serving.bucketed import quantizing
from common.serving.bucketed.allocator import allocate, mean_squared_errors
from common.serving.bucketed.cache import BucketedKVCache
from common.serving.bucketed.importance import ImportanceAverage
from common.serving.bucketed.layer import BucketedCacheLayer
from tests.serving.bucketed.model import halves

KV_HEADS, DIM = 2, 16
ODD: dict[str, Any] = {
    "None": None,
    "a list": [1],
    "a list of lists": [[1, 2]],
    "a ragged list": [1, [2]],
    "a list of None": [None],
    "a list of text": ["a"],
    "an empty list": [],
    "a dictionary": {},
    "a set": {1},
    "text": "x",
    "bytes": b"x",
    "a float": 1.5,
    "NaN": float("nan"),
    "a numpy float": np.float32(2.5),
    "a complex number": 1 + 2j,
    "True": True,
    "a negative number": -1,
    "an object": object(),
    "a type of torch's": torch.bfloat16,
    "a vector": torch.zeros(2),
    "a scalar tensor": torch.tensor(0.5),
    "a vector of one bool": torch.tensor([True]),
    "an empty array": np.array([]),
    "a tensor elsewhere": torch.zeros(1, device="meta"),
}


def tokens(count: int = 1) -> torch.Tensor:
    return halves(count, count, KV_HEADS, DIM)


def cache(**options: Any) -> BucketedKVCache:
    made = BucketedKVCache(1, 2, KV_HEADS, DIM, "cpu", importance_decay=0.9, **options)
    made.quantize_and_store_batch(0, tokens(4), tokens(4), 0, [0, 1, 2, 3], [2, 3, 4, 8])
    return made


def uniform() -> BucketedKVCache:
    return cache(use_bucketed_layout=False)


def layer() -> BucketedCacheLayer:
    return cache().layers[0]


def average() -> ImportanceAverage:
    made = ImportanceAverage(2, "cpu")
    made.add(0, [0, 1])
    return made


PACKED = torch.zeros(2, 8, dtype=torch.uint8)
STORED = {"layer": 0, "keys": tokens(), "values": tokens(), "sequences": 1, "slots": 0, "widths": 8}
# What is called, with arguments that are right; each of them is made odd in turn.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "a cache": (
        BucketedKVCache,
        {"layers": 1, "batch": 1, "kv_heads": 1, "head_dim": 8, "device": "cpu", "widths": (2, 8)}
        | {"scale_dtype": None, "capacity": 64, "most_entries": 9, "importance_decay": 0.9}
        | {"use_bucketed_layout": True},
    ),
    "store": (lambda **given: cache().quantize_and_store_batch(**given), {**STORED, "token_ids": 7}),
    "store at eight bits": (lambda **given: uniform().quantize_and_store_batch(**given), STORED),
    "remove": (lambda **given: cache().remove(**given), {"layer": 0, "sequences": 0, "slots": [1]}),
    "reallocate": (
        lambda **given: cache().reallocate(**given),
        {"layer": 0, "precision_map": np.full((2, 4), [[8], [0]])},
    ),
    "reallocate at eight bits": (
        lambda **given: uniform().reallocate(0, **given),
        {"precision_map": np.full((2, 4), [[8], [0]])},
    ),
    "one token": (
        lambda **given: cache()._requantize_single(**given),
        {"layer": 0, "sequence": 0, "slot": 1, "width": 8},
    ),
    "attend": (
        lambda **given: cache().attend(**given),
        {"layer": 0, "queries": halves(1, 2, 4, DIM), "mask": torch.ones(2, 4, dtype=torch.uint8)}
        | {"scale": 0.1},
    ),
    "plan": (
        lambda **given: cache().plan(**given),
        {"layer": 0, "budget": 0.5, "errors": {2: 1.0, 3: 0.5, 4: 0.1, 8: 0.0}},
    ),
    "views": (lambda layer: cache().get_bucket_views(layer), {"layer": 0}),
    "find": (lambda **given: layer().find(**given), {"sequence": 0, "slot": 1}),
    "read": (lambda **given: layer().read(**given), {"sequence": 0, "slot": 1}),
    "slot": (lambda **given: layer().slot(**given), {"sequence": 0, "width": 2, "entry": 0}),
    "move": (lambda **given: layer().move(**given), {"sequences": 0, "slots": [1], "widths": 8}),
    "an average": (ImportanceAverage, {"batch": 1, "device": "cpu", "decay": 0.5}),
    "add": (lambda **given: average().add(**given), {"sequences": 0, "slots": [2], "initial": 0.5}),
    "update": (lambda **given: average().update(**given), {"weights": torch.ones(2, 2)}),
    "allocate": (
        allocate,
        {"importance": np.ones(3), "present": np.ones(3, dtype=bool), "budget": 0.5, "head_dim": DIM}
        | {"scale_bytes": 2, "widths": (2, 8), "errors": {2: 1.0, 8: 0.0}},
    ),
    "errors of widths": (mean_squared_errors, {"heads": torch.ones(2, DIM), "widths": (2, 8)}),
    "quantize": (quantizing.quantize, {"x": torch.ones(2, DIM), "bits": 8, "scale_dtype": None}),
    "pack": (quantizing.pack, {"codes": torch.zeros(2, 8, dtype=torch.uint8), "bits": 4}),
    "unpack": (quantizing.unpack, {"packed": PACKED, "bits": 4}),
    "dequantize": (
        quantizing.dequantize,
        {"packed": PACKED, "scales": torch.ones(2), "bits": 4, "dtype": torch.float32},
    ),
    "split a query": (quantizing.split_query, {"queries": torch.ones(2, DIM)}),
}
ARGUMENTS = [(call, name) for call, (_, right) in CALLS.items() for name in right]


@pytest.mark.parametrize("call", CALLS)
def test_the_right_arguments_are_taken(call: str):
    function, right = CALLS[call]
    function(**right)


@pytest.mark.parametrize(("call", "name"), ARGUMENTS)
def test_an_odd_argument_is_taken_or_refused_and_nothing_else(call: str, name: str):
    function, right = CALLS[call]
    for odd in ODD.values():
        with contextlib.suppress(ArgumentError):
            function(**right | {name: odd})


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "a list for keys": (
        lambda: cache().quantize_and_store_batch(**STORED | {"keys": [[1.0]]}),
        "keys is of type list, but must be of type Tensor",
    ),
    "no values": (
        lambda: cache().quantize_and_store_batch(**STORED | {"values": None}),
        "values is None, but must be of type Tensor",
    ),
    "a float for a slot": (
        lambda: layer().find(0, 1.5),  # type: ignore[arg-type]
        "slot is 1.5, but must be a whole number",
    ),
    "floats for slots": (
        lambda: cache().remove(0, 0, [1.0]),
        "slots holds float64, but must hold whole numbers",
    ),
    "slots that are ragged": (
        lambda: cache().remove(0, 0, [1, [2]]),
        "slots is of type list, but must hold numbers, as an array does",
    ),
    "a negative slot": (lambda: layer().find(0, -1), "names slot -1 of sequence 0, which holds no token"),
    "a bool for a budget": (
        lambda: cache().plan(0, True),
        "budget is True, but must be a fraction of FP16's bytes, above 0",
    ),
    "text for a budget": (
        lambda: cache().plan(0, "0.3"),  # type: ignore[arg-type]
        "budget is '0.3', but must be a fraction",
    ),
    "errors in a list": (
        lambda: cache().plan(0, 0.5, [1.0]),  # type: ignore[arg-type]
        "errors is of type list, but must be of type Mapping",
    ),
    "a float for a layer": (
        lambda: cache().get_bucket_views(0.0),  # type: ignore[arg-type]
        "layer is 0.0, but must be a whole number",
    ),
    "True for a batch": (
        lambda: BucketedCacheLayer(True, 1, 8, "cpu"),
        "batch is True, but must be a whole number of 1 or more",
    ),
    "no device": (
        lambda: BucketedCacheLayer(1, 1, 8, None),
        "device is None, but must be a torch device",
    ),
    "no such device": (
        lambda: BucketedCacheLayer(1, 1, 8, "gpu7"),
        "device is 'gpu7', but torch knows no such device",
    ),
    "a number for widths": (
        lambda: BucketedCacheLayer(1, 1, 8, "cpu", 8),  # type: ignore[arg-type]
        "widths is 8, but must be a sequence of widths, such as (2, 3, 4, 8)",
    ),
    "slots elsewhere": (
        lambda: cache().remove(0, 0, torch.zeros(1, dtype=torch.int64, device="meta")),
        "slots is on meta, but must be on the host: pass .cpu()",
    ),
    "text for a scale": (
        lambda: cache().attend(0, halves(1, 2, 4, DIM), scale="1"),  # type: ignore[arg-type]
        "scale is '1', but must be a number",
    ),
    "a mask in a list": (
        lambda: cache().attend(0, halves(1, 2, 4, DIM), [[1]]),
        "mask is of type list, but must be of type Tensor",
    ),
    "scales of another shape": (
        lambda: quantizing.dequantize(PACKED, torch.ones(3), 4),
        "scales has shape [3], but packed [2, 8]: each row has one scale",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_says_what_came_and_what_was_wanted(name: str):
    call, message = REFUSED[name]
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()


@pytest.mark.parametrize("side", ["keys", "values"])
@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_tokens_that_are_not_finite_are_refused_by_token_and_head(side: str, number: float):
    made = cache()
    before = made.precision_map(0).copy()
    given = {"keys": tokens(3), "values": tokens(3)}
    given[side][2, 1, 5] = number
    with pytest.raises(ArgumentError) as refused:
        made.quantize_and_store_batch(0, **given, sequences=1, slots=[4, 6, 9], widths=8)
    assert f"{side}[2, 1, 5] is {number}, but must be finite" in str(refused.value)
    assert "head 1 of the token for slot 9 of sequence 1" in str(refused.value)
    assert np.array_equal(made.precision_map(0), before)


def test_infinities_that_cancel_are_found_and_the_largest_halves_are_not():
    made = cache()
    both = tokens(2)
    both[0, 0, 0], both[1, 0, 0] = torch.inf, -torch.inf
    with pytest.raises(ArgumentError, match=r"keys\[0, 0, 0\] is inf"):
        made.quantize_and_store_batch(0, both, tokens(2), 1, [0, 1], 8)
    largest = torch.full((2, KV_HEADS, DIM), 65504.0, dtype=torch.float16)
    made.quantize_and_store_batch(0, largest, -largest, 1, [0, 1], 8)
