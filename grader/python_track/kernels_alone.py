"""The Triton kernels of a Python file without the code around them, as text that a process of ours may run.

Triton's interpreter runs a kernel as Python. A process that shall show what kernels do, and nothing else,
must therefore run nothing but kernels: what this module lets through can compute, load and store, and no
more.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from grader.python_track.triton_source import is_jit

# What a kernel may call beside Triton's functions, its own parameters' methods and other kernels.
_BUILTINS = frozenset({"abs", "bool", "float", "int", "len", "max", "min", "print", "range", "tuple"})
_VALUES = frozenset(
    """
    T abs argmax argmin associative_scan atomic_add broadcast_to cast cumprod cumsum dtype element_ty
    expand_dims flip gather histogram int_bitwidth is_block is_bool is_floating is_fp8 is_int is_ptr load
    logical_and logical_or max min ndim numel permute primitive_bitwidth ravel reduce reshape scalar shape
    sigmoid softmax sort split store sum to trans type value view xor_sum
    """.split()
)
_FORBIDDEN = (
    *(
        ast.AsyncFor,
        ast.AsyncFunctionDef,
        ast.AsyncWith,
        ast.Await,
        ast.ClassDef,
        ast.Delete,
        ast.FunctionDef,
    ),
    *(ast.Global, ast.Import, ast.ImportFrom, ast.Lambda, ast.Nonlocal, ast.Raise, ast.Try, ast.TryStar),
    *(ast.With, ast.Yield, ast.YieldFrom, ast.DictComp, ast.GeneratorExp, ast.SetComp),
)
_TRITON = "triton"
_OF_TRITON = ("cdiv", "jit", "language", "next_power_of_2")


class NoKernel(Exception):
    """A kernel holds what no kernel needs; `line` is where."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"a Triton kernel cannot have {what}")
        self.line = line


def kernels_alone(source: str) -> str:
    """The imports of Triton, the constants and the kernels. Raises NoKernel, or the file's SyntaxError."""
    tree = ast.parse(source)
    kept: list[ast.stmt] = []
    modules: set[str] = set()
    constants: set[str] = set()
    kernels = [node for node in tree.body if isinstance(node, ast.FunctionDef) and _is_kernel(node)]
    names = {kernel.name for kernel in kernels}
    for node in _outside_of_tries(tree.body):
        if (imported := _import_of_triton(node)) is not None:
            modules |= imported
            kept.append(node)
        elif (name := _constant(node, modules | constants)) is not None:
            constants.add(name)
            kept.append(node)
    for kernel in kernels:
        _check_kernel(kernel, modules, modules | constants | names | _BUILTINS)
        kept.append(_plain(kernel, modules | constants))
    first = ast.parse(f"import {_TRITON}\nimport {_TRITON}.language as tl").body
    return ast.unparse(ast.Module([*first, *kept], []))


def _outside_of_tries(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """An import of Triton may be tried."""
    for node in body:
        yield from (_outside_of_tries(node.body) if isinstance(node, ast.Try) else [node])


def _is_kernel(node: ast.FunctionDef) -> bool:
    return any(map(is_jit, node.decorator_list))


def _import_of_triton(node: ast.stmt) -> set[str] | None:
    """The names that an import of Triton's own modules binds; None for any other statement."""
    if isinstance(node, ast.Import):
        ours = all(alias.name == _TRITON or _is_language(alias.name) for alias in node.names)
        return {alias.asname or _TRITON for alias in node.names} if ours else None
    if not isinstance(node, ast.ImportFrom) or node.level or node.module is None:
        return None
    if _is_language(node.module):
        return {alias.asname or alias.name for alias in node.names}
    if node.module == _TRITON:
        node.names = [alias for alias in node.names if alias.name in _OF_TRITON]
        return {alias.asname or alias.name for alias in node.names} if node.names else None
    return None


def _is_language(module: str) -> bool:
    return module == f"{_TRITON}.language" or module.startswith(f"{_TRITON}.language.")


def _constant(node: ast.stmt, known: set[str]) -> str | None:
    """The name of a number that is computed from numbers, as it may stand in tl.constexpr(…)."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        target, value = node.target, node.value
        node.annotation = ast.Constant(None)
    else:
        return None
    return target.id if isinstance(target, ast.Name) and _is_number(value, known) else None


def _is_number(value: ast.expr, known: set[str]) -> bool:
    """A number, a type of Triton, or what is computed of them: tl.constexpr(2 * TILE), float("inf")."""
    if isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords:
        called = value.func
        if isinstance(called, ast.Attribute) and called.attr == "constexpr":
            return _is_number(value.args[0], known)
        return isinstance(called, ast.Name) and called.id in ("float", "int") and _is_plain(value.args[0])
    parts = list(ast.walk(value))
    allowed = (
        ast.Constant,
        ast.BinOp,
        ast.UnaryOp,
        ast.operator,
        ast.unaryop,
        ast.Name,
        ast.Load,
        ast.Attribute,
    )
    plain = all(isinstance(part, allowed) for part in parts)
    bound = all(part.id in known for part in parts if isinstance(part, ast.Name))
    public = all(not part.attr.startswith("_") for part in parts if isinstance(part, ast.Attribute))
    small = all(not isinstance(part, ast.Pow | ast.LShift) for part in parts) or len(parts) < 12
    return plain and bound and public and small


def _is_plain(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) or (isinstance(value, ast.UnaryOp) and _is_plain(value.operand))


def _check_kernel(kernel: ast.FunctionDef, modules: set[str], known: frozenset[str] | set[str]) -> None:
    given = {argument.arg for argument in _parameters(kernel)}
    inside = [part for statement in kernel.body for part in ast.walk(statement)]
    made = {part.id for part in inside if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    for part in inside:
        line = getattr(part, "lineno", kernel.lineno)
        if isinstance(part, _FORBIDDEN):
            raise NoKernel(line, f"{type(part).__name__.lower()} statements")
        if isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store):
            raise NoKernel(line, "stores by an index: use tl.store")
        if isinstance(part, ast.JoinedStr):
            part.values = []  # a message
        if isinstance(part, ast.Name) and (part.id.startswith("__") or part.id not in known | given | made):
            raise NoKernel(
                line, f"the name {part.id}: only its parameters, numbers and Triton are known here"
            )
        if isinstance(part, ast.Attribute):
            _check_attribute(part, modules, line)
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and "\n" in part.value:
            part.value = ""  # a long comment


def _parameters(kernel: ast.FunctionDef) -> Iterator[ast.arg]:
    listed = kernel.args
    if listed.vararg or listed.kwarg:
        raise NoKernel(kernel.lineno, "parameters without a name")
    yield from (*listed.posonlyargs, *listed.args, *listed.kwonlyargs)


def _check_attribute(part: ast.Attribute, modules: set[str], line: int) -> None:
    root: ast.expr = part
    while isinstance(root, ast.Attribute):
        root = root.value
    of_triton = isinstance(root, ast.Name) and root.id in modules
    if part.attr.startswith("_") or not (of_triton or part.attr in _VALUES):
        raise NoKernel(line, f".{part.attr}")


def _plain(kernel: ast.FunctionDef, known: set[str]) -> ast.FunctionDef:
    """With triton.jit as its only decorator and without annotations but constexpr."""
    for argument in _parameters(kernel):
        constant = argument.annotation is not None and "constexpr" in ast.unparse(argument.annotation)
        # Spelled so, since the interpreter reads it as text.
        argument.annotation = ast.parse("tl.constexpr", mode="eval").body if constant else None
    for default in (*kernel.args.defaults, *kernel.args.kw_defaults):
        if default is not None and not _is_number(default, known):
            raise NoKernel(kernel.lineno, "defaults that are not numbers")
    kernel.decorator_list = [ast.parse("triton.jit", mode="eval").body]
    kernel.returns = None
    return kernel
