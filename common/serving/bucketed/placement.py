"""Which entry of which bucket holds which slot: a layer's bookkeeping, on the host and without tensors.

Look-ups go both ways in constant time. Batches are arrays, so that a prefill of thousands of tokens costs
no loop over them. Everything is checked before anything changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from common.serving.arguments import ArgumentError
from common.serving.bucketed.checks import array, whole

Integers = np.ndarray[Any, np.dtype[np.int64]]
_NOWHERE = -1
_SMALLEST = 64
_LARGEST = (1 << 31) - 1
MOST_SLOTS = 1 << 24  # of a sequence: tables on the host are as long


def integers(name: str, given: Any, count: int | None = None) -> Integers:
    """One number for each of `count` tokens; a single number stands for all of them. Without a count, as many
    as there are."""
    values = array(name, given)
    if values.size and not np.issubdtype(values.dtype, np.integer):
        raise ArgumentError(f"{name} holds {values.dtype}, but must hold whole numbers")
    if count is None:
        count = values.size
    # The device keeps them as 32-bit numbers.
    if values.size and (values.min() < -_LARGEST - 1 or values.max() > _LARGEST):
        worst = max((int(values.min()), int(values.max())), key=abs)
        raise ArgumentError(f"{name} holds {worst}, but must fit 32 bits: at most {_LARGEST}")
    if values.ndim == 0:
        return np.full(count, values, dtype=np.int64)
    if values.shape != (count,):
        raise ArgumentError(f"{name} has shape {list(values.shape)}, but {count} tokens need [{count}]")
    return values.astype(np.int64)


class Placement:
    """The entries of `batch` sequences in one bucket for each of `widths`."""

    def __init__(self, batch: int, widths: Sequence[int], most_entries: int | None = None) -> None:
        self.batch = batch
        self.widths = tuple(widths)
        self.most_entries = most_entries
        self.lengths = np.zeros((batch, len(self.widths)), dtype=np.int64)
        self._bucket_of = np.full((batch, _SMALLEST), _NOWHERE, dtype=np.int8)
        self._entry_of = np.zeros((batch, _SMALLEST), dtype=np.int32)
        self._slot_of = [np.zeros((batch, _SMALLEST), dtype=np.int32) for _ in self.widths]
        self._slot_count: int | None = 0  # None: to be counted, which a step should not do each time

    # Looking up

    def find(self, sequence: int, slot: int) -> tuple[int, int]:
        """The width and the entry of a slot."""
        one = integers("sequence", whole("sequence", sequence, None), 1)
        bucket, entry = self.entries(one, integers("slot", whole("slot", slot, None), 1))
        return self.widths[int(bucket[0])], int(entry[0])

    def slot(self, sequence: int, width: int, entry: int) -> int:
        """The slot that an entry holds."""
        sequence, entry = whole("sequence", sequence, None), whole("entry", entry, None)
        self._check_sequences(np.array([sequence]))
        bucket = int(self.buckets_of(integers("width", whole("width", width, None), 1))[0])
        length = int(self.lengths[sequence, bucket])
        if not 0 <= entry < length:
            raise ArgumentError(
                f"entry is {entry}, but sequence {sequence} has {length} entries of {width} bits"
            )
        return int(self._slot_of[bucket][sequence, entry])

    def entries(self, sequences: Integers, slots: Integers) -> tuple[Integers, Integers]:
        """The buckets and entries of slots that are there."""
        self._check_sequences(sequences)
        inside = (slots >= 0) & (slots < self._bucket_of.shape[1])
        buckets = np.where(inside, self._bucket_of[sequences, np.where(inside, slots, 0)], _NOWHERE)
        if (unknown := np.flatnonzero(buckets == _NOWHERE)).size:
            first = unknown[0]
            raise ArgumentError(
                f"slots names slot {slots[first]} of sequence {sequences[first]}, which holds no token: "
                "store it first"
            )
        return buckets.astype(np.int64), self._entry_of[sequences, slots].astype(np.int64)

    def distinct_entries(self, sequences: Integers, slots: Integers) -> tuple[Integers, Integers]:
        """The same, of slots that are to leave them: none may be named twice."""
        found = self.entries(sequences, slots)
        self._check_distinct(sequences, slots)
        return found

    def buckets_of(self, widths: Integers) -> Integers:
        """The numbers of the buckets of these widths."""
        known = np.array(self.widths)
        if (strange := widths[~np.isin(widths, known)]).size:
            raise ArgumentError(
                f"widths holds {strange[0]}, but this cache has buckets of "
                f"{', '.join(map(str, self.widths))} bits"
            )
        order = np.argsort(known)
        return order[np.searchsorted(known, widths, sorter=order)]

    def precision_map(self) -> Integers:
        """[batch, slots]: the width of each slot up to the last in use, 0 where there is no token."""
        widths = np.array([*self.widths, 0], dtype=np.int64)  # _NOWHERE is the last
        return widths[self._bucket_of[:, : self.slot_count()]]

    def slot_count(self) -> int:
        """One more than the highest slot in use."""
        if self._slot_count is None:
            used = np.flatnonzero((self._bucket_of != _NOWHERE).any(0))
            self._slot_count = int(used[-1]) + 1 if used.size else 0
        return self._slot_count

    # Changing

    def check_new(self, sequences: Integers, slots: Integers) -> None:
        """Whether these slots may be added."""
        self._check_sequences(sequences)
        if (negative := slots[slots < 0]).size:
            raise ArgumentError(f"slots holds {negative[0]}, but a slot is 0 or more")
        if (beyond := slots[slots >= MOST_SLOTS]).size:
            raise ArgumentError(f"slots holds {beyond[0]}, but a sequence has at most {MOST_SLOTS:,} of them")
        self._check_distinct(sequences, slots)
        inside = slots < self._bucket_of.shape[1]
        there = np.zeros(len(slots), dtype=bool)
        there[inside] = self._bucket_of[sequences[inside], slots[inside]] != _NOWHERE
        if (taken := np.flatnonzero(there)).size:
            first = taken[0]
            raise ArgumentError(
                f"slots names slot {slots[first]} of sequence {sequences[first]}, which holds a token "
                "already: remove it first"
            )

    def lengths_with(self, sequences: Integers, buckets: Integers) -> Integers:
        """[batch, buckets]: the lengths once these entries have been added; an error if that is too many."""
        after = self.lengths.copy()
        np.add.at(after, (sequences, buckets), 1)
        if self.most_entries is not None and (after > self.most_entries).any():
            sequence, bucket = np.argwhere(after > self.most_entries)[0]
            raise ArgumentError(
                f"the {self.widths[bucket]}-bit bucket is full: sequence {sequence} would have "
                f"{after[sequence, bucket]:,} entries, but most_entries is {self.most_entries:,}: "
                "remove tokens or choose another width"
            )
        return after

    def free_entries(self, sequences: Integers, buckets: Integers) -> Integers:
        """The entries that `add` will give: the next free ones of each bucket."""
        ranks = _rank_among_equals(sequences * len(self.widths) + buckets)
        return self.lengths[sequences, buckets] + ranks

    def add(self, sequences: Integers, slots: Integers, buckets: Integers) -> None:
        """Give each slot its free entry. The slots have been checked."""
        after = self.lengths_with(sequences, buckets)
        entries = self.free_entries(sequences, buckets)
        columns = int(slots.max()) + 1
        self._reserve(columns, after)
        self._slot_count = max(self.slot_count(), columns)
        self.lengths = after
        self._place(sequences, slots, buckets, entries)

    def remove(self, sequences: Integers, slots: Integers) -> Integers:
        """Forget slots. Returns the copies that fill their holes, see `_vacate`."""
        buckets, entries = self.distinct_entries(sequences, slots)
        self._bucket_of[sequences, slots] = _NOWHERE
        self._slot_count = None
        return self._vacate(sequences, buckets, entries)

    def plan_moves(self, sequences: Integers, slots: Integers, to_buckets: Integers) -> Integers:
        """Rows of {sequence, from bucket, from entry, to bucket, to entry, 0}; every destination is free."""
        buckets, entries = self.distinct_entries(sequences, slots)
        new_entries = self.free_entries(sequences, to_buckets)
        return np.stack([sequences, buckets, entries, to_buckets, new_entries, np.zeros_like(slots)], 1)

    def move(self, slots: Integers, moves: Integers) -> Integers:
        """What `plan_moves` has planned for these slots has been done. Returns the copies that fill the holes
        they leave, see `_vacate`."""
        sequences, buckets, entries, to_buckets = moves[:, :4].T
        self.add(sequences, slots, to_buckets)
        return self._vacate(sequences, buckets, entries)

    def _place(self, sequences: Integers, slots: Integers, buckets: Integers, entries: Integers) -> None:
        self._bucket_of[sequences, slots] = buckets
        self._entry_of[sequences, slots] = entries
        for bucket, slot_of in enumerate(self._slot_of):
            here = buckets == bucket
            slot_of[sequences[here], entries[here]] = slots[here]

    def _vacate(self, sequences: Integers, buckets: Integers, entries: Integers) -> Integers:
        """Free entries; the last of a bucket fill the holes.

        Returns rows of {bucket, sequence, from entry, to entry}. All sources lie behind the new end of their
        bucket and all destinations before it, so the copies may run in any order.
        """
        fills = [np.zeros((0, 4), dtype=np.int64)]
        for sequence, bucket, freed in _by_bucket(sequences, buckets, entries):
            end = int(self.lengths[sequence, bucket])
            new_end = end - len(freed)
            holes = freed[freed < new_end]
            last = np.setdiff1d(np.arange(new_end, end), freed)
            slots = self._slot_of[bucket][sequence, last]
            self._slot_of[bucket][sequence, holes] = slots
            self._entry_of[sequence, slots] = holes
            self.lengths[sequence, bucket] = new_end
            fills.append(
                np.stack([np.full_like(holes, bucket), np.full_like(holes, sequence), last, holes], 1)
            )
        return np.concatenate(fills)

    def _reserve(self, slots: int, lengths: Integers) -> None:
        self._bucket_of = _widened(self._bucket_of, slots, _NOWHERE)
        self._entry_of = _widened(self._entry_of, slots, 0)
        self._slot_of = [
            _widened(slot_of, int(longest), 0)
            for slot_of, longest in zip(self._slot_of, lengths.max(0), strict=True)
        ]

    def _check_sequences(self, sequences: Integers) -> None:
        if (strange := sequences[(sequences < 0) | (sequences >= self.batch)]).size:
            raise ArgumentError(
                f"sequences holds {strange[0]}, but this cache has sequences 0 to {self.batch - 1}"
            )

    @staticmethod
    def _check_distinct(sequences: Integers, slots: Integers) -> None:
        pairs, counts = np.unique(np.stack([sequences, slots], 1), axis=0, return_counts=True)
        if (twice := pairs[counts > 1]).size:
            raise ArgumentError(
                f"slots names slot {twice[0][1]} of sequence {twice[0][0]} twice, but each slot may come once"
            )


def _by_bucket(
    sequences: Integers, buckets: Integers, entries: Integers
) -> Iterator[tuple[int, int, Integers]]:
    """The entries of each sequence and bucket that has any, ascending."""
    order = np.lexsort((entries, buckets, sequences))
    pairs = np.stack([sequences, buckets], 1)[order]
    different = np.flatnonzero((pairs[1:] != pairs[:-1]).any(1)) + 1
    if not len(pairs):
        return
    for group in np.split(order, different):
        yield int(sequences[group[0]]), int(buckets[group[0]]), entries[group]


def _rank_among_equals(keys: Integers) -> Integers:
    """How many equal keys come before each."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.searchsorted(ordered, ordered)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(keys)) - starts
    return ranks


def _widened(table: np.ndarray[Any, Any], columns: int, filling: int) -> np.ndarray[Any, Any]:
    """The table itself if it has so many columns, else one of twice the size or more."""
    have = table.shape[1]
    if columns <= have:
        return table
    wider = np.full((table.shape[0], max(columns, 2 * have)), filling, dtype=table.dtype)
    wider[:, :have] = table
    return wider
