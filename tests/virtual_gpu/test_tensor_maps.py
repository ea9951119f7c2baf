"""Tensor maps do here what they did on an H200, case by case, and what that refused is found."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from benchmarks.virtual_gpu.tensor_maps.cases import CRASH, PROGRAM, Answered, answers, recorded
from common.build.program import Target, build_program
from common.virtual_gpu.session import RunReport, run_program

LIMIT_SECONDS = 120.0
INVALID = "encode 1"
TILE = "t=6 s=16,4 st=64"
LINES = "m=1 s=16,7,3 st=32,224 ch=16 px=8"
PLANES = "m=1 s=8,5,4,3 st=16,80,320 ch=8 px=24"
SPACES = "m=1 s=8,3,3,3,2 st=16,48,144,432 ch=8 px=24"
# A map that a kernel has changed, and one that the host has made so: they mean the same.
MADE_ALIKE = {
    f"{TILE} box=8,2 rb=1:3 c=0,0": f"{TILE} box=8,3 c=0,0",
    f"{TILE} box=8,2 rb=0:264,1:259 c=0,0": f"{TILE} box=8,3 c=0,0",  # eight bits each
    f"{TILE} box=8,2 ra=64 c=0,0": f"{TILE} box=8,2 b=64 c=0,0",
    f"{TILE} box=8,2 rd=1:1 c=0,0": "t=6 s=16,1 st=64 box=8,2 c=0,0",
    f"{TILE} box=8,2 rt=0:103 c=0,0": "t=6 s=16,4 st=96 box=8,2 c=0,0",  # whole pieces of 16 bytes
    f"{TILE} box=8,4 rx=1:10 c=0,0": f"{TILE} box=8,4 es=1,2 c=0,0",  # three bits
    f"{TILE} box=8,2 rr=3 rd=2:2 rt=1:128 rb=2:2 c=0,0,0": "t=6 s=16,4,2 st=64,128 box=8,2,2 c=0,0,0",
    "t=11 re=7 s=8,2 st=32 box=8,2 value=0x3f801801 c=0,0": "t=11 s=8,2 st=32 box=8,2 value=0x3f801801 c=0,0",
    f"{LINES} lo=-1 up=-1 rb=0:8 c=0,0,0": "m=1 s=16,7,3 st=32,224 ch=8 px=8 lo=-1 up=-1 c=0,0,0",
    f"{LINES} lo=-1 up=-1 rb=1:255,2:256 c=0,-2,0": f"{LINES} lo=-2 up=-1 c=0,-2,0",
    f"{LINES} lo=-1 up=-1 rb=3:1,4:1 c=0,2,0": f"{LINES} lo=-1 up=0 c=0,2,0",
    f"{LINES} lo=1 up=-1 rd=1:5 rx=1:2 rt=0:64 c=0,1,0": (
        "m=1 s=16,5,3 st=64,224 es=1,2,1 ch=16 px=8 lo=1 up=-1 c=0,1,0"
    ),
    f"{PLANES} lo=-1,-2 up=-1,-2 rb=1:1,2:256,3:254,4:1 c=0,0,0,0": f"{PLANES} lo=0,-1 up=-3,0 c=0,0,0,0",
    f"{PLANES} lo=0,0 up=0,0 rr=3 rd=2:12 rt=1:80 c=0,0,0": "m=1 s=8,5,12 st=16,80 ch=8 px=24 c=0,0,0",
    # 16 bits of which the host had made twice eight: the corner is -1 * 256 + 2.
    f"{PLANES} lo=2,-1 up=-1,-1 rr=3 rd=2:3 rt=1:80 c=0,2,0": (
        "m=1 s=8,5,3 st=16,80 ch=8 px=24 lo=-254 up=-1 c=0,2,0"
    ),
    f"{SPACES} lo=-1,-1,-2 up=0,0,-1 rb=1:32,2:1,3:1,4:1 c=0,0,0,0,0": (
        f"{SPACES} lo=-1,0,0 up=0,0,0 c=0,0,0,0,0"
    ),
}
RECORDED = recorded()


@cache
def program() -> Path:
    return build_program([PROGRAM], Target.virtual("90a")).path


def asked(cases: Sequence[str], folder: Path) -> tuple[list[str], list[RunReport]]:
    """What came of the cases, and of the processes they ran in."""
    reports: list[RunReport] = []

    def run(path: Path, first: int) -> str:
        reports.append(
            run_program(
                program(),
                [str(path), str(first)],
                timeout=LIMIT_SECONDS,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        )
        return reports[-1].stdout

    return list(answers(run, cases, folder)), reports


def unlike(wanted: Sequence[Answered], got: Sequence[str]) -> list[tuple[str, str, str]]:
    pairs = zip(wanted, got, strict=True)
    # Where the driver ends the process, there is an error here.
    return [
        (one.case, one.answer, answer)
        for one, answer in pairs
        if answer != (INVALID if one.answer == CRASH else one.answer)
    ]


def test_every_copy_moves_the_bytes_that_the_gpu_moved(tmp_path):
    fine = [one for one in RECORDED if not one.fails]
    got, reports = asked([one.counted for one in fine], tmp_path)
    assert unlike(fine, got) == []
    (ran,) = reports
    # What ran and should not have: offsets that have no room, and corners replaced in place of a box.
    known = ("has the offset", "a tensor map of the im2col kind")
    said = [finding.message for finding in ran.report.findings]
    assert [message for message in said if not any(words in message for words in known)] == []


def test_every_copy_that_the_gpu_refused_ends_with_its_error_and_a_finding(tmp_path):
    failing = [one for one in RECORDED if one.fails]
    got, reports = asked([one.case + " expect=16" for one in failing], tmp_path)
    assert unlike(failing, got) == []
    assert len(reports) == len(failing)
    for one, ran in zip(failing, reports, strict=True):
        # Who overwrote corners of a bounding box before the copy hears of that first.
        assert {finding.kind for finding in ran.report.findings} == {"memory"}, one.case
        assert all(finding.advice for finding in ran.report.findings), one.case


def loaded_bytes(case: str) -> int:
    """Of a map that the host has made."""
    words = dict(word.split("=") for word in case.split())
    if "m" in words:
        return int(words["ch"]) * 2 * int(words["px"])
    *outer, element = *map(int, words["box"].split(",")), 4 if words["t"] == "11" else 2
    steps = map(int, words.get("es", ",".join("1" * (len(outer)))).split(","))
    return element * math.prod(-(-extent // step) for extent, step in zip(outer, steps, strict=True))


@pytest.mark.parametrize(("replaced", "made"), MADE_ALIKE.items())
def test_a_map_that_a_kernel_changed_means_what_the_host_would_have_made(replaced, made, tmp_path):
    expected = f" expect={loaded_bytes(made)}"
    (by_kernel, by_host), _ = asked([replaced + expected, made + expected], tmp_path)
    assert by_kernel == by_host
    assert "bytes:" in by_host


@pytest.mark.parametrize(
    ("case", "is_found"),
    [
        (f"{LINES} lo=-1 up=-1 rb=1:255 c=0,0,0 expect=256", True),
        (f"{LINES} lo=-1 up=-1 rb=0:8 c=0,0,0 expect=128", False),
        (f"{PLANES} lo=-1,-1 up=0,0 rr=3 c=0,0,0 expect=384", True),
        (f"{PLANES} lo=0,0 up=0,0 rr=3 c=0,0,0 expect=384", False),
        (f"{TILE} box=8,2 rb=1:3 c=0,0 expect=48", False),
    ],
)
def test_corners_that_a_kernel_replaces_are_found(case, is_found, tmp_path):
    (answer,), (ran,) = asked([case], tmp_path)
    assert "bytes:" in answer
    said = [
        finding.message
        for finding in ran.report.findings
        if "tensor map of the im2col kind" in finding.message
    ]
    assert bool(said) == is_found, said
