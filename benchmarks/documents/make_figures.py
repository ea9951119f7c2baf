"""Draws docs/way.svg and docs/packages.svg, the README's two figures, from the code itself.

    python -m benchmarks.documents.make_figures            rewrite what has changed
    python -m benchmarks.documents.make_figures --check    list what has changed, and end with status 1

The stages come from the pipeline's list, the packages and their order from the import contracts in
pyproject.toml, and what each holds from its docstring.
"""

from __future__ import annotations

import argparse
import ast
import re
import textwrap
import tomllib
from collections.abc import Iterable, Sequence
from html import escape

from common.core.paths import REPOSITORY
from grader.pipeline.grading import PIPELINE
from grader.pipeline.stage import Parallel, Stage

_STYLE = """\
  <style>
    .box { fill: #f6f8fa; stroke: #57606a; stroke-width: 1.4; }
    .run { fill: #eaf5e4; stroke: #4c8c2b; stroke-width: 1.4; }
    .wall { fill: none; stroke: #b35900; stroke-width: 1.8; stroke-dasharray: 7 5; }
    .small { font-size: 12px; fill: #57606a; }
    .wire { stroke: #57606a; stroke-width: 1.6; fill: none; marker-end: url(#tip); }
  </style>
  <defs>
    <marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
      <path d="M0 0 L8 4 L0 8 z" fill="#57606a"/>
    </marker>
  </defs>
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if a figure is stale")
    check = parser.parse_args().check
    stale = [path for path, text in figures().items() if text != _committed(path)]
    for path in stale:
        print(f"{path} {'is stale' if check else 'rewritten'}")
        if not check:
            (REPOSITORY / path).write_text(figures()[path])
    return 1 if check and stale else 0


def figures() -> dict[str, str]:
    """The text of each figure, by its path in the repository."""
    return {"docs/way.svg": way(PIPELINE), "docs/packages.svg": packages()}


def _committed(path: str) -> str:
    file = REPOSITORY / path
    return file.read_text() if file.exists() else ""


def way(pipeline: Sequence[Stage | Parallel]) -> str:
    """A submission through the stages, the context that all of them share, and the devices below."""
    groups = [list(one.stages) if isinstance(one, Parallel) else [one] for one in pipeline]
    width, gap, left = 140, 22, 150
    right = left + len(groups) * (width + gap)
    parts = [
        _box(8, 92, 118, 66, "Submission", ["file, text, hash,", "exercise, name"]),
        _box(right, 92, 118, 66, "Record", ["assembled once,", "then only read"]),
        _box(left, 8, right - left - gap, 34, "", [], "box"),
        _text((left + right - gap) / 2, 30, "Context: device, seed, time budget, scratch folder, progress"),
    ]
    for column, group in enumerate(groups):
        x = left + column * (width + gap)
        height = 66 if len(group) == 1 else 58
        top = 125 - (height * len(group) + 8 * (len(group) - 1)) / 2
        parts.append(_wire(x - gap + 2, 125, x - 2, 125))
        for row, stage in enumerate(group):
            notes = [stage.adds, "optional" if stage.optional else ""]
            parts.append(_box(x, top + row * (height + 8), width, height, stage.name, notes, "run"))
    parts.append(_wire(right - gap + 2, 125, right - 2, 125))
    parts += [
        _text(
            (left + right - gap) / 2, 222, "Each stage takes the results of earlier ones and returns its own."
        ),
        _wire((left + right) / 2, 236, (left + right) / 2, 262),
        _box(left, 264, 250, 62, "virtual GPU", ["an engine: checks, counters, model"], "run"),
        _box(left + 272, 264, 250, 62, "GPU", ["memory and clock in our hands"], "run"),
        _box(left + 544, 264, 250, 62, "Triton", ["its interpreter on the CPU, or a GPU"], "run"),
        f'  <rect class="wall" x="{left}" y="344" width="794" height="56" rx="6"/>',
        _text(left + 397, 368, "worker: the one process that loads the submission"),
        _text(
            left + 397,
            388,
            "namespaces, seccomp, Landlock, limits; a compiler runs behind the same walls",
            "small",
        ),
        _text(8, 300, "Device:", "", "start"),
        _text(8, 318, "one interface", "small", "start"),
    ]
    return _svg(right + 126, 408, parts)


def packages() -> str:
    """By layer, from the import contracts: each may import those below it."""
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    layers = {one["containers"][0]: one["layers"] for one in contracts if "containers" in one}
    parts: list[str] = []
    height = 0
    for column, (root, names) in enumerate(sorted(layers.items(), reverse=True)):
        x = 8 + column * 620
        parts.append(_text(x + 4, 22, f"{root}/", "", "start"))
        y = 34
        for name in [name for layer in names for name in re.split(r"\s*[|:]\s*", layer)]:
            lines = textwrap.wrap(_holds(root, name), 72 if column == 0 else 52)
            assert len(lines) <= 2, f"the first sentence of {root}.{name} is too long for its box"
            wide = 596 if column == 0 else 480
            parts.append(f'  <rect class="box" x="{x}" y="{y}" width="{wide}" height="38" rx="4"/>')
            parts.append(_text(x + 10, y + 23, name, "", "start"))
            for number, line in enumerate(lines):
                middle = y + (16 if len(lines) > 1 else 23) + 14 * number
                parts.append(_text(x + 126, middle, line, "small", "start"))
            y += 42
        height = max(height, y)
    legend = (
        "A package imports packages below it, never one above:",
        "`./course test` checks that. Every package of grader/ may",
        "import common/. Exercises see spec/ and parts they bring in.",
    )
    parts += [_text(636, height - 44 + 16 * row, line, "small", "start") for row, line in enumerate(legend)]
    return _svg(1116, height + 4, parts)


def _holds(root: str, name: str) -> str:
    """The first sentence of the package's docstring."""
    text = ast.get_docstring(ast.parse((REPOSITORY / root / name / "__init__.py").read_text())) or ""
    return re.split(r"(?<=[.?])\s", " ".join(text.split()))[0].rstrip(".")


def _box(
    x: float, y: float, width: float, height: float, title: str, notes: Sequence[str], kind: str = "box"
) -> str:
    middle = x + width / 2
    lines = [f'  <rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>']
    if title:
        lines.append(_text(middle, y + 22, title))
    lines += [_text(middle, y + 40 + 15 * row, note, "small") for row, note in enumerate(notes) if note]
    return "\n".join(lines)


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "middle") -> str:
    styled = f' class="{kind}"' if kind else ""
    return f'  <text{styled} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text, quote=False)}</text>'


def _wire(x: float, y: float, to_x: float, to_y: float) -> str:
    return f'  <path class="wire" d="M{x:g} {y:g} L{to_x:g} {to_y:g}"/>'


def _svg(width: float, height: float, parts: Iterable[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
    font = 'font-family="Helvetica, Arial, sans-serif" font-size="15">\n'
    paper = f'  <rect width="{width:g}" height="{height:g}" fill="#ffffff"/>\n'
    return head + font + _STYLE + paper + "\n".join(parts) + "\n</svg>\n"


if __name__ == "__main__":
    raise SystemExit(main())
