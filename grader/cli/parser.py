"""The command lines of all verbs: argparse, with its errors in the course's own words."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any, NoReturn

_USAGE_ERROR = 2
# Messages of argparse, and their replacements.
_WORDS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"argument (.+?): expected one argument"), "{0} needs a value"),
    (re.compile(r"argument (.+?): expected .* arguments?"), "{0} needs more values than were given"),
    (re.compile(r"argument (.+?): invalid choice: (.+) \(choose from (.+)\)"), "{0} is {1}; it may be {2}"),
    (re.compile(r"argument (.+?): invalid int value: (.+)"), "{0} is {1}, which is not a whole number"),
    (re.compile(r"argument (.+?): ignored explicit argument (.+)"), "{0} takes no value, but got {1}"),
    (re.compile(r"argument (.+?): (?!not allowed)(.+)"), "{0}: {1}"),
    (re.compile(r"the following arguments are required: (.+)"), "{0} is missing"),
    (re.compile(r"unrecognized arguments: (.+)"), "{0}: no such option, or one argument too many"),
)


class Parser(argparse.ArgumentParser):
    """Reports errors in one sentence, with the form of the value and the command for help. The description is
    shown as it is written."""

    def __init__(self, prog: str, description: str | None, **more: Any) -> None:
        super().__init__(
            prog, description=description, formatter_class=argparse.RawDescriptionHelpFormatter, **more
        )

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """A file may stand before the options, behind them and between them, where a verb takes one."""
        if any(action.nargs in (argparse.REMAINDER, argparse.PARSER) for action in self._actions):
            return super().parse_args(args, namespace)
        return self.parse_intermixed_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        text = f"error: {self._sentence(message)}\n`{self.prog} --help` shows the options.\n"
        self.exit(_USAGE_ERROR, text)

    def _sentence(self, message: str) -> str:
        for pattern, words in _WORDS:
            if found := pattern.fullmatch(message):
                return words.format(*found.groups()) + self._form_of(found[1], words)
        return message

    def _form_of(self, name: str, words: str) -> str:
        """The form of an option whose value is missing."""
        action = self._option_string_actions.get(name.split("/")[0])
        if "needs" not in words or action is None:
            return ""
        value = " or ".join(action.choices) if action.choices else action.metavar or action.dest.upper()
        return f": {name.split('/')[-1]} {value}"


def above_zero(text: str) -> float:
    """A number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def between(least: int, most: int) -> Callable[[str], int]:
    """A whole number from `least` to `most`."""

    def number(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} to {most}")
        return int(text)

    return number


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)
