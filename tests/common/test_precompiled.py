"""Many units of one command read their standard headers once, and are what they would be without."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.build.cache import Cache
from common.build.compile import compile_units
from common.build.precompiled import Precompiled
from common.build.toolchain import find_host_compiler
from common.build.unit import Unit


def gxx_units(folder: Path, count: int, header: Path, *flags: str) -> list[Unit]:
    """Sources that compile only if `header` came before them."""
    cxx = find_host_compiler()
    command = (str(cxx.path), "-c", *flags)
    sources = [folder / f"part{n}.cpp" for n in range(count)]
    for n, source in enumerate(sources):
        source.write_text(f"int part{n}() {{ return std::string(VALUE).size(); }}\n")
    return [Unit(source, command, cxx.fingerprint, precompiled=header) for source in sources]


@pytest.fixture
def header(tmp_path) -> Path:
    path = tmp_path / "standard headers.h"
    path.write_text('#include <string>\n#define VALUE "value"\n')
    return path


def test_many_units_are_given_the_header_and_found_again_without_it(cache: Cache, tmp_path, header):
    units = gxx_units(tmp_path, 6, header)
    first = compile_units(units, cache=cache, label="building")
    assert not any(compiled.cached for compiled in first)
    header.unlink()
    again = compile_units(units, cache=cache, label="building")
    assert [compiled.path for compiled in again] == [compiled.path for compiled in first]
    assert all(compiled.cached for compiled in again)


def test_a_header_that_cannot_be_precompiled_is_read_as_text(cache: Cache, tmp_path, header):
    header.write_text(header.read_text() + "#if __INCLUDE_LEVEL__ == 0\n#error not by itself\n#endif\n")
    compiled = compile_units(gxx_units(tmp_path, 6, header), cache=cache, label="building")
    assert len(compiled) == 6


def test_only_many_units_of_the_same_command_are_worth_it(tmp_path, header):
    few, many = gxx_units(tmp_path, 2, header, "-O1"), gxx_units(tmp_path, 6, header, "-O2")
    precompiled = Precompiled([*few, *many], tmp_path)
    assert [precompiled.for_unit(unit) for unit in few] == [None, None]
    (shared,) = {precompiled.for_unit(unit) for unit in many}
    assert shared is not None
    assert shared.read_text() == header.read_text()
