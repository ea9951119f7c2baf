"""Only one place asks what kind a device is: other code asks the device for what it needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from common.core.paths import REPOSITORY
from grader.records.device_info import KINDS

THE_PLACE = REPOSITORY / "grader" / "records" / "device_info.py"
PROGRAMS = [
    file
    for folder in ("common", "grader", "exercises", "benchmarks", "requirements")
    for file in (REPOSITORY / folder).rglob("*.py")
]
CONSTANTS = {"GPU", "VIRTUAL"}
CLASSES = {"GpuDevice", "VirtualDevice", "TritonDevice", "InterpretedDevice"}


def name_of(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_a_kind(node: ast.AST) -> bool:
    return name_of(node) in CONSTANTS or (isinstance(node, ast.Constant) and node.value in KINDS)


def comparisons(tree: ast.AST) -> Iterator[int]:
    """The lines that ask what kind a device is: by a constant, by a class, or as `is device.virtual`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            asked = [part for side in sides for part in ast.walk(side)]
            same = isinstance(node.ops[0], ast.Is | ast.IsNot)
            if any(map(is_a_kind, asked)) or (same and any(name_of(side) == "virtual" for side in sides)):
                yield node.lineno
        elif isinstance(node, ast.Call) and name_of(node.func) in ("isinstance", "issubclass"):
            if CLASSES & {name_of(part) for part in ast.walk(node.args[1])}:
                yield node.lineno
        elif isinstance(node, ast.MatchValue) and is_a_kind(node.value):
            yield node.value.lineno


def test_kinds_are_compared_in_one_place() -> None:
    found = {file: list(comparisons(ast.parse(file.read_text()))) for file in PROGRAMS}
    assert [file for file, lines in found.items() if lines] == [THE_PLACE]
    assert len(found[THE_PLACE]) == 1


@pytest.mark.parametrize(
    "line",
    [
        'kind == "gpu"',
        "kind != device_info.VIRTUAL",
        "kind in (GPU,)",
        "isinstance(device, GpuDevice)",
        "device is not device.virtual",
        "match kind:\n    case 'virtual': pass",
    ],
)
def test_every_way_to_compare_is_seen(line: str) -> None:
    assert list(comparisons(ast.parse(line)))


def texts(tree: ast.AST) -> Iterator[str]:
    """Every string but docstrings, which may take a card as an example."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_only_profiles_and_data_name_a_card() -> None:
    product = [file for file in PROGRAMS if file.relative_to(REPOSITORY).parts[0] in ("common", "grader")]
    named = [(file, text) for file in product for text in texts(ast.parse(file.read_text()))]
    assert [(file, text) for file, text in named if "h200" in text.lower()] == []
