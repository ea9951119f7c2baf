"""What a student may see of a record: not the seed, from which every input follows, nor hidden cases where an
instructor hides them."""

from __future__ import annotations

import dataclasses
from typing import Any

from grader.records.record import NOT_AS_ASKED, PartResult, Record

_HIDDEN = "(not shown)"
_FAILURE = "the first failure is a hidden case"
_LACK = "not seen in a hidden case"
_FINDING = "What happened is not shown: it may have been in a hidden case."
_OF_FINDINGS = ("kind", "mistake", "first", "place", "other", "between", "kernel")  # the same in every case


def for_student(record: Record) -> Record:
    """The record without the seed, even where a message or the submission's own output repeats it. It may
    share its lists with the record: nobody may change them."""
    bare = dataclasses.replace(record, seed="")
    if not record.seed or (record.seed.isalnum() and record.seed not in repr(bare)):
        return bare  # nothing repeats it: most often so, and much faster
    hidden: Record = _without(bare, record.seed)
    return hidden


def without_hidden_cases(record: Record) -> Record:
    """The record with nothing of its hidden cases but their number: no name, no sizes, no message."""
    return dataclasses.replace(
        record,
        cases=[case for case in record.cases if case.public],
        parts=[_without_hidden(record, part) for part in record.parts],
        mechanisms=[
            dataclasses.replace(one, message=_LACK) if _names_hidden(record, one.message) else one
            for one in record.mechanisms
        ],
        # A record does not say in which case a finding was seen. Its message has sizes, threads and blocks.
        findings=[
            {"message": _FINDING, **{name: one[name] for name in _OF_FINDINGS if name in one}}
            for one in record.findings
        ],
    )


def _without_hidden(record: Record, part: PartResult) -> PartResult:
    """Without what the reason says about a hidden case, which is always its end."""
    text = part.message
    for case in record.cases:
        if not case.public and case.as_first_failure in text:
            text = text.partition(case.as_first_failure)[0] + _FAILURE
    if _names_hidden(record, text):
        text = (NOT_AS_ASKED if text.startswith(NOT_AS_ASKED) else "") + _LACK
    return dataclasses.replace(part, message=text)


def _names_hidden(record: Record, text: str) -> bool:
    """As mechanisms name the case in which they were not seen."""
    return any(f"({case.name})" in text for case in record.cases if not case.public)


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
