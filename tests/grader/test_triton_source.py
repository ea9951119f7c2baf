"""Whether a Python file launches a Triton kernel is read from it."""

from __future__ import annotations

import pytest

from grader.python_track.triton_source import launches_a_kernel
from tests.grader.stepped_exercise import FOLDER

KERNEL = "@{}\ndef copy(a, b):\n    pass\n"


@pytest.mark.parametrize(
    ("text", "launched"),
    [
        (KERNEL.format("triton.jit") + "copy[(1,)](2, 3)\n", True),
        (KERNEL.format("jit") + "run = copy[lambda meta: (1,)]\nrun(2, 3)\n", True),
        (
            KERNEL.format("triton.autotune(configs=[], key=[])\n@triton.jit(debug=True)") + "copy[1](2)\n",
            True,
        ),
        (KERNEL.format("triton.jit"), False),  # there, and never launched
        (KERNEL.format("functools.cache") + "copy[(1,)](2, 3)\n", False),
        ("# @triton.jit\nb.copy_(a)\n", False),
        ("def copy(", False),
    ],
)
def test_a_kernel_counts_when_it_is_given_a_grid(text: str, launched: bool):
    assert launches_a_kernel(text) is launched


def test_the_tests_own_files():
    assert launches_a_kernel((FOLDER / "python" / "triton_rows.py").read_text())
    assert not launches_a_kernel((FOLDER / "python" / "torch_copies.py").read_text())
