"""What the compilers said, as data that points at the user's file, as they spelled it, and line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from common.build.hints import hint_for


@dataclass(frozen=True)
class Diagnostic:
    """One complaint. `file` is None when the tool named none; `context` holds the lines that explain it."""

    severity: str  # "error", "warning" or "note"
    file: str | None
    line: int | None
    column: int | None
    message: str
    hint: str | None = None
    context: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part is not None)
        lines = [f"{place}: {self.severity}: {self.message}" if place else f"{self.severity}: {self.message}"]
        lines += [f"    {text}" for text in self.context]
        if self.hint:
            lines.append(f"    hint: {self.hint}")
        return "\n".join(lines)


_SEVERITIES = {
    "error": "error",
    "fatal": "error",
    "fatal error": "error",
    "catastrophic error": "error",
    "internal error": "error",
    "warning": "warning",
    "remark": "note",
    "note": "note",
}

# Each form a tool writes in, tried in this order on every line.
_CUDAFE = re.compile(
    r"^(?P<file>.+?)\((?P<line>\d+)\): "
    r"(?P<severity>error|warning|remark|catastrophic error|internal error)(?: #[\w-]+)?: (?P<message>.*)$"
)
_FORMS = (
    _CUDAFE,
    re.compile(
        r"^(?P<file>[^:\s][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
        r"(?P<severity>fatal error|error|warning|note): (?P<message>.*)$"
    ),
    re.compile(
        r"^ptxas (?P<file>\S+), line (?P<line>\d+); (?P<severity>error|warning|fatal)\s*: (?P<message>.*)$"
    ),
    re.compile(r"^(?:ptxas|nvcc|nvlink|cicc)\s+(?P<severity>error|warning|fatal)\s*: (?P<message>.*)$"),
    re.compile(
        r"^(?:\S*ld: )?(?:(?P<file>[^:\s(][^:]*):)?(?:(?P<line>\d+)(?::\(\.[^)]*\))?|\(\.[^)]*\)): "
        r"(?P<message>(?:undefined reference to|multiple definition of) .*)$"
    ),
    re.compile(r"^At end of source: (?P<severity>error|warning)(?: #[\w-]+)?: (?P<message>.*)$"),
    re.compile(r"^\S*ld: (?P<message>cannot find .*)$"),
    re.compile(r"^(?:\S*/)?(?:g\+\+|cc1plus|c\+\+): (?P<severity>fatal error|error): (?P<message>.*)$"),
)
# Who made the compiler look at a template, innermost first; in the template's own file no file is named.
_ASKED_FOR = re.compile(r"\binstantiation of .* at line (?P<line>\d+) of (?P<file>.+)$")
_AT_THE_END = "At end of source: "
_WHOSE_END = re.compile(r'^\d+ errors? detected in the compilation of "(?P<file>.+)"')
# A last word that only repeats that something went wrong before.
_ECHOES = re.compile(r"^(Ptx assembly aborted due to errors|ld returned \d+ exit status)")


def parse_diagnostics(log: str, names: Mapping[Path, str]) -> list[Diagnostic]:
    """Everything the tools complained about in `log`, without repeats.

    `names` gives, for files compiled by absolute path, the name the user wrote.
    """
    found: list[Diagnostic] = []
    lines = log.splitlines()
    for number, line in enumerate(lines):
        diagnostic = _parse_line(line)
        if diagnostic is None or _ECHOES.match(diagnostic.message):
            continue
        if line.startswith(_AT_THE_END):
            diagnostic = _at_the_end(diagnostic, lines[number + 1 :])
        elif _CUDAFE.match(line):
            diagnostic = _with_what_follows(diagnostic, lines[number + 1 :])
            diagnostic = _where_the_user_asked(diagnostic, names)
        diagnostic = replace(diagnostic, hint=hint_for(diagnostic.message))
        if diagnostic.file is not None:
            diagnostic = replace(diagnostic, file=names.get(Path(diagnostic.file), diagnostic.file))
        if diagnostic not in found:
            found.append(diagnostic)
    return found


def place_ptx_diagnostics(
    diagnostics: Iterable[Diagnostic], ptx: str, names: Mapping[Path, str]
) -> list[Diagnostic]:
    """Move complaints about lines of the PTX to the source lines those came from, by its `.loc` marks."""
    files: dict[str, str] = dict(re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]+)"', ptx, re.MULTILINE))
    lines = ptx.splitlines()
    placed = []
    for diagnostic in diagnostics:
        if diagnostic.file is not None and diagnostic.file.endswith(".ptx") and diagnostic.line is not None:
            diagnostic = _placed(diagnostic, lines[: diagnostic.line], files, names)
        placed.append(diagnostic)
    return placed


def errors_of(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    return [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]


def _parse_line(line: str) -> Diagnostic | None:
    for form in _FORMS:
        if match := form.match(line):
            groups = match.groupdict()
            return Diagnostic(
                severity=_SEVERITIES[groups.get("severity") or "error"],
                file=groups.get("file"),
                line=int(groups["line"]) if groups.get("line") else None,
                column=int(groups["column"]) if groups.get("column") else None,
                message=groups["message"].strip(),
            )
    return None


def _with_what_follows(diagnostic: Diagnostic, following: list[str]) -> Diagnostic:
    """cudafe++ writes explanations, the source line and a caret under its message, up to a blank line."""
    block: list[str] = []
    for line in following:
        if not line.strip() or _parse_line(line):
            break
        block.append(line)
    column = None
    carets = [index for index, line in enumerate(block) if line.strip() == "^"]
    if carets and carets[0] > 0:
        caret = carets[0]
        column = _true_column(diagnostic, block[caret - 1], block[caret].index("^"))
        block = block[: caret - 1] + block[caret + 1 :]
    return replace(diagnostic, column=column, context=tuple(line.strip() for line in block))


def _where_the_user_asked(diagnostic: Diagnostic, names: Mapping[Path, str]) -> Diagnostic:
    """A rule of a header's template is broken where the user's file asks for it, not where it is written."""
    if diagnostic.file is None or Path(diagnostic.file) in names:
        return diagnostic
    for text in diagnostic.context:
        if (asked := _ASKED_FOR.search(text)) and Path(asked["file"]) in names:
            rule = f"the rule is in {Path(diagnostic.file).name}, line {diagnostic.line}"
            return replace(
                diagnostic,
                file=asked["file"],
                line=int(asked["line"]),
                column=None,
                context=(rule, *diagnostic.context),
            )
    return diagnostic


def _at_the_end(diagnostic: Diagnostic, following: list[str]) -> Diagnostic:
    """cudafe++ does not say which file has ended; its last line does."""
    found = next((match for line in following if (match := _WHOSE_END.match(line))), None)
    if found is None:
        return diagnostic
    try:
        last = len(Path(found["file"]).read_text(errors="replace").splitlines())
    except OSError:
        last = None
    return replace(diagnostic, file=found["file"], line=last)


def _true_column(diagnostic: Diagnostic, shown: str, caret: int) -> int | None:
    """The caret stands under the preprocessed line, indented by two: true where the file reads the same."""
    try:
        source = Path(diagnostic.file or "").read_text(errors="replace").splitlines()
        line = source[(diagnostic.line or 0) - 1]
    except (OSError, IndexError):
        return None
    column = caret - 2
    return column + 1 if line[: column + 1] == shown[2 : caret + 1] else None


def _placed(
    diagnostic: Diagnostic, before: list[str], files: Mapping[str, str], names: Mapping[Path, str]
) -> Diagnostic:
    for line in reversed(before):
        if match := re.match(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)", line):
            file = files.get(match[1])
            if file is None:
                break
            return replace(diagnostic, file=names.get(Path(file), file), line=int(match[2]), column=None)
        if re.match(r"\s*(\.visible|\.weak|\.func|\.entry)", line):
            break  # the mark of another function says nothing about this one
    return replace(diagnostic, file=None, line=None)
