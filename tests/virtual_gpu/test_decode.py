"""Names that the engine and Python share: one that a side lacks is an error which says it."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from common.core.paths import REPOSITORY
from common.virtual_gpu.decode import UnknownNames, decode, listed_in
from common.virtual_gpu.places import shorten_places
from common.virtual_gpu.profiles import Profile
from common.virtual_gpu.report import Counters, Report, Span

ROOTS = ("common", "grader", "exercises", "benchmarks")
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


def test_fields_are_those_that_the_engine_lists(tmp_path: Path):
    listed = tmp_path / "figures.def"
    listed.write_text("// COUNT(name): whole\n\nCOUNT(blocks)\nFIGURE(seconds)  // of one\n\n#undef COUNT\n")

    @listed_in(listed, {"COUNT": int, "FIGURE": float})
    class Figures:
        name: str

    assert [(each.name, each.type) for each in fields(Figures)] == [
        ("name", "str"),
        ("blocks", int),
        ("seconds", float),
    ]
    with pytest.raises(UnknownNames, match=r"^warmth is in the data, but not in Figures$"):
        decode(Figures, {"name": "k", "blocks": 1, "seconds": 2.0, "warmth": 3})
    with pytest.raises(UnknownNames, match=r"^seconds is in Figures, but not in the data$"):
        decode(Figures, {"name": "k", "blocks": 1})


@pytest.mark.parametrize(("owner", "kind"), [("counters", Counters), ("profile", Profile)])
def test_code_asks_only_for_figures_that_the_engine_lists(owner: str, kind: type[Any]):
    figures = {each.name for each in fields(kind)} | set(vars(kind))
    asked = re.compile(rf"\b{owner}\.([a-z]+_\w+)\b(?!\()")
    sources = [path for root in ROOTS for path in (REPOSITORY / root).rglob("*.py")]
    unknown = [
        (path, name) for path in sources for name in asked.findall(path.read_text()) if name not in figures
    ]
    assert not unknown


def test_lines_are_made_when_somebody_asks_for_them():
    line = {"file": "/k/k.cu", "line": 3, "counters": {"barriers": 2, "by_class": {}}}
    kernel = {
        **dict.fromkeys(("kernel", "mangled"), "k"),
        **dict.fromkeys(("launches", "failed", "modelled_seconds", "wall_seconds"), 1),
        "counters": {"by_class": {}},
    }
    whole = Report.from_dict({"kernels": [{**kernel, "lines": [line]}]})
    short = shorten_places(whole, Path("/k"))
    carried = pickle.loads(pickle.dumps(short))
    assert [one.kernels[0].lines[0].file for one in (short, carried, whole)] == ["k.cu", "k.cu", "/k/k.cu"]
    assert carried == short
    assert short.to_dict()["kernels"][0]["lines"][0]["counters"]["barriers"] == 2
    wrong = Report.from_dict({"kernels": [{**kernel, "lines": [{**line, "warmth": 1}]}]})
    with pytest.raises(UnknownNames, match=r"^warmth is in the data, but not in LineCounters$"):
        _ = wrong.kernels[0].lines
    with pytest.raises(AttributeError, match="KernelTotals has no warmth"):
        _ = whole.kernels[0].warmth
