"""What compilers say comes back as data that points at the user's own file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.build.diagnostics import Diagnostic, parse_diagnostics, place_ptx_diagnostics
from common.build.errors import BuildError
from common.build.program import Target, build_program

NAMES = {Path("/tmp/x/kernel.cu"): "kernel.cu"}


def only(log: str) -> Diagnostic:
    [diagnostic] = parse_diagnostics(log, NAMES)
    return diagnostic


def test_an_error_of_nvccs_front_end_keeps_its_explanation():
    diagnostic = only(
        '/tmp/x/kernel.cu(3): error: no instance of function "atomicAdd" matches the argument list\n'
        "            argument types are: (bool *, int)\n"
        "      atomicAdd(flag, 1);\n"
        "      ^\n\n"
        '1 error detected in the compilation of "/tmp/x/kernel.cu".\n'
    )
    assert (diagnostic.severity, diagnostic.file, diagnostic.line) == ("error", "kernel.cu", 3)
    assert diagnostic.context == ("argument types are: (bool *, int)",)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            '/tmp/x/kernel.cu(1): warning #177-D: variable "a" was declared but never referenced',
            ("warning", "kernel.cu", 1, None, 'variable "a" was declared but never referenced'),
        ),
        (
            "/tmp/x/kernel.cu:2:10: fatal error: nothere.h: No such file or directory",
            ("error", "kernel.cu", 2, 10, "nothere.h: No such file or directory"),
        ),
        ("nvcc fatal   : Unknown option '-bogus'", ("error", None, None, None, "Unknown option '-bogus'")),
        (
            "ptxas error   : Entry function '_Z1kPf' uses too much shared data (0x13880 bytes, 0xc000 max)",
            (
                "error",
                None,
                None,
                None,
                "Entry function '_Z1kPf' uses too much shared data (0x13880 bytes, 0xc000 max)",
            ),
        ),
        (
            "/tmp/x/kernel.cu:3: undefined reference to `missing'",
            ("error", "kernel.cu", 3, None, "undefined reference to `missing'"),
        ),
        (
            "/tmp/x/kernel.cu:3:(.text+0x9): undefined reference to `missing'",
            ("error", "kernel.cu", 3, None, "undefined reference to `missing'"),
        ),
        (
            "/usr/bin/ld: main.cpp:(.text+0x8): undefined reference to `cudaMalloc'",
            ("error", "main.cpp", None, None, "undefined reference to `cudaMalloc'"),
        ),
        ("/usr/bin/ld: cannot find -lnothere", ("error", None, None, None, "cannot find -lnothere")),
    ],
)
def test_every_tools_form_is_understood(line, expected):
    found = only(line)
    assert (found.severity, found.file, found.line, found.column, found.message) == expected


@pytest.mark.parametrize(
    "line",
    ["collect2: error: ld returned 1 exit status", "ptxas fatal   : Ptx assembly aborted due to errors"],
)
def test_a_tool_that_only_repeats_that_it_failed_is_not_quoted(line):
    assert parse_diagnostics(line, NAMES) == []


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ('identifier "__syncthread" is undefined', "did you mean __syncthreads?"),
        ('identifier "printf" is undefined', "printf needs #include <cstdio>"),
        ('identifier "__pipeline_commit" is undefined', "__pipeline_commit needs #include <cuda_pipeline.h>"),
        ('expected a ";"', "look at the end of the line before: a ; is usually missing there"),
    ],
)
def test_the_commonest_mistakes_get_a_hint(message, hint):
    assert only(f"/tmp/x/kernel.cu(3): error: {message}").hint == hint


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ('identifier "idx" is undefined', "declares idx"),
        ('identifier "f" is undefined in device code', "mark it __device__"),
        ('expected a ")"', "never closed"),
        ("expected an expression", "missing or one too many"),
        ("too few arguments in function call", "where the function or the kernel is defined"),
        ('argument of type "float *" is incompatible with parameter of type "int *"', "wants int * and gets"),
        ('a value of type "int *" cannot be used to initialize an entity of type "int"', "an address"),
        ("expression must be a modifiable lvalue", "const"),
        ("a __global__ function call must be configured", "<<<blocks, threads"),
        ("a host function call cannot be configured", "__global__"),
        ("a __global__ function must have a void return type", "returns nothing"),
        ("a variable length array cannot have static storage duration", "extern __shared__"),
        ('incomplete type "char []" is not allowed', "extern __shared__"),
        ("expression must have a constant value", "constexpr"),
        ('no instance of function template "k" matches the argument list', "compare each argument"),
        ('class "uint3" has no member "w"', "x, y and z"),
        ('namespace "std" has no member "vector"', "#include <vector>"),
        ('namespace "std" has no member "sort"', "#include <algorithm>"),
        ('namespace "std" has no member "barrier"', "the header that has std::barrier"),
        ('"a" has already been declared in the current scope', "rename one"),
        ("expression must be a pointer to a complete object type", "void* has no elements"),
        ('missing return statement at end of non-void function "f"', "cudaGetLastError"),
    ],
)
def test_what_a_student_meets_has_words_of_help(message, words):
    assert words in (only(f"/tmp/x/kernel.cu(3): error: {message}").hint or "")


def test_a_complaint_about_ptx_moves_to_the_source_line_it_came_from():
    ptx = '.file 1 "/tmp/x/kernel.cu"\n.entry k()\n{\n.loc 1 7 3\nbogus.op;\n}\n.entry l()\n{\nbad;\n'
    log = (
        "ptxas /tmp/a.ptx, line 5; error   : Unknown modifier\n"
        "ptxas /tmp/a.ptx, line 9; error   : No name of any known instruction\n"
    )
    first, second = place_ptx_diagnostics(parse_diagnostics(log, NAMES), ptx, NAMES)
    assert (first.file, first.line) == ("kernel.cu", 7)
    assert (second.file, second.line) == (None, None), "without a mark, no line is better than a wrong one"


MISTAKES = {
    "missing semicolon": (
        "__global__ void k(int* a) {\n  int i = 1\n  a[i] = 1;\n}\nint main() {}\n",
        3,
        'expected a ";"',
    ),
    "misspelt name": (
        "#include <cstdio>\nint main() {\n  int* p = nullptr;\n  cudaMaloc(&p, 4);\n}\n",
        4,
        "cudaMaloc",
    ),
    "device function on the host": (
        "__device__ int f() { return 1; }\nint main() {\n  return f();\n}\n",
        3,
        "calling a __device__ function",
    ),
    "unknown instruction": (
        '__global__ void k() {\n  asm volatile("bogus.op;");\n}\nint main() {}\n',
        2,
        "bogus",
    ),
    "bracket that is never closed": (
        "__global__ void k(int* a) {\n  if (a) {\n    a[0] = 1;\n}\n",
        4,
        'expected a "}"',
    ),
    "undefined function": (
        "int other();\nint main() {\n  return other();\n}\n",
        3,
        "undefined reference to `other()'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_real_mistake_points_at_the_users_line(cache, tmp_path, monkeypatch, name):
    text, line, message = MISTAKES[name]
    monkeypatch.chdir(tmp_path)
    Path("mine.cu").write_text(text)
    with pytest.raises(BuildError) as caught:
        build_program([Path("mine.cu")], Target.gpu("80"), cache=cache)
    [diagnostic, *_] = [d for d in caught.value.diagnostics if message in d.message]
    assert (diagnostic.file, diagnostic.line) == ("mine.cu", line)
    assert f"mine.cu:{line}" in str(caught.value)
