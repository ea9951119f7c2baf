"""Seeds: one secret a grading, and from it one for every phase and case, so that nothing carries over."""

from __future__ import annotations

import hashlib
import secrets


def fresh() -> str:
    return secrets.token_hex(16)


def derive(secret: str, *parts: object) -> str:
    """A seed that tells nothing about the secret or about its siblings."""
    return hashlib.sha256("/".join((secret, *map(str, parts))).encode()).hexdigest()
