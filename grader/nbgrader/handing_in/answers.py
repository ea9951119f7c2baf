"""Reads the answer cell of predictions as data: a literal dict, found with `ast` and never run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeGuard

VARIABLE = "predictions"
MOST_TEXT = 20_000
_LARGEST = 1e18
_MOST_EXPONENT = 64


class expression:
    """A placeholder for a value that could only be found by running the cell."""

    def __repr__(self) -> str:
        return "an expression"


@dataclass(frozen=True)
class Answers:
    """The cell's answers, or why they could not be read."""

    values: object
    problem: str = ""


def read_answers(source: str) -> Answers:
    if len(source) > MOST_TEXT:
        return Answers({}, f"the cell holds more than {MOST_TEXT:,} characters and was not read")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        line = getattr(problem, "lineno", None)
        return Answers({}, "the cell is not Python" + (f" (line {line})" if line else ""))
    given = [node.value for node in tree.body if _names_it(node)]
    if not given:
        return Answers({}, f"the cell does not assign to `{VARIABLE}`")
    if not isinstance(given[-1], ast.Dict):
        return Answers({}, f"`{VARIABLE}` is not written as a dict of names and numbers")
    found: dict[str, object] = {}
    for key, value in zip(given[-1].keys, given[-1].values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            found[key.value] = _value(value)
    return Answers(found)


def _names_it(node: ast.stmt) -> TypeGuard[ast.Assign | ast.AnnAssign]:
    """`predictions = …`, or with a type in between."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign) else targets
    return any(isinstance(target, ast.Name) and target.id == VARIABLE for target in targets)


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.Constant) and (node.value is None or node.value is ...):
        return None
    try:
        return _number(node)
    except (ValueError, ArithmeticError, RecursionError):
        return expression()


def _number(node: ast.expr) -> int | float:
    """A number, or sums, products and the like of numbers: `4096 * 8 * 128 * 2`."""
    value: object
    if isinstance(node, ast.Constant):
        value = node.value
    elif isinstance(node, ast.UnaryOp) and type(node.op) in _SIGNS:
        value = _SIGNS[type(node.op)](_number(node.operand))
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        value = _OPERATORS[type(node.op)](_number(node.left), _number(node.right))
    else:
        raise ValueError("no number")
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_LARGEST <= value <= _LARGEST:
        raise ValueError("no number, or out of range")
    return value


def _power(base: float, exponent: float) -> float:
    if abs(exponent) > _MOST_EXPONENT:
        raise ValueError("out of range")
    return base**exponent


_SIGNS: dict[type[ast.unaryop], Callable[[float], float]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: _power,
}
