"""The device profiles that the virtual GPU can take: what is known of each card."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

PROFILES = Path(__file__).with_name("profiles.json")
DEFAULT_PROFILE = "h200"


@functools.cache
def profiles() -> dict[str, dict[str, Any]]:
    """All of them, by their names."""
    found: dict[str, dict[str, Any]] = json.loads(PROFILES.read_text())["profiles"]
    return found


def compute_capability(profile: str) -> str:
    """As the compiler spells it: "90"."""
    known = profiles()[profile]
    return f"{known['cc_major']}{known['cc_minor']}"


def card_name(profile: str) -> str:
    """As the driver names the card: "NVIDIA H200"."""
    return str(profiles()[profile]["name"])
