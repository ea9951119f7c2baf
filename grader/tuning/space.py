"""All configurations of a Tuning: every combination of its tunables' values, each with a number."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Collection, Iterator, Mapping

from grader.tuning.spec import Config


def key(config: Config) -> str:
    """A text that is the same for equal configurations."""
    return json.dumps(dict(sorted(config.items())))


def words(config: Config) -> str:
    """ "BLOCK_M=64 WARPS=4", like compiler macros."""
    return " ".join(f"{name}={value}" for name, value in config.items())


class Space:
    """The product of the tunables' values. Configurations are numbered, not listed."""

    def __init__(self, tunables: Mapping[str, tuple[int, ...]]) -> None:
        self.tunables = {name: tuple(values) for name, values in tunables.items()}
        self.size = math.prod(len(values) for values in self.tunables.values())

    def configuration(self, number: int) -> dict[str, int]:
        """The configuration with this number, from 0 up to but not including `size`."""
        config = {}
        for name, values in self.tunables.items():
            number, place = divmod(number, len(values))
            config[name] = values[place]
        return config

    def __iter__(self) -> Iterator[dict[str, int]]:
        return (self.configuration(number) for number in range(self.size))

    def unseen(self, seen: Collection[str], source: random.Random) -> dict[str, int] | None:
        """A random configuration whose key is not in `seen`; None when all are."""
        for number in source.sample(range(self.size), self.size):
            if key(config := self.configuration(number)) not in seen:
                return config
        return None
