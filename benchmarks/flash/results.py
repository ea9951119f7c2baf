"""Where the figures of attention are stored, and how to find them in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks import DATA

FOLDER = DATA / "flash"
Found = Mapping[str, Any]  # a result, one of its shapes, or a way


def shapes_of(result: Found, **wanted: object) -> list[Found]:
    """The shapes with these sizes, as in shapes_of(result, head_dim=64, causal=False)."""
    return [
        shape for shape in result["shapes"] if all(shape[name] == value for name, value in wanted.items())
    ]


def way_of(shape: Found, name: str) -> Found | None:
    """None where it was left out."""
    return next((way for way in shape["ways"] if way["name"] == name), None)


def names_of(shapes: list[Found]) -> list[str]:
    """The names of all kernels that any of them has, in the order of the file."""
    return list(dict.fromkeys(way["name"] for shape in shapes for way in shape["ways"]))
