"""What a student may see of a record: not the seed, from which every input follows."""

from __future__ import annotations

from typing import Any

from grader.records.record import Record

_HIDDEN = "(not shown)"


def for_student(record: Record) -> Record:
    """A copy without the seed, even where a message or the submission's own output repeats it."""
    plain = _without(record.to_dict(), record.seed) if record.seed else record.to_dict()
    return Record.from_dict({**plain, "seed": ""})


def _without(value: Any, seed: str) -> Any:
    """The same data with the seed removed from every string."""
    if isinstance(value, str):
        return value.replace(seed, _HIDDEN)
    if isinstance(value, dict):
        return {key: _without(item, seed) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without(item, seed) for item in value]
    return value
