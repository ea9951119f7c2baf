"""A missing name from one of the course's headers is explained as a missing #include."""

from __future__ import annotations

import pytest

from common.build.hints import hint_for


@pytest.mark.parametrize(
    ("name", "header"),
    [("ceil_div", "units.cuh"), ("kMostCopies", "copy_batch.cuh"), ("CopyDescriptor", "copy_batch.cuh")],
)
def test_the_header_is_named(name: str, header: str):
    assert hint_for(f'identifier "{name}" is undefined') == (
        f'{name} is in a header of the course: #include "{header}"'
    )


def test_other_names_are_still_guessed_at():
    assert "slip in spelling" in str(hint_for('identifier "celi_dvi" is undefined'))
