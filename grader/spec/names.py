"""Names of exercises as people type them, and file names from names that students chose."""

from __future__ import annotations

import hashlib
import re

_ODD = re.compile(r"[^\w.@+~-]", re.ASCII)
_LONGEST = 80


def file_name(name: str) -> str:
    """A name that is safe in a path and a link. It is unique: a changed name gets a hash."""
    plain = _ODD.sub("_", name).lstrip(".-")[:_LONGEST]
    if plain == name:
        return plain
    mark = hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()[:8]
    return f"{plain or 'unnamed'}-{mark}"


def is_named(folder: str, text: str) -> bool:
    """Whether `text` names a folder such as 01_kv_store: by number ("01", "1"), by name or in full."""
    number, _, name = folder.partition("_")
    return text.strip().rstrip("/").lower() in (folder, name, number, number.lstrip("0"))
