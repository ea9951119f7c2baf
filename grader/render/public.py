"""What a student may see of a record: not the seed, from which every input follows."""

from __future__ import annotations

import dataclasses
from typing import Any

from grader.records.record import Record

_HIDDEN = "(not shown)"


def for_student(record: Record) -> Record:
    """The record without the seed, even where a message or the submission's own output repeats it. It may
    share its lists with the record: nobody may change them."""
    bare = dataclasses.replace(record, seed="")
    if not record.seed or (record.seed.isalnum() and record.seed not in repr(bare)):
        return bare  # nothing repeats it: most often so, and much faster
    hidden: Record = _without(bare, record.seed)
    return hidden


def _without(value: Any, seed: str) -> Any:
    """A copy of the data with the seed removed from every string."""
    if isinstance(value, str):
        return value.replace(seed, _HIDDEN)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(
            value, **{name: _without(item, seed) for name, item in vars(value).items()}
        )
    if isinstance(value, dict):
        return {key: _without(item, seed) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without(item, seed) for item in value]
    return value
