"""Which launches begin, and with which error the others are refused: as an H200 answered."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import pytest

from benchmarks.virtual_gpu.limits.answers import PROGRAM, Answers, differences, parse, recorded
from common.build.program import Target, build_program
from common.virtual_gpu.session import run_program

# Where the virtual GPU answers otherwise, on purpose: docs/virtual-gpu.md, Limits. By group, what questions
# begin with.
EXCEPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "ptxas alone knows a kernel's registers, and a program by itself does not ask it": {
        "shapes": ("1024 threads with over 120 registers", "maxThreadsPerBlock with over 120 registers"),
        "graphs": ("graph with 1024 threads of over 120 registers",),
    },
    "refused: what clusters fit on a device, and cooperative launches of them": {
        "clusters_with_much": ("clusters of", "the largest cluster"),
        "attributes": ("cooperative 1, clusters of 2", "cooperative 5, clusters of 2"),
    },
    "a texture has elements, and its memory is there": {
        "textures": ("linear texture of", "pitched texture, pitch below its width"),
    },
    "the printf buffer has 1 MiB, and its size may change at any time": {
        "printing": ("printf buffer", "a printf buffer after a launch that prints"),
    },
    "what no kernel may use is found when a kernel that uses it is launched, not when its text is loaded": {
        "texts": ("an unknown instruction", "an unknown function", "wgmma for sm_90"),
        "barrier_16": ("barrier 16",),
        "barrier_of_33": ("barrier of 33 threads",),
    },
    "refused when it is launched, as code that nvcc has compiled is on a GPU, too": {
        "texts": ("512 KB of local memory", "1 MB of", "16 MB of", "1 GB of"),
    },
    "ptxas leaves out what nothing reads": {
        "texts": ("an unknown variable", "static shared of 48 KB + 1"),
    },
    "a warp alone may do what is meant for four": {"texts": ("wgmma for sm_90a",)},
    "calls may be nested more deeply than a stack of 1,024 bytes allows": {
        "recursion_8": ("calls 8 deep",),
        "recursion_100": ("calls 100 deep",),
    },
}
THEIRS = recorded()


@cache
def program() -> Path:
    built = build_program([PROGRAM], Target.virtual("90a"), host_optimisation="-O0")
    return built.path


def ours(group: str) -> Answers:
    ran = run_program(program(), [group], timeout=120, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return parse(ran.stdout)


def is_exception(group: str, question: str) -> bool:
    return any(question.startswith(known.get(group, ())) for known in EXCEPTIONS.values())


@pytest.mark.parametrize("group", THEIRS)
def test_a_launch_begins_here_where_it_begins_on_an_h200(group: str):
    found = differences(THEIRS[group], ours(group).get(group, []))
    assert {question: said for question, said in found.items() if not is_exception(group, question)} == {}


def test_each_exception_is_about_a_question_that_was_asked():
    asked = {(group, question) for group, answers in THEIRS.items() for question, _ in answers}
    for groups in EXCEPTIONS.values():
        for group, beginnings in groups.items():
            for beginning in beginnings:
                assert any(name == group and question.startswith(beginning) for name, question in asked)
