"""`./course answers NN FILE`: grade the answers in your copy of a file that the exercise asks you to fill in.

FILE is a .toml with an answer for each question, or a .py with a function for each; truths that follow from a
measurement are computed from the measurement.json beside it.
"""

from __future__ import annotations

from pathlib import Path

from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.questions.sheets import grade_file
from grader.render.answers import answers_json, answers_text
from grader.spec import registry


def main(arguments: list[str]) -> int:
    parser = Parser("./course answers", __doc__)
    shared.add_exercise(parser)
    parser.add_argument("file", metavar="FILE", type=Path)
    shared.add_json(parser)
    options = parser.parse_args(arguments)
    results = grade_file(registry.find(options.exercise), options.file)
    print(answers_json(results) if options.json else answers_text(options.file.name, results))
    return 0
