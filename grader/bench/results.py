"""The file of a device's results, to which every benchmark adds its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.files import write_json


def merge(path: Path, result: Mapping[str, Any]) -> dict[str, Any]:
    """Put new results into the device's file, beside those of other exercises, and return it all."""
    try:
        before = json.loads(path.read_text()) if path.exists() else {}
        kept = before.get("exercises", {})
        # Each entry has its own date and driver; those of the file are the newest run's.
        stamp = {key: result[key] for key in ("date", "driver", "compiler") if result.get(key)}
        new = {name: {**entry, **stamp} for name, entry in result["exercises"].items()}
        merged = {**before, **result, "exercises": dict(sorted({**kept, **new}.items()))}
        write_json(path, merged)
    except (OSError, ValueError, AttributeError) as problem:
        raise CourseError(f"the results {path} cannot be written: {problem}") from problem
    return merged
