"""What the baselines took on a profile's card, collected from what was measured there."""

from __future__ import annotations

import json

import pytest

from benchmarks.model.baselines import collect
from common.core.errors import CourseError
from grader.timing.modelled.baselines import baselines


def test_the_table_on_file_is_what_was_measured():
    assert json.loads(baselines("h200").read_text()) == collect("h200")


def test_a_card_that_nobody_measured_is_a_sentence():
    with pytest.raises(CourseError, match=r"nvidia-l4\.json does not exist: `\./course bench` writes it"):
        collect("l4")
