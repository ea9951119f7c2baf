"""The survey of foreign programs: which folders are programs, and what the outcomes are called."""

from __future__ import annotations

import pytest

from tests.public.outcomes import Outcome, judge_build, judge_run, table
from tests.public.programs import find_programs


def test_programs_are_found_by_their_build_files(tmp_path):
    files = {
        "made/main.cu": "int main() {}",
        "made/Makefile": "run: main\n\t./main 10\n",
        "cmake/main.cu": "int main() {}",
        "cmake/CMakeLists.txt": "",
        "plain/main.cu": "int main() {}",
        "plain/part.cu": "",
        "several/one.cu": "int main() {}",
        "several/two.cu": "int main(int, char**) {}",
        "host/main.cpp": "int main() {}",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    programs = {program.name: program for program in find_programs(tmp_path, tmp_path, {"plain": "5 6"})}
    assert list(programs) == ["cmake", "made", "plain", "several/one.cu", "several/two.cu"]
    runs = {name: list(program.run or ()) for name, program in programs.items()}
    assert runs["made"][-1] == "run"
    assert programs["cmake"].build[0][0] == "cmake"
    assert runs["plain"][-3:] == ["--", "5", "6"]
    assert "-rdc=true" in runs["plain"]


FINDING = {"kind": "race", "message": "two threads meet", "file": "/x/main.cu", "line": 7}
REFUSAL = {"messages": ["cudaFoo is not supported here and returns cudaErrorNotSupported"]}


@pytest.mark.parametrize(
    ("status", "output", "report", "expected"),
    [
        (0, "PASS", {}, ("runs clean", "")),
        (0, "PASS", {"findings": [FINDING]}, ("findings", "1 race: main.cu:7 two threads meet")),
        (1, "failed", REFUSAL, ("refused", "cudaFoo")),
        (1, "wrong result", {}, ("fails", "status 1: wrong result")),
        (None, "step 3", {}, ("out of time", "step 3")),
        (125, "device: x\nmain.cu:3: error: no such thing", {}, ("does not build", "error: no such thing")),
    ],
)
def test_an_outcome_is_one_word_and_the_reason(status, output, report, expected):
    assert judge_run(status, output, report) == expected


def test_the_table_counts_and_lists():
    text = table([Outcome("a", "runs clean"), Outcome("b", *judge_build("x.cu:1: error: a|b"), 2.0)])
    assert "| runs clean | 1 |" in text
    assert "| b | does not build | error: a\\|b | 2.0 | 0.0 |" in text
