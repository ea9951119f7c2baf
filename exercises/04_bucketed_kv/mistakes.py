"""Common mistakes in attention: each function leaves the result of a kernel with that mistake."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from common.serving.bucketed.quantizing import joined_query, split_query, unpack
from common.serving.bucketed.reference_attention import Part
from common.serving.half_precision import product
from grader.spec import Buffers, Size

from .fragment_mistakes import KEYS, registers_exchanged, units_as_they_are, units_in_reverse
from .layout import array_of, softmax_scale, visible_slots
from .merge_mistakes import MERGES, rescaled
from .parts import leave
from .shapes import is_far, lengths, widths

if TYPE_CHECKING:
    import torch

Change = Callable[[Size, Buffers], None]
_MOST_ELEMENTS = 1 << 20  # of keys: for larger cases the search for a mistake takes too long


@dataclass(frozen=True)
class Bucket:
    """One bucket as a kernel reads it: elements are (code - offset) * scale, keys and values separately."""

    bits: int
    key_codes: torch.Tensor  # [batch, kv_heads, entries, head_dim]: what any sequence has, and whole products
    value_codes: torch.Tensor
    key_scales: torch.Tensor  # [batch, kv_heads, capacity]
    value_scales: torch.Tensor
    slots: torch.Tensor  # [batch, entries], 0 past the end
    used: torch.Tensor  # bool [batch, entries]
    key_offset: int
    value_offset: int


@dataclass(frozen=True)
class Reading:
    """All that attention reads."""

    queries: torch.Tensor  # [batch, kv_heads, group, head_dim]
    buckets: tuple[Bucket, ...]
    mask: torch.Tensor | None
    scale: float

    def of_each(self, change: Callable[[Bucket], Bucket]) -> Reading:
        return replace(self, buckets=tuple(map(change, self.buckets)))


def read(size: Size, buffers: Buffers) -> Reading:
    import torch

    found = []
    for number, bits in enumerate(widths(size)):
        # Whole products: a mistake may make a score of keys past the end, too.
        entries = -(-max(1, *(row[number] for row in lengths(size))) // KEYS) * KEYS
        slots = array_of(size, buffers, "slots", bits)[:, :entries]
        ends = torch.tensor([row[number] for row in lengths(size)], device=slots.device)
        used = torch.arange(entries, device=ends.device) < ends.unsqueeze(1)
        found.append(
            Bucket(
                bits,
                unpack(array_of(size, buffers, "keys", bits)[:, :, :entries], bits),
                unpack(array_of(size, buffers, "values", bits)[:, :, :entries], bits),
                array_of(size, buffers, "key_scales", bits),
                array_of(size, buffers, "value_scales", bits),
                slots.masked_fill(~used, 0),
                used,
                1 << (bits - 1),
                1 << (bits - 1),
            )
        )
    shape = (size.batch, size.kv_heads, size.group, size.head_dim)
    return Reading(buffers["queries"].view(shape), tuple(found), visible_slots(buffers), softmax_scale(size))


def elements(
    reading: Reading, bucket: Bucket, codes: torch.Tensor, offset: int, scales: torch.Tensor
) -> torch.Tensor:
    """Of keys or of values, in the type of the queries; zeros past the end."""
    kept = kept_type(reading)
    known = scales[:, :, : codes.shape[2]].masked_fill(~bucket.used.unsqueeze(1), 0).to(kept)
    return ((codes.to(kept) - offset) * known.unsqueeze(-1)).to(reading.queries.dtype)


def kept_type(reading: Reading) -> torch.dtype:
    """Of scores and sums: float32 at least."""
    import torch

    return torch.promote_types(reading.queries.dtype, torch.float32)


def scores_of(reading: Reading, bucket: Bucket) -> torch.Tensor:
    """[batch, kv_heads, group, entries], -inf where hidden and past the end."""
    import torch

    visible = bucket.used
    if reading.mask is not None:
        last = reading.mask.shape[1] - 1
        visible = visible & (reading.mask.gather(1, bucket.slots.clamp_max(last).long()) != 0)
    keys = elements(reading, bucket, bucket.key_codes, bucket.key_offset, bucket.key_scales)
    scores = product(reading.queries, keys.transpose(-1, -2)).to(kept_type(reading)) * reading.scale
    return scores.masked_fill(~visible[:, None, None], -torch.inf)


def part_of(reading: Reading, bucket: Bucket) -> Part:
    """The bucket's part: in the type of the queries, sums in float32 at least."""
    import torch

    scores = scores_of(reading, bucket)
    highest = scores.amax(-1)
    weights = torch.exp(scores - highest.masked_fill(highest.isneginf(), 0).unsqueeze(-1))
    values = elements(reading, bucket, bucket.value_codes, bucket.value_offset, bucket.value_scales)
    out = product(weights.to(values.dtype), values).to(weights.dtype)
    return Part(out.flatten(1, 2), highest.flatten(1), weights.sum(-1).flatten(1))


def _elements_of(size: Size) -> int:
    return sum(map(sum, lengths(size))) * size.kv_heads * size.head_dim


def of_attention(
    change: Callable[[Reading], Reading] = lambda reading: reading,
    merge: Callable[[list[Part]], torch.Tensor] = rescaled,
    written: Callable[[Part], Part] = lambda part: part,
) -> Change:
    """Attention that reads or merges differently; a step's buffers take an unmerged part, or scores."""

    def mistake(size: Size, buffers: Buffers) -> None:
        if _elements_of(size) > _MOST_ELEMENTS:
            return
        reading = change(read(size, buffers))
        if "scores" in buffers:
            scores = scores_of(reading, reading.buckets[0]).flatten(1, 2)
            buffers["scores"][..., : scores.shape[-1]] = scores
            return
        parts = [part_of(reading, bucket) for bucket in reading.buckets]
        if "max" in buffers:
            leave(written(parts[0]), buffers)
        else:
            buffers["out"].copy_(merge(parts))

    return mistake


def transposed(scales: torch.Tensor) -> torch.Tensor:
    """[entry][head] instead of [head][entry]."""
    batch, heads, entries = scales.shape
    return scales.reshape(batch, entries, heads).transpose(1, 2)


def transposed_scales(bucket: Bucket) -> Bucket:
    return replace(
        bucket, key_scales=transposed(bucket.key_scales), value_scales=transposed(bucket.value_scales)
    )


def slots_by_entry(bucket: Bucket) -> Bucket:
    import torch

    entries = torch.arange(bucket.slots.shape[1], device=bucket.slots.device)
    return replace(bucket, slots=entries.expand_as(bucket.slots))


def swapped(bucket: Bucket) -> Bucket:
    return replace(
        bucket,
        key_codes=bucket.value_codes,
        value_codes=bucket.key_codes,
        key_scales=bucket.value_scales,
        value_scales=bucket.key_scales,
    )


def scales_of(name: str, other: str) -> Callable[[Bucket], Bucket]:
    return lambda bucket: replace(bucket, **{name: getattr(bucket, other)})


def swapped_scales(bucket: Bucket) -> Bucket:
    return replace(bucket, key_scales=bucket.value_scales, value_scales=bucket.key_scales)


def without_offset(*names: str) -> Callable[[Bucket], Bucket]:
    return lambda bucket: replace(bucket, **dict.fromkeys(names, 0))


def scale_of_one(name: str) -> Callable[[Bucket], Bucket]:
    return lambda bucket: replace(bucket, **{name: getattr(bucket, name) * 0 + 1})


def swapped_elements(bucket: Bucket) -> Bucket:
    """With the right scales."""
    return replace(bucket, key_codes=bucket.value_codes, value_codes=bucket.key_codes)


def keys_as(change: Callable[[torch.Tensor, int], torch.Tensor]) -> Callable[[Bucket], Bucket]:
    return lambda bucket: replace(bucket, key_codes=change(bucket.key_codes, bucket.bits))


def up_to(multiple: int) -> Callable[[Bucket], Bucket]:
    """The end of a bucket is missing, past its last whole chunk."""

    def change(bucket: Bucket) -> Bucket:
        import torch

        ends = bucket.used.sum(1, keepdim=True) // multiple * multiple
        return replace(bucket, used=torch.arange(bucket.used.shape[1], device=ends.device) < ends)

    return change


def first_keys(count: int) -> Callable[[Bucket], Bucket]:
    def change(bucket: Bucket) -> Bucket:
        used = bucket.used.clone()
        used[:, count:] = False
        return replace(bucket, used=used)

    return change


def past_the_end(bucket: Bucket) -> Bucket:
    """Every sequence has the length of the longest."""
    return replace(bucket, used=bucket.used.any(0).expand_as(bucket.used))


def one_plane(reading: Reading) -> Reading:
    high, _, scales = split_query(reading.queries)
    return replace(reading, queries=joined_query(high, None, scales, reading.queries.dtype))


def heads_in_turns(reading: Reading) -> Reading:
    """Query head h reads key head h % kv_heads."""
    batch, kv_heads, group, head_dim = reading.queries.shape
    other = reading.queries.reshape(batch, group, kv_heads, head_dim).transpose(1, 2)
    return replace(reading, queries=other)


def first_heads_elements(bucket: Bucket) -> Bucket:
    """With the right scales."""
    first = {name: getattr(bucket, name)[:, :1] for name in ("key_codes", "value_codes")}
    return replace(bucket, **{name: codes.expand_as(bucket.key_codes) for name, codes in first.items()})


def wrapped_offsets(size: Size, buffers: Buffers) -> None:
    """Shown where a head lies 2^32 bytes behind the one before."""
    if is_far(size):
        of_attention(of_each(first_heads_elements))(size, buffers)


def planes_exchanged(size: Size, buffers: Buffers) -> None:
    """Scores of 256 low + high, less the right offset."""
    if _elements_of(size) > _MOST_ELEMENTS:
        return
    reading = read(size, buffers)
    (bucket,) = reading.buckets
    high, low, scales = split_query(reading.queries)
    kept = kept_type(reading)
    right, other = (joined_query(*planes, scales, kept) for planes in ((high, low), (low, high)))
    more = bucket.key_offset * (other - right).sum(-1, keepdim=True)
    known = bucket.key_scales[:, :, None, : bucket.key_codes.shape[2]].to(kept)
    keys = elements(reading, bucket, bucket.key_codes, bucket.key_offset, bucket.key_scales).to(kept)
    found = (product(other, keys.transpose(-1, -2)) + more * known) * reading.scale
    hidden = scores_of(reading, bucket).isneginf()
    buffers["scores"][..., : found.shape[-1]] = found.masked_fill(hidden, -math.inf).flatten(1, 2)


def sum_of_scaled_weights(size: Size, buffers: Buffers) -> None:
    if _elements_of(size) > _MOST_ELEMENTS:
        return
    reading = read(size, buffers)
    (bucket,) = reading.buckets
    right = part_of(reading, bucket)
    scores = scores_of(reading, bucket)
    weights = (scores - right.max.view(scores.shape[:-1]).unsqueeze(-1)).exp().nan_to_num()
    known = bucket.value_scales[:, :, None, : scores.shape[-1]].to(weights.dtype)
    leave(right._replace(sum=(weights * known.nan_to_num()).sum(-1).flatten(1)), buffers)


def max_as_power_of_2(part: Part) -> Part:
    return part._replace(max=part.max * math.log2(math.e))


def sum_without_reference(part: Part) -> Part:
    return part._replace(sum=part.sum * part.max.exp())


def without_highest(part: Part) -> Part:
    return sum_without_reference(part)._replace(max=part.max * 0 - math.inf)


def nan_without_keys(part: Part) -> Part:
    return part._replace(sum=part.sum.masked_fill(part.max.isneginf(), math.nan))


def of_each(change: Callable[[Bucket], Bucket]) -> Callable[[Reading], Reading]:
    return lambda reading: reading.of_each(change)


_SCORES: dict[str, Callable[[Reading], Reading]] = {
    "no key is attended to": of_each(lambda bucket: replace(bucket, used=bucket.used & False)),
    "the mask is looked up by an entry's place in its bucket, not by its slot": of_each(slots_by_entry),
    "the keys' scales are forgotten": of_each(scale_of_one("key_scales")),
    "the keys are multiplied by the values' scales": of_each(scales_of("key_scales", "value_scales")),
    "the offset of the keys' stored elements is not subtracted": of_each(without_offset("key_offset")),
    "lengths of the longest sequence are used for all": of_each(past_the_end),
    **{
        f"the end of each bucket is missing, past the last multiple of {multiple} keys": of_each(
            up_to(multiple)
        )
        for multiple in (4, 8, 16, 32, 64, 128)
    },
    **{
        f"only the first {count} keys of each bucket are there": of_each(first_keys(count))
        for count in (16, 32, 64, 128, 256, 512)
    },
    "the mask is ignored": lambda reading: replace(reading, mask=None),
    "only the high plane of the queries is used": one_plane,
    "a[1] and a[2] of the products with the keys are exchanged: a[0] and a[1] are of rows g and g + 8, a[2] "
    "and a[3] their other bytes": of_each(keys_as(registers_exchanged)),
    "products of all units are added up as they are: those of unit u are 2^(bits u) times too large": of_each(
        keys_as(units_as_they_are)
    ),
    "the products of the units are shifted the wrong way: those of unit 0 must be shifted most": of_each(
        keys_as(units_in_reverse)
    ),
    "the scores are not scaled": lambda reading: replace(reading, scale=1.0),
}
_VALUES: dict[str, Callable[[Reading], Reading]] = {
    "the values' scales are forgotten": of_each(scale_of_one("value_scales")),
    "the values are multiplied by the keys' scales": of_each(scales_of("value_scales", "key_scales")),
    "the offset of the values' stored elements is not subtracted": of_each(without_offset("value_offset")),
}
_SWAPPED_SCALES = of_each(swapped_scales)
_WITHOUT_OFFSETS = of_each(without_offset("key_offset", "value_offset"))
_BOTH: dict[str, Callable[[Reading], Reading]] = {
    "scales are read with entries and heads exchanged": of_each(transposed_scales),
    "the keys' and the values' scales are swapped": _SWAPPED_SCALES,
    "the offset of the stored elements is not subtracted": _WITHOUT_OFFSETS,
    "keys and values are swapped": of_each(swapped),
    "keys and values are swapped, but not their scales": of_each(swapped_elements),
    "query heads read the wrong key heads: head h belongs to key head h / group": heads_in_turns,
}
READINGS: dict[str, Callable[[Reading], Reading]] = {
    f"{name} ({part})": change
    for part, changes in {
        "the scores are wrong": _SCORES,
        "the weights are right, the output is wrong": _VALUES,
        "the scores and the output are wrong": _BOTH,
    }.items()
    for name, change in changes.items()
}

OF_READING: dict[str, Change] = {name: of_attention(change) for name, change in READINGS.items()}
# Where only scores count, the others leave the right ones, or what a mistake about keys alone leaves.
OF_KEYS: dict[str, Change] = {
    name: of_attention(change)
    for name, change in (_SCORES | _BOTH).items()
    if change not in (_SWAPPED_SCALES, _WITHOUT_OFFSETS)
}
OF_MAX_AND_SUM: dict[str, Change] = {
    "max is a power of 2, log2(e) times too large: multiply it by ln 2": of_attention(
        written=max_as_power_of_2
    ),
    "the sum is of the weights times the scales of the values: it is of the weights alone": (
        sum_of_scaled_weights
    ),
    "the sum is relative to 0, not to max": of_attention(written=sum_without_reference),
    "the highest score is never kept: stats[i].most is still -inf": of_attention(written=without_highest),
    "the sum of a row without keys is NaN: its reference is -inf, and -inf minus -inf is NaN. finite() makes "
    "it 0": of_attention(written=nan_without_keys),
}
SCORING: dict[str, Change] = OF_KEYS | {
    "the scores are powers of 2, log2(e) times too large": of_attention(
        lambda reading: replace(reading, scale=reading.scale * math.log2(math.e))
    ),
    "the planes of the queries are exchanged: a score has 256 times the product with the high one, and once "
    "that with the low one": planes_exchanged,
}
SUMMING: dict[str, Change] = OF_KEYS | OF_MAX_AND_SUM
ATTENDING: dict[str, Change] = OF_READING | OF_MAX_AND_SUM
ATTENTION: dict[str, Change] = (
    OF_READING
    | {name: of_attention(merge=merge) for name, merge in MERGES.items()}
    | {"offsets in a bucket wrap at 32 bits: a later head reads the rows of the first": wrapped_offsets}
)
