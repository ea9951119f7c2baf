"""An engine that came with the course is used where it fits; where it does not, one sentence says why."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from common.build.cache import Cache
from common.build.engine.build import (
    ENGINE_NAME,
    RUNTIME_NAME,
    _identity,
    build_engine,
    find_engine,
    isa_name,
)
from common.build.engine.prebuilt import MANIFEST, copy_others, store_prebuilt
from common.build.toolchain import find_nvcc
from tests.common.engine_tree import write_engine_tree


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write_engine_tree(tmp_path / "virtual_gpu")


@pytest.fixture
def prebuilt(tree: Path, tmp_path: Path) -> Path:
    """What `./course release --with-engine` leaves, of a build in another cache."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    built = build_engine(tree, cache=Cache([elsewhere]), prebuilt=None)
    folder = tmp_path / "prebuilt"
    store_prebuilt(folder, _identity(tree, find_nvcc(), isa_name()), [built.engine, built.runtime])
    return folder


@pytest.fixture
def variant(prebuilt: Path) -> Path:
    (folder,) = prebuilt.iterdir()
    return folder


def change_manifest(variant: Path, **changes: Any) -> None:
    path = variant / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_one_that_fits_is_used_and_nothing_is_compiled(tree, cache, prebuilt, variant, capfd):
    got = build_engine(tree, cache=cache, prebuilt=prebuilt)
    assert got.prebuilt
    assert got.cached
    assert got.engine.read_bytes() == (variant / ENGINE_NAME).read_bytes()
    assert got.runtime.read_bytes() == (variant / RUNTIME_NAME).read_bytes()
    assert got.engine.parent == got.runtime.parent  # where a program looks for its engine
    assert not got.engine.samefile(variant / ENGINE_NAME)  # a copy: the cache never changes with the course
    assert subprocess.run([got.engine], check=False).returncode == 0
    assert capfd.readouterr().err == ""
    assert find_engine(tree, cache=cache) == got


def test_modes_lost_in_an_archive_do_no_harm(tree, cache, prebuilt, variant):
    (variant / ENGINE_NAME).chmod(0o644)
    got = build_engine(tree, cache=cache, prebuilt=prebuilt)
    assert got.prebuilt
    assert subprocess.run([got.engine], check=False).returncode == 0


REFUSALS: dict[str, tuple[dict[str, object], str]] = {
    "an older C library": (
        {"needs": {"GLIBC": "2.999"}},
        r"it needs GLIBC 2.999 and this machine has 2\.\d+",
    ),
    "an older C++ library": (
        {"needs": {"GLIBCXX": "3.4.999"}},
        r"it needs GLIBCXX 3.4.999 and this machine has 3\.4\.\d+",
    ),
    "another CUDA": ({"cuda": "13.99"}, r"it is for CUDA release 13.99 and here it is 13\.\d+"),
    "another processor": ({"machine": "riscv64"}, "it is for processor riscv64 and here it is"),
    "other sources": ({"sources": "0" * 40}, "it was built from other sources"),
    "no list of files": ({"files": {}}, "its manifest.json cannot be read"),
}


@pytest.mark.parametrize("why", REFUSALS)
def test_one_that_does_not_fit_is_refused_and_built_from_source(why, tree, cache, prebuilt, variant, capfd):
    changes, sentence = REFUSALS[why]
    change_manifest(variant, **changes)
    got = build_engine(tree, cache=cache, prebuilt=prebuilt)
    assert not got.prebuilt
    assert not got.cached
    assert subprocess.run([got.engine], check=False).returncode == 0
    said = capfd.readouterr().err
    assert said.startswith(f"the prebuilt virtual GPU in {variant} is not used, because ")
    assert re.search(sentence + ".*: it is built from source\n", said)


@pytest.mark.parametrize("name", [ENGINE_NAME, RUNTIME_NAME])
def test_a_damaged_binary_is_refused(name, tree, cache, prebuilt, variant, capfd):
    damaged = bytearray((variant / name).read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (variant / name).write_bytes(damaged)
    assert not build_engine(tree, cache=cache, prebuilt=prebuilt).prebuilt
    assert f"because {name} is not the file that was built" in capfd.readouterr().err


def test_changed_sources_are_built_again(tree, cache, prebuilt, capfd):
    (tree / "wire.h").write_text("constexpr int kAnswer = 41;\n")
    got = build_engine(tree, cache=cache, prebuilt=prebuilt)
    assert not got.prebuilt
    assert subprocess.run([got.engine], check=False).returncode == 1
    assert "it was built from other sources" in capfd.readouterr().err


def test_an_engine_that_does_not_start_is_refused(tree, cache, tmp_path, capfd, monkeypatch):
    engine, runtime = tmp_path / ENGINE_NAME, tmp_path / RUNTIME_NAME
    engine.write_bytes(b"\x7fELF of another machine")
    runtime.write_bytes(b"")
    identity = _identity(tree, find_nvcc(), isa_name())
    folder = tmp_path / "prebuilt"
    monkeypatch.setattr("common.build.engine.prebuilt._needed_versions", lambda binary: [])
    store_prebuilt(folder, identity, [engine, runtime])
    assert not build_engine(tree, cache=cache, prebuilt=folder).prebuilt
    assert f"because {ENGINE_NAME} does not start here" in capfd.readouterr().err


def test_variants_of_other_machines_are_added_when_their_sources_are_the_same(
    tree, prebuilt, variant, tmp_path
):
    identity = _identity(tree, find_nvcc(), isa_name())
    released = tmp_path / "released"
    variant.rename(prebuilt / "another-machine")
    copy_others(prebuilt, released, identity)
    assert [path.name for path in released.iterdir()] == ["another-machine"]
    change_manifest(prebuilt / "another-machine", sources="0" * 40)
    copy_others(prebuilt, tmp_path / "released later", identity)
    assert not (tmp_path / "released later").exists()
