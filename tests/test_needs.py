"""Markers say what tests need: the table names tests that exist, and the guard sees what is started."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY
from tests import needs

PLACES = [place for places in needs.NEEDS.values() for place in places]


@pytest.mark.parametrize("place", PLACES)
def test_a_row_of_the_table_names_tests_that_exist(place: str) -> None:
    path, _, name = place.partition("::")
    if path == "bare_roots" and not (needs.TESTS / path).exists():
        pytest.skip("tests/bare_roots is not there")
    assert (needs.TESTS / path).exists()
    assert f"def {name}" in (needs.TESTS / path).read_text() if name else True


def test_the_markers_are_those_that_pytest_knows() -> None:
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
    assert [line.partition(":")[0] for line in settings["markers"]] == list(needs.MARKERS)
    assert sorted(needs.NEEDS) == sorted(needs.MARKERS)


@pytest.mark.parametrize(
    ("command", "need"),
    [
        (["ninja", "all"], "'compiler'"),
        (["vgpu-engine"], "'engine'"),
        ([sys.executable, "-c", "import subprocess; subprocess.run(['ninja', 'all'])"], "'compiler'"),
    ],
    ids=["a compiler", "an engine", "a compiler, by a process in between"],
)
def test_what_a_test_starts_without_a_marker_fails_it(
    command: list[str],
    need: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("ninja", "vgpu-engine"):
        (tools / name).symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    with pytest.raises(pytest.fail.Exception, match=need), needs.guarded(request.node, tmp_path):
        subprocess.run(command, check=True)


def test_asking_a_compiler_for_its_version_is_no_compiling(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    with needs.guarded(request.node, tmp_path):
        subprocess.run(["g++", "--version"], check=False, capture_output=True)
