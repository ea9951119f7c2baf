"""Calls that no kernel needs are flagged, and those of a linked libstdc++ are not."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from common.build.toolchain import find_host_compiler
from grader.building.symbols import needed_symbols, unusual_calls

GUARDED = "int f(); int g() { static const int kept = f(); return kept; }\nint f() { throw 1; }\n"
CALLS = "#include <unistd.h>\n#include <sys/syscall.h>\nlong h() { return syscall(SYS_gettid); }\n"


def library(folder: Path, text: str, *flags: str) -> Path:
    source, built = folder / "library.cpp", folder / "library.so"
    source.write_text(text)
    compiler = find_host_compiler().path
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", built, *flags], check=True)
    return built


def test_an_odd_call_is_flagged(tmp_path: Path):
    assert unusual_calls(library(tmp_path, CALLS)) == ["calls syscall, which no kernel needs"]


def test_calls_of_a_linked_libstdcxx_are_not_flagged(tmp_path: Path):
    carrying = library(tmp_path, GUARDED, "-static-libstdc++")
    if "syscall" not in needed_symbols(carrying):
        pytest.skip("this libstdc++ waits without a system call")
    assert unusual_calls(carrying) == []


def test_what_cannot_be_read_has_no_symbols(tmp_path: Path):
    empty = tmp_path / "empty.so"
    empty.write_bytes(b"")
    assert unusual_calls(empty) == []
