"""`./course doctor [--json]`: what this machine has for the course, and what does not work without the rest.

The exit status is 0 unless something is missing that every command needs.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import asdict

from common.core.errors import CourseError
from grader.actions.doctor import Fact, examine
from grader.cli import VERBS
from grader.cli.parser import Parser
from grader.course.settings import DEFAULT_FILE, read_settings
from grader.nbgrader.class_folder import default_folder


def main(arguments: list[str]) -> int:
    parser = Parser("./course doctor", __doc__.split("\n\n")[0])
    parser.add_argument("--json", action="store_true", help="write the report as JSON")
    options = parser.parse_args(arguments)
    groups = {group for verb in VERBS.values() for group in verb.needs}
    sections = examine({group: [n for n, verb in VERBS.items() if group in verb.needs] for group in groups})
    sections |= _of_settings() | _of_class()
    missing = [fact for facts in sections.values() for fact in facts if fact.state == "missing"]
    if options.json:
        report = {title: [asdict(fact) for fact in facts] for title, facts in sections.items()}
        print(json.dumps({"ok": not missing, "sections": report}, indent=2))
    else:
        print("\n\n".join(_render(title, facts) for title, facts in sections.items()))
        names = ", ".join(fact.name for fact in missing)
        print(f"\nmissing: {names}" if missing else "\nnothing essential is missing")
    return 1 if missing else 0


def _of_settings() -> dict[str, list[Fact]]:
    """course.toml, where there is one: with a mistake in it no other command works."""
    if not DEFAULT_FILE.is_file():
        return {}
    try:
        read_settings()
    except CourseError as problem:
        return {"Settings": [Fact("course.toml", "missing", str(problem))]}
    return {"Settings": [Fact("course.toml", "ok", str(DEFAULT_FILE))]}


def _of_class() -> dict[str, list[Fact]]:
    """Who can reach the class in work/class or COURSE_CLASS, where there is one."""
    folder = default_folder()
    if not (folder.root / "nbgrader_config.py").is_file() or importlib.util.find_spec("nbgrader") is None:
        return {}
    from grader.nbgrader.rights import class_facts

    return {"Class": class_facts(folder)}


def _render(title: str, facts: list[Fact]) -> str:
    marks = {"ok": "✓", "note": "·", "missing": "✗"}
    lines = [title]
    for fact in facts:
        lines.append(f"  {marks[fact.state]} {fact.name:<16} {fact.detail}")
        if fact.cost and fact.state != "ok":
            lines.append(f"    {'':<16} → {fact.cost}")
    return "\n".join(lines)
