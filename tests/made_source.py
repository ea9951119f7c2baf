"""Sources that tests write, at paths where the next run of the tests finds their builds in the cache."""

from __future__ import annotations

from pathlib import Path

from common.build.cache import default_cache
from common.build.compile import make_entry
from common.build.unit import digest


def made_source(name: str, text: str) -> Path:
    """A file with this name and text, in the cache itself: a build is known by its source's whole path."""

    def write(folder: Path) -> None:
        (folder / name).write_text(text)

    return make_entry(digest("made source", name, text), write, default_cache()).path / name
