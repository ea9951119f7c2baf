"""Finds kernels of a class with similar text, for a person to look at; it costs no points.

Sources become tokens without comments, names and numbers, so renaming hides nothing. Winnowing picks a few
hashes of every run of tokens; those of files that every student has are left out. The similarity of two
submissions is the share of the smaller one's hashes that the other has, too.
"""

from __future__ import annotations

import csv
import hashlib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.words.text import cell

THRESHOLD = 0.6
_GRAM = 20  # tokens per hash: shorter runs are idiom
_WINDOW = 8  # hashes, of which the smallest is kept
_MOST_TEXT = 200_000  # characters of a file that are compared: no kernel has more
_FEWEST = 6  # hashes; below that, two files may be similar by chance

# Linear in the text: a quote without its twin ends with the line, and nothing is tried twice.
_TOKEN = re.compile(
    r"""(?P<skip>\s+|//[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<text>"(?:\\.|[^"\\\n])*+"?|'(?:\\.|[^'\\\n])*+'?)
      | (?P<name>[A-Za-z_]\w*)
      | (?P<number>\.?\d(?:[\w.]|(?<=[eEpP])[+-])*)
      | (?P<mark><<<|>>>|<<=|>>=|->|::|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.VERBOSE | re.DOTALL,
)
# Keywords with one meaning in every file; all other names are the author's own.
_WORDS = frozenset(
    """
    alignas auto bool break case char class const constexpr continue default do double else enum extern false
    float for goto if inline int long namespace nullptr return short signed sizeof static static_cast
    reinterpret_cast struct switch template this true typename unsigned using void volatile while
    __global__ __device__ __host__ __shared__ __forceinline__ __restrict__ __launch_bounds__ __syncthreads
    __syncwarp __ldg __stcs __ldcs asm threadIdx blockIdx blockDim gridDim x y z
    """.split()
)
Lines = tuple[int, int]  # the first and the last
_NORMALISED = {"text": '""', "number": "0"}


@dataclass(frozen=True)
class Pair:
    """Two similar submissions, and the similar line ranges of the first and of the second."""

    exercise: str
    first: str
    second: str
    share: float
    first_lines: tuple[Lines, ...]
    second_lines: tuple[Lines, ...]


def similar_pairs(
    exercise: str, sources: Mapping[str, str], given: Sequence[Path] = (), threshold: float = THRESHOLD
) -> list[Pair]:
    """All pairs above the threshold, the most similar first; `given` are files that every student has."""
    texts = (path.read_text(errors="replace") for path in given if path.is_file())
    known = {value for text in texts for value in _grams(_tokens(text))}
    prints = {name: _fingerprints(text, known) for name, text in sources.items()}
    pairs = []
    for first, second in itertools.combinations(prints, 2):
        shared = prints[first].keys() & prints[second].keys()
        fewer = min(len(prints[first]), len(prints[second]))
        if fewer >= _FEWEST and len(shared) >= threshold * fewer:
            lines = (_ranges(prints[name][value] for value in shared) for name in (first, second))
            pairs.append(Pair(exercise, first, second, len(shared) / fewer, *lines))
    return sorted(pairs, key=lambda pair: (-pair.share, pair.first, pair.second))


def write_csv(pairs: Sequence[Pair], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("exercise", "first", "second", "alike", "lines of first", "lines of second"))
        for pair in pairs:
            spans = (_spans(pair.first_lines), _spans(pair.second_lines))
            names = map(cell, (pair.exercise, pair.first, pair.second))
            writer.writerow((*names, f"{pair.share:.2f}", *spans))


def _spans(ranges: Iterable[Lines]) -> str:
    return " ".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges)


def _tokens(text: str) -> list[tuple[str, int]]:
    """Normalised tokens with their lines."""
    found = []
    line = 1
    for match in _TOKEN.finditer(text):
        kind, word = match.lastgroup, match[0]
        if kind == "name":
            found.append((word if word in _WORDS else "name", line))
        elif kind != "skip":
            found.append((_NORMALISED.get(kind or "", word), line))
        line += word.count("\n")
    return found


def _grams(tokens: Sequence[tuple[str, int]]) -> list[int]:
    """A hash of every run of tokens, the same every time, so that a report is reproducible."""
    words = [word.encode() for word, _ in tokens]
    stretches = (b" ".join(words[start : start + _GRAM]) for start in range(len(words) - _GRAM + 1))
    return [int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") for text in stretches]


def _fingerprints(text: str, given: set[int]) -> dict[int, Lines]:
    """The smallest hash of every window, without given ones; each with the lines of its first place."""
    tokens = _tokens(text[:_MOST_TEXT])
    starts = {
        value: start for start, value in reversed(list(enumerate(_grams(tokens)))) if value not in given
    }
    values = sorted(starts, key=starts.__getitem__)
    kept = {min(values[start : start + _WINDOW]) for start in range(max(len(values) - _WINDOW + 1, 0))}
    return {value: (tokens[starts[value]][1], tokens[starts[value] + _GRAM - 1][1]) for value in kept}


def _ranges(spots: Iterable[Lines]) -> tuple[Lines, ...]:
    """Lines as ranges; adjacent ones are joined."""
    ranges: list[Lines] = []
    for first, last in sorted(spots):
        if ranges and first <= ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], max(ranges[-1][1], last))
        else:
            ranges.append((first, last))
    return tuple(ranges)
