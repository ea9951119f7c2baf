"""The shape of a case, for a student whose kernel fails there."""

from __future__ import annotations

from grader.records.record import CaseResult
from grader.words import numbers


def shape(case: CaseResult) -> str:
    """In words, or by the names of its sizes where a record has no words."""
    return case.shape or numbers.sizes(case.sizes)
