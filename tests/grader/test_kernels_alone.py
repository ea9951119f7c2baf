"""Of a Python file only the Triton kernels reach the process that shows what kernels do, and they can
compute, load and store, and no more."""

from __future__ import annotations

import pytest

from grader.python_track.kernels_alone import NoKernel, kernels_alone

FILE = '''
import os
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

TILE = 4 * 256
WIDE: int = TILE * 2
MASK = tl.constexpr(15)
PATH = os.getcwd()


def host(x):
    return os.system(x)


@triton.autotune(configs=[], key=[])
@triton.jit
def rows(x, y, n, SIZE: tl.constexpr = 64):
    """A long
    def rows(x): __import__("os")
    comment."""
    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    values = tl.load(x + at, mask=at < n).to(tl.float32)
    tl.store(y + at, helper(values) & MASK, mask=at < n)


@triton.jit
def helper(value):
    return tl.math.abs(value) + libdevice.sqrt(value)
'''


def test_kernels_constants_and_imports_of_triton_are_kept():
    text = kernels_alone(FILE)
    for kept in ("def rows(x, y, n, SIZE: tl.constexpr=64)", "def helper(value)", "TILE = 4 * 256", "MASK ="):
        assert kept in text
    assert text.count("@triton.jit") == 2


def test_nothing_else_is():
    text = kernels_alone(FILE)
    for dropped in ("import os", "torch", "PATH", "system", "autotune", "__import__"):
        assert dropped not in text


KERNEL = """from triton.runtime.interpreter import np
import triton
import triton.language as tl
@triton.jit
def kernel(x, n):
    {}
"""
ESCAPES = {
    "an import": "import os",
    "a module of the file": "os.system('true')",
    "a builtin": "open('/etc/passwd')",
    "an attribute of a class": "y = x.__class__",
    "a field of a value": "y = x.handle",
    "a lambda": "y = (lambda: 1)()",
    "a generator": "y = sum(i for i in range(3))",
    "a function": "def inner(): pass",
    "a class": "class Inner: pass",
    "a global": "global x",
    "a name with an underscore": "y = __builtins__",
    "an exception": "raise ValueError",
    "a store that is none of Triton's": "x[0] = n",
    "what Triton itself imports": "y = np.load(n)",
}


@pytest.mark.parametrize("name", ESCAPES)
def test_what_no_kernel_needs_is_refused_with_its_line(name: str):
    with pytest.raises(NoKernel) as refused:
        kernels_alone(KERNEL.format(ESCAPES[name]))
    assert refused.value.line == 6


HONEST = {
    "a helper with an underscore": ("_twice(x)", "@triton.jit\ndef _twice(x):\n    return x + x\n"),
    "a loop that needs no number": ("for _ in tl.static_range(3): x += 1", ""),
    "infinity": ("y = x + LEAST", 'LEAST = tl.constexpr(float("-inf"))\n'),
    "a type": ("y = x.to(KIND)", "KIND = tl.constexpr(tl.int32)\n"),
    "a message": ("tl.static_assert(True, f'{x} is wrong')", ""),
    "a type's width": ("y = tl.float32.primitive_bitwidth", ""),
}


@pytest.mark.parametrize("name", HONEST)
def test_what_kernels_need_is_kept(name: str):
    statement, before = HONEST[name]
    text = KERNEL.format(statement).replace("@triton.jit\ndef kernel", f"{before}@triton.jit\ndef kernel")
    assert "def kernel(x, n):" in kernels_alone(text)


def test_triton_may_be_tried_and_numbers_may_be_defaults():
    text = KERNEL.format("y = x").replace(
        "import triton\n", "try:\n    import triton\nexcept ImportError:\n    pass\n"
    )
    text = text.replace("kernel(x, n)", "kernel(x, n=-1, SIZE: tl.constexpr = TILE)")
    assert "n=-1, SIZE: tl.constexpr=TILE" in kernels_alone(text.replace("@triton", "TILE = 64\n@triton"))
