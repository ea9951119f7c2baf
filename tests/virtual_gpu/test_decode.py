"""Names that the engine and Python share: one that a side lacks is an error which says it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from common.virtual_gpu.decode import UnknownNames, decode, require_same_names
from common.virtual_gpu.profiles import DEFAULT_PROFILE, Profile, profiles
from common.virtual_gpu.report import Counters, Report, Span

WHOLE: dict[str, Any] = {"version": 1, **Report().to_dict()}
FINDING = {"kind": "race", "message": "two threads", "file": "k.cu", "line": 3, "block": [1, 2, 3]}


def test_a_name_that_python_lacks_is_an_error():
    with pytest.raises(UnknownNames, match=r"^warmth is in the data, but not in Report$"):
        Report.from_json(json.dumps({**WHOLE, "warmth": 1}))
    with pytest.raises(UnknownNames, match="async_waits_for_nothing"):
        decode(Counters, {"async_waits_for_nothing": 1, "by_class": {}})


def test_a_name_that_the_engine_lacks_is_an_error():
    without = {name: value for name, value in WHOLE.items() if name != "sticky_error"}
    with pytest.raises(UnknownNames, match=r"^sticky_error is in Report, but not in the data$"):
        Report.from_json(json.dumps(without))
    with pytest.raises(UnknownNames, match="advice"):
        Report.from_json(json.dumps({**WHOLE, "findings": [FINDING]}))
    assert Report.from_dict(without) == Report()


def test_parts_become_objects_and_tuples():
    (finding,) = Report.from_dict(
        {"findings": [{**FINDING, "place": [{"file": "k.cu", "line": 3}]}]}
    ).findings
    assert (finding.block, finding.thread, finding.file, finding.line) == ((1, 2, 3), None, "k.cu", 3)
    assert decode(Span, [0, "math", 4, 1.0, 2.0, 3.0]).done == 3.0


def test_counters_that_are_absent_are_zero():
    counters = decode(Counters, {"barriers": 2, "by_class": {"move": 1}, "derived": {}}, complete=True)
    assert counters == Counters(barriers=2, by_class={"move": 1})


def test_a_list_of_the_engine_that_differs_is_an_error(tmp_path: Path):
    listed = tmp_path / "profile.def"
    names = [name for name in vars(profiles()[DEFAULT_PROFILE]) if name not in ("name", "sms")]
    listed.write_text("".join(f"COUNT({name})\n" for name in (*names, "warmth")))
    with pytest.raises(UnknownNames, match=r"^sms, warmth are in only one of Profile and profile.def$"):
        require_same_names(Profile, listed, besides=("name",))
