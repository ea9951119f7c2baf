"""What ptxas refuses of PTX although nvcc made it: more static memory than code may have. Such PTX is well
formed, so that it only shows when somebody makes machine code of it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MOST_SHARED = 48 << 10  # of a kernel and all functions it calls
MOST_CONSTANT = 64 << 10  # of a file

_VARIABLE = re.compile(
    r"^\s*(?:\.(?:visible|weak|common)\s+)*\.(?P<space>shared|const)\s+(?:\.align\s+\d+\s+)?"
    r"\.[bsuf](?P<bits>\d+)\s+(?P<name>[\w$]+)(?P<lengths>(?:\[\d+\])*)",
    re.MULTILINE,
)
_FUNCTION = re.compile(r"^\s*(?:\.(?:visible|weak)\s+)*\.(?P<kind>entry|func)\b")
_LINE = re.compile(r"^\s*\.loc\s+(?P<file>\d+)\s+(?P<line>\d+)\s+\d+\s*$")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]+)"', re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True)
class Excess:
    """Too much static memory of a kernel, by its name in PTX, or of the whole file."""

    bytes: int
    most: int
    kernel: str = ""
    file: str | None = None
    line: int | None = None


@dataclass
class _Function:
    name: str
    is_kernel: bool
    words: set[str] = field(default_factory=set)
    shared: int = 0
    place: tuple[str, int] | None = None  # the number of a file, and a line


def excesses(ptx: str) -> list[Excess]:
    """Sums without the gaps that alignment leaves, so that nothing is refused which ptxas takes."""
    sizes = {"shared": 0, "const": 0}
    for space, _, size in _variables(ptx):
        sizes[space] += size
    found: list[Excess] = []
    if sizes["shared"] > MOST_SHARED:
        found += _kernels_with_too_much(ptx)
    if sizes["const"] > MOST_CONSTANT:
        found.append(Excess(sizes["const"], MOST_CONSTANT))
    return found


def _variables(ptx: str) -> Iterator[tuple[str, str, int]]:
    """Memory, name and bytes of each variable. Dynamic shared memory is .extern, and not among them."""
    for one in _VARIABLE.finditer(ptx):
        lengths = map(int, re.findall(r"\d+", one["lengths"]))
        yield one["space"], one["name"], int(one["bits"]) // 8 * math.prod(lengths)


def _kernels_with_too_much(ptx: str) -> Iterator[Excess]:
    outside, functions = _read(ptx)
    of_file = {name: size for space, name, size in _variables(outside) if space == "shared"}
    files = dict(_FILE.findall(ptx))
    for kernel in functions.values():
        if not kernel.is_kernel:
            continue
        called = _reachable(kernel, functions)
        named = set[str]().union(*(one.words for one in called))
        size = sum(one.shared for one in called) + sum(of_file[name] for name in of_file.keys() & named)
        if size > MOST_SHARED:
            number, line = kernel.place or ("", None)
            yield Excess(size, MOST_SHARED, kernel.name, files.get(number), line)


def _read(ptx: str) -> tuple[str, dict[str, _Function]]:
    """The lines outside of functions, and the functions by name."""
    outside: list[str] = []
    functions: dict[str, _Function] = {}
    header: list[str] = []  # of the function that begins, up to its body
    body: list[str] = []
    depth, kind = 0, ""
    for line in ptx.splitlines():
        code = line.partition("//")[0]
        if depth == 0 and not header and (begins := _FUNCTION.match(code)):
            kind = begins["kind"]
        if kind and depth == 0:
            header.append(code)
            if code.rstrip().endswith(";"):  # declared only
                header, kind = [], ""
        elif not kind:
            outside.append(code)
        else:
            body.append(code)
        if kind and '"' not in code:
            depth += code.count("{") - code.count("}")
            if depth == 0 and body:
                one = _function(kind, "\n".join(header), body)
                functions[one.name] = one
                header, body, kind = [], [], ""
    return "\n".join(outside), functions


def _function(kind: str, header: str, body: list[str]) -> _Function:
    # A function's result, in parentheses, comes before its name.
    after = re.sub(r"^\s*\([^)]*\)", "", header.partition(f".{kind}")[2])
    name = _WORD.search(after)
    made = _Function(name[0] if name else "", kind == "entry")
    text = "\n".join(body)
    made.words = set(_WORD.findall(text))
    made.shared = sum(size for space, _, size in _variables(text) if space == "shared")
    place = next(filter(None, map(_LINE.match, body)), None)
    made.place = (place["file"], int(place["line"])) if place else None
    return made


def _reachable(kernel: _Function, functions: Mapping[str, _Function]) -> list[_Function]:
    """The kernel, and every function that its code or that of such a function names."""
    found, waiting = {kernel.name: kernel}, [kernel]
    while waiting:
        for name in waiting.pop().words & functions.keys() - found.keys():
            found[name] = functions[name]
            waiting.append(functions[name])
    return list(found.values())
