"""Seeds: one secret per grading, and one seed derived from it for every phase and case."""

from __future__ import annotations

import hashlib
import secrets


def fresh() -> str:
    return secrets.token_hex(16)


def derive(secret: str, *parts: object) -> str:
    """A seed from which neither the secret nor other seeds can be computed."""
    return hashlib.sha256("/".join((secret, *map(str, parts))).encode()).hexdigest()
