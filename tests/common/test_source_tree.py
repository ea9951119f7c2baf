"""Hashes of a folder of sources: right after every change, and not computed again without one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from common.build.engine import source_tree
from common.build.engine.source_tree import hashed_sources

ENDINGS = (".cpp", ".h")
LONG_AGO = 1_600_000_000


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    for name in ("main.cpp", "parts/one.h", "parts/two.cpp", "notes.txt"):
        write(tmp_path / name, f"// {name}")
    return tmp_path


def write(file: Path, text: str, changed: int = LONG_AGO) -> None:
    file.write_text(text)
    os.utime(file, (changed, changed))


def names(hashed: list[str]) -> list[str]:
    return [line.split()[0] for line in hashed]


def test_sources_are_named_as_seen_from_the_folder_and_in_order(tree: Path):
    assert names(hashed_sources(tree, ENDINGS)) == ["main.cpp", "parts/one.h", "parts/two.cpp"]
    assert hashed_sources(tree / "nowhere", ENDINGS) == []


def test_what_has_not_changed_is_not_read_again(tree: Path, monkeypatch: pytest.MonkeyPatch):
    before = hashed_sources(tree, ENDINGS)
    monkeypatch.setattr(source_tree, "hash_file", lambda path: pytest.fail(f"{path} was read again"))
    assert hashed_sources(tree, ENDINGS) == before


def test_every_change_is_seen(tree: Path):
    seen = [hashed_sources(tree, ENDINGS)]

    def has_changed() -> bool:
        seen.append(hashed_sources(tree, ENDINGS))
        return seen[-1] not in seen[:-1]

    write(tree / "parts" / "one.h", "// parts/One.h", LONG_AGO + 1)  # as long as before
    assert has_changed()
    write(tree / "parts" / "three.h", "")
    assert has_changed()
    (tree / "main.cpp").rename(tree / "program.cpp")
    assert has_changed()
    (tree / "parts" / "two.cpp").unlink()
    assert has_changed()


def test_a_change_right_after_the_last_look_is_seen(tree: Path):
    """Before the file system's clock has gone on: the file has the same size and time as it had."""
    file = tree / "main.cpp"
    file.write_text("// one")
    changed = file.stat().st_mtime_ns
    before = hashed_sources(tree, ENDINGS)
    file.write_text("// two")
    os.utime(file, ns=(changed, changed))
    assert hashed_sources(tree, ENDINGS) != before
