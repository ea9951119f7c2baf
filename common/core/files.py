"""Files that appear whole or not at all: a reader never meets half of one, whoever is killed."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

PARTIAL = ".new-"  # how the names of files begin that are being written


def write_whole(path: Path, text: str, *, private: bool = False) -> None:
    """Write beside `path` first, then put it in its place. The folder is made if it is not there. What is
    `private` nobody else may read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{PARTIAL}{secrets.token_hex(8)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def write_json(path: Path, data: Any, *, private: bool = False) -> None:
    """For people and programs alike: one space of indentation, and a line's end at the end."""
    write_whole(path, json.dumps(data, indent=1) + "\n", private=private)
