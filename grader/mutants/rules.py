"""The table of small edits. Each is a mistake that somebody could make; what does not compile is left out."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.mutants.tokens import Line, Token

_DECLARES = re.compile(r"^(?:const |constexpr |static |extern |__shared__ |auto\b|using |template|struct )")
_NEAREST = 2  # other names that are tried for one
_SWAPPED: dict[str, dict[str, tuple[str, ...]]] = {
    "comparison": {
        "<": ("<=", ">"),
        "<=": ("<",),
        ">": (">=", "<"),
        ">=": (">",),
        "==": ("!=",),
        "!=": ("==",),
    },
    "logic": {"&&": ("||",), "||": ("&&",)},
    "arithmetic": {"+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("/",)},
    "bits": {"<<": (">>",), ">>": ("<<",), "&": ("|",), "|": ("&",), "^": ("|",)},
    "assignment": {
        "+=": ("=", "-="),
        "-=": ("+=",),
        "*=": ("=",),
        "|=": ("=",),
        "<<=": (">>=",),
        ">>=": ("<<=",),
    },
}
_OTHER_NAMES = {
    "min": "max",
    "max": "min",
    "fminf": "fmaxf",
    "fmaxf": "fminf",
    "__shfl_xor_sync": "__shfl_down_sync",
    "__shfl_down_sync": "__shfl_up_sync",
    "__shfl_up_sync": "__shfl_down_sync",
    "__any_sync": "__all_sync",
    "__all_sync": "__any_sync",
    "true": "false",
    "false": "true",
}
_NARROWER = {"int64_t": "int", "uint64_t": "uint32_t", "size_t": "unsigned", "long": "int", "double": "float"}
_ALONE = re.compile(r"(?<![\w.>])[A-Za-z_]\w*")
_OPERAND = r"[A-Za-z_][\w.]*(?:\[\w+\])?|\d+"
_AXES = {"x": "y", "y": "x", "z": "x"}


@dataclass(frozen=True)
class Names:
    """The types of names, those that are members of something, and those that stand alone."""

    types: Mapping[str, str]
    fields: frozenset[str]
    lines: tuple[str, ...]  # of the whole file, without comments

    def in_reach(self, line: int) -> set[str]:
        """Names that stand alone in the function of a line, at or above it."""
        above = self.lines[:line]
        begin = max((at for at, text in enumerate(above) if re.match(r"\w", text)), default=0)
        return {name for text in above[begin:] for name in _ALONE.findall(text)}


@dataclass(frozen=True)
class Rule:
    """`edits` makes other texts of a line; `equal` is why one may be no mistake."""

    name: str
    edits: Callable[[Line, Names], Sequence[str]]
    equal: str


def _swapping(table: Mapping[str, Sequence[str]]) -> Callable[[Line, Names], Sequence[str]]:
    def edits(line: Line, names: Names) -> list[str]:
        return [
            line.with_token(token, other)
            for token in line.tokens
            if token.kind == "operator" and line.spaced(token)
            for other in table.get(token.text, ())
        ]

    return edits


def _off_by_one(line: Line, names: Names) -> list[str]:
    made = []
    for token in line.tokens:
        if token.kind == "number" and (found := re.fullmatch(r"(\d+)([uUlL]*)", token.text)):
            number = int(found[1])
            made += [
                line.with_token(token, f"{other}{found[2]}")
                for other in (number + 1, number - 1)
                if other >= 0
            ]
        elif token.kind == "number" and (found := re.fullmatch(r"(0[xX][\da-fA-F]+)([uUlL]*)", token.text)):
            made.append(line.with_token(token, f"{int(found[1], 16) >> 1:#x}{found[2]}"))
        elif token.kind == "number" and re.fullmatch(r"[\d.]+[fF]?", token.text):
            made.append(line.with_token(token, f"(2 * {token.text})"))
        elif token.kind == "name" and re.fullmatch(r"k[A-Z]\w*", token.text):
            made += [line.with_token(token, f"({token.text} {sign} 1)") for sign in "+-"]
    return made


def _renamed(line: Line, names: Names) -> list[str]:
    """Another name of the same type in place of each; those that look alike are mistaken first."""
    made = []
    for token in line.tokens:
        if token.kind != "name" or token.text not in names.types or _is_declared(line, token):
            continue
        kind = names.types[token.text]
        field = line.text[: token.start].endswith((".", "->"))
        others = names.fields if field else names.in_reach(line.number)
        alike = [
            name
            for name, other in names.types.items()
            if other == kind and name != token.text and name in others
        ]
        alike.sort(key=lambda name: -difflib.SequenceMatcher(None, name, token.text).ratio())
        made += [line.with_token(token, name) for name in alike[:_NEAREST]]
    return made


def _is_declared(line: Line, token: Token) -> bool:
    return bool(re.match(r"\s*(?:=[^=]|\{|;|\[)", line.text[token.end :])) and bool(
        re.search(r"[\w>*&]\s+\*?&?$", line.text[: token.start])
    )


def _other_axis(line: Line, names: Names) -> list[str]:
    found = re.finditer(r"\b(?:threadIdx|blockIdx|blockDim|gridDim)\.([xyz])\b", line.text)
    return [line.text[: at.start(1)] + _AXES[at[1]] + line.text[at.end(1) :] for at in found]


def _left_out(line: Line, names: Names) -> list[str]:
    """A statement forgotten. What it stands under keeps an empty one."""
    code = line.code
    if not code.endswith(";") or _DECLARES.match(code) or code.startswith(("for", "while", "}")):
        return []
    if re.match(r"[A-Za-z_][\w:<>]*[*&]* +[*&]*\w+(\[.*\])? *(=|;|\{)", code) and not code.startswith(
        "return"
    ):
        return []  # a declaration: nothing compiles without it
    guard = re.match(r"(?:else )?if \(.*?\) (?=\S+.*;$)", code)
    indent = line.text[: len(line.text) - len(line.text.lstrip())]
    return [f"{indent};", *([f"{indent}{code[guard.end() :]}"] if guard and code.startswith("if") else [])]


def _neighbour(line: Line, names: Names) -> list[str]:
    """The element beside the one that is meant."""
    found = re.finditer(r"(?<=[\w\]])\[([^\[\]]+)\]", line.text)
    return [
        line.text[: at.end(1)] + change + line.text[at.end(1) :]
        for at in found
        if not _DECLARES.match(line.code)
        for change in (" + 1", " - 1")
    ]


def _operand_left_out(line: Line, names: Names) -> list[str]:
    found = re.finditer(rf"(?<![\w.\])])({_OPERAND}) [-+*/%] ({_OPERAND})(?![\w.\[(])", line.text)
    return [line.text[: at.start()] + at[side] + line.text[at.end() :] for at in found for side in (1, 2)]


def _zero(line: Line, names: Names) -> list[str]:
    """Nothing in place of a value that is computed."""
    found = re.match(
        r"(\s*(?:const )?(?:unsigned|int|int64_t|float|bool) \w+ = )(?!0;)[^;]+;(.*)$", line.text
    )
    return [f"{found[1]}0;{found[2]}"] if found else []


def _negated(line: Line, names: Names) -> list[str]:
    found = re.match(r"(\s*(?:\} )?(?:else )?if \()(.*)(\) .*)$", line.text)
    if found is None or "constexpr" in found[1] or found[2].count("(") != found[2].count(")"):
        return []
    return [f"{found[1]}!({found[2]}){found[3]}"]


RULES = (
    *(
        Rule(name, _swapping(table), "both agree on every value that occurs")
        for name, table in _SWAPPED.items()
    ),
    Rule(
        "off by one", _off_by_one, "the bound is never reached, or the number is a choice and no requirement"
    ),
    Rule("neighbour", _neighbour, "both elements hold the same"),
    Rule("operand left out", _operand_left_out, "the operand is always 0, or always 1"),
    Rule("zero", _zero, "it is 0 whenever it is used"),
    Rule("condition", _negated, "both branches do the same"),
    Rule("axis", _other_axis, "the launch has one thread or block along that axis, or the same number"),
    Rule("other name", _renamed, "both hold the same value"),
    Rule(
        "other function",
        lambda line, names: line.replaced(
            lambda token: _OTHER_NAMES.get(token.text) if token.kind == "name" else None
        ),
        "the arguments are equal wherever it is called",
    ),
    Rule(
        "32 bits for 64",
        lambda line, names: line.replaced(
            lambda token: _NARROWER.get(token.text) if token.kind == "name" else None
        ),
        "no value is that large",
    ),
    Rule("left out", _left_out, "what it does is done again, or never looked at"),
)


def rule_of(name: str) -> Rule:
    return next(rule for rule in (*RULES, *_OF_PAIRS) if rule.name == name)


def swapped_statements(lines: Sequence[Line]) -> Iterator[tuple[Line, str]]:
    """Neighbouring statements in the other order: the first line, and both as they are then."""
    for first, second in itertools.pairwise(lines):
        simple = all(line.code.endswith(";") and "(" in line.code for line in (first, second))
        indents = {len(line.text) - len(line.text.lstrip()) for line in (first, second)}
        if second.number == first.number + 1 and simple and len(indents) == 1 and first.code != second.code:
            yield first, f"{second.text}\n{first.text}"


SWAPPED = "order of statements"
_OF_PAIRS = (Rule(SWAPPED, lambda line, names: (), "neither depends on the other"),)


_TYPES = "int|float|bool|unsigned|double|__half2?|half2?|uint4|uint2|bool"
_DECLARATION = re.compile(
    rf"\b(?P<type>(?:[a-z]\w*_t|{_TYPES})\b\s*\*?)\s*(?:const\s+)?"
    r"(?P<names>[A-Za-z_]\w*(?:,\s*[A-Za-z_]\w*)*)(?=\s*[=;,)\[{])"
)
_NO_NAMES = frozenset(("const", "void", "template", *_TYPES.split("|")))


def names_in(text: str) -> Names:
    code = re.sub(r"//.*", "", text)
    return Names(
        _declared_types(code),
        frozenset(re.findall(r"(?:\.|->)([A-Za-z_]\w*)", code)),
        tuple(code.split("\n")),
    )


def _declared_types(code: str) -> dict[str, str]:
    """As far as a line declares names simply; those with two types are left out."""
    types: dict[str, str] = {}
    twice = set()
    for found in _DECLARATION.finditer(code):
        kind = re.sub(r"\s", "", found["type"])
        for name in re.split(r"\s*,\s*", found["names"]):
            if name in _NO_NAMES or name.endswith("_t"):
                continue
            if types.setdefault(name, kind) != kind:
                twice.add(name)
    return {name: kind for name, kind in types.items() if name not in twice}
