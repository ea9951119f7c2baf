"""The line of an exercise's files where a field of its `Exercise` is written, followed through names."""

from __future__ import annotations

import ast
import re
from pathlib import Path

_PART = re.compile(r"(\w+)|\[(\d+)\]")
_MOST_NAMES = 10


def line_of(file: Path, field: str) -> str:
    """ "FILE:LINE" of a field such as "targets[1].passing", or of the nearest thing around it."""
    place = _Place(file)
    if (call := place.call("Exercise")) is None:
        return f"{file}:1"
    node: ast.AST = call
    best = f"{place.file}:{call.lineno}"
    for match in _PART.finditer(field):
        found = place.element(node, int(match[2])) if match[2] else place.keyword(node, match[1])
        if found is None:
            break
        best = f"{place.file}:{found.lineno}"
        node = place.followed(found.value if isinstance(found, ast.keyword) else found)
    return best


class _Place:
    """A file, and the one that a name led to."""

    def __init__(self, file: Path) -> None:
        self._open(file)

    def _open(self, file: Path) -> None:
        self.file, self._tree = file, ast.parse(file.read_bytes())

    def call(self, name: str) -> ast.Call | None:
        calls = (node for node in ast.walk(self._tree) if isinstance(node, ast.Call))
        return next((call for call in calls if _called(call) == name), None)

    def keyword(self, node: ast.AST, name: str) -> ast.keyword | None:
        keywords = node.keywords if isinstance(node, ast.Call) else []
        return next((one for one in keywords if one.arg == name), None)

    def element(self, node: ast.AST, number: int) -> ast.expr | None:
        """None where elements are not written one by one."""
        elements = node.elts if isinstance(node, ast.Tuple | ast.List) else []
        plain = not any(isinstance(one, ast.Starred) for one in elements[: number + 1])
        return elements[number] if plain and number < len(elements) else None

    def followed(self, node: ast.expr) -> ast.expr:
        """What a name stands for, if it is assigned in this file or imported from one beside it."""
        for _ in range(_MOST_NAMES):
            if not isinstance(node, ast.Name) or (value := self._value(node.id)) is None:
                return node
            node = value
        return node

    def _value(self, name: str) -> ast.expr | None:
        for statement in self._tree.body:
            targets = statement.targets if isinstance(statement, ast.Assign) else []
            if isinstance(statement, ast.AnnAssign):
                targets = [statement.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                value: ast.expr | None = statement.value  # type: ignore[attr-defined]
                return value
            if isinstance(statement, ast.ImportFrom) and statement.level == 1 and statement.module:
                for alias in statement.names:
                    beside = self.file.parent / f"{statement.module}.py"
                    if (alias.asname or alias.name) == name and beside.is_file():
                        self._open(beside)
                        return self._value(alias.name)
        return None


def _called(call: ast.Call) -> str:
    function = call.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
