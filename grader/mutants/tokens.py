"""The words of a line of CUDA C++, as far as small edits of it need them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""(?P<comment>//.*)
      | (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])+')
      | (?P<number>0[xX][\da-fA-F']+[uUlL]*|\d[\d']*(?:\.\d*)?(?:[eE][-+]?\d+)?[fFuUlL]*)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<operator><<<|>>>|<<=|>>=|[-+*/%&|^]=|<<|>>|<=|>=|==|!=|&&|\|\||->|\+\+|--|::|[^\w\s])""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """`kind` is number, name or operator."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True)
class Line:
    """A line of a gap; `number` is counted from 1."""

    number: int
    text: str

    @property
    def tokens(self) -> list[Token]:
        """Without comments and texts; nothing of what the preprocessor reads."""
        if self.text.lstrip().startswith("#"):
            return []
        found = ((match.lastgroup or "", match) for match in _TOKEN.finditer(self.text))
        return [
            Token(kind, match[0], match.start()) for kind, match in found if kind not in ("comment", "text")
        ]

    @property
    def code(self) -> str:
        """Without a comment at its end and space around it."""
        comment = next((match.start() for match in _TOKEN.finditer(self.text) if match["comment"]), None)
        return self.text[:comment].strip()

    def spaced(self, token: Token) -> bool:
        """Whether an operator stands between two values and not before one, or in a template's name."""
        return self.text[token.start - 1 : token.start] == " " == self.text[token.end : token.end + 1]

    def with_token(self, token: Token, text: str) -> str:
        return self.text[: token.start] + text + self.text[token.end :]

    def replaced(self, make: Callable[[Token], str | None]) -> list[str]:
        """The line once for each token that `make` has another text for."""
        made = ((token, make(token)) for token in self.tokens)
        return [
            self.with_token(token, text) for token, text in made if text is not None and text != token.text
        ]
