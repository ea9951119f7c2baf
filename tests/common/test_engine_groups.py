"""The virtual GPU's files are compiled in groups: each file once, and with the flags that it needs."""

from __future__ import annotations

import re
from pathlib import Path

from common.build.engine.build import SOURCE_DIR
from common.build.engine.editors import compile_commands
from common.build.engine.groups import GROUPS, Source, grouped

ENGINE = SOURCE_DIR / "engine"


def files_of(source: Source, folder: Path) -> list[Path]:
    """The files that are compiled with `source`."""
    if source.path.is_relative_to(folder):
        return [source.path]
    return [folder / name for name in re.findall(r'^#include "(.+)"$', source.path.read_text(), re.MULTILINE)]


def test_every_file_is_compiled_once(cache):
    files = sorted(ENGINE.rglob("*.cpp"))
    compiled = [file for source in grouped(files, ENGINE, cache) for file in files_of(source, ENGINE)]
    assert sorted(compiled) == files
    assert len(grouped(files, ENGINE, cache)) <= len(GROUPS)


def test_sources_that_change_the_rounding_mode_are_a_group(cache):
    for source in grouped(sorted(ENGINE.rglob("*.cpp")), ENGINE, cache):
        names = [file.name for file in files_of(source, ENGINE)]
        changing = ["-frounding-math" in source.flags] * len(names)
        assert [name.endswith("_rounding.cpp") for name in names] == changing


def test_folders_that_tests_link_alone_share_no_group(cache):
    for source in grouped(sorted(ENGINE.rglob("*.cpp")), ENGINE, cache):
        folders = {file.parent.name for file in files_of(source, ENGINE)}
        assert len(folders) == 1 or folders.isdisjoint({"ops", "ptx"})


def test_a_part_of_the_files_is_the_same_source_as_in_the_whole(cache):
    """So that a test which links one folder finds it compiled already."""
    files = sorted((ENGINE / "ptx").glob("*.cpp"))
    whole = grouped(sorted(ENGINE.rglob("*.cpp")), ENGINE, cache)
    assert set(grouped(files, ENGINE, cache)) <= set(whole)


def test_files_from_elsewhere_are_compiled_by_themselves(cache, tmp_path):
    driver = tmp_path / "ptx" / "driver.cpp"
    sources = grouped([driver, *sorted((ENGINE / "ptx").glob("*.cpp"))], ENGINE, cache)
    assert sources[-1] == Source(driver, ())
    assert len(sources) == 2


def test_a_group_includes_no_file_of_its_own_name(cache):
    """The compiler looks beside the including file first, so such a group would include itself."""
    for source in grouped(sorted(ENGINE.rglob("*.cpp")), ENGINE, cache):
        files = files_of(source, ENGINE)
        assert len(files) == 1 or source.path.name not in [file.name for file in files]


def test_an_editor_learns_of_every_file_with_the_flags_of_its_group():
    files = sorted(ENGINE.rglob("*.cpp"))
    entries = compile_commands(files, ENGINE, ["g++", "-c", "-O3"])
    assert [Path(entry["file"]) for entry in entries] == files
    for entry in entries:
        assert entry["arguments"][:3] == ["g++", "-c", "-O3"]
        assert ("-frounding-math" in entry["arguments"]) == entry["file"].endswith("_rounding.cpp")
