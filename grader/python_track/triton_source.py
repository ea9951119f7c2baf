"""Finds out, without running it, whether a Python submission has a Triton kernel and launches it."""

from __future__ import annotations

import ast

NO_KERNEL = "no Triton kernel is launched here: torch's own operations earn points for right answers alone"


def launches_a_kernel(source: str) -> bool:
    """Whether a function decorated with triton.jit gets a grid somewhere in the file."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    kernels = {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(map(is_jit, node.decorator_list))
    }
    launched = {_last_name(node.value) for node in ast.walk(tree) if isinstance(node, ast.Subscript)}
    return bool(kernels & launched)


def is_jit(decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):  # as in @triton.jit(do_not_specialize=…)
        decorator = decorator.func
    return _last_name(decorator) == "jit"


def _last_name(expression: ast.expr) -> str:
    """ "jit" of triton.jit."""
    if isinstance(expression, ast.Attribute):
        return expression.attr
    return expression.id if isinstance(expression, ast.Name) else ""
