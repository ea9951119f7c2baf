"""Files that appear whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from common.core.files import write_json, write_whole


def test_a_file_is_there_whole_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "results.json"
    write_json(path, {"points": 1})
    write_json(path, {"points": 2})
    assert json.loads(path.read_text()) == {"points": 2}
    assert os.listdir(path.parent) == ["results.json"]


def test_what_cannot_be_written_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "text"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "half \udc80")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["text"]


def test_only_private_files_are_closed_to_others(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_whole(tmp_path / "open", "")
        write_whole(tmp_path / "closed", "", private=True)
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("open", "closed")]
    assert modes == [0o644, 0o600]
