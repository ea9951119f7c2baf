"""Mechanisms of this exercise: few launches, and products of several elements at once."""

from __future__ import annotations

from dataclasses import dataclass

from grader.spec import Size
from grader.spec.evidence import Evidence
from grader.spec.mechanisms import spills_of
from grader.words import numbers

from .shapes import lengths

_LANES = 32
_BYTES_OF_A_DOT = 4
_KEY_ELEMENTS_OF_A_PRODUCT = 1024  # at most: the largest integer mma takes half as many
_TELLING = 256  # keys: with fewer, the fixed work of a block outweighs the work for its keys


def is_timed(size: Size) -> bool:
    """A shape like those of the bench: only these must be fast."""
    return size.head_dim == 128 and size.group == 1


@dataclass(frozen=True)
class LaunchesAtMost:
    """All buckets in one launch, and at most one more for the merge."""

    most: int

    @property
    def name(self) -> str:
        return f"at most {self.most} launches"

    def look(self, evidence: Evidence) -> str | None:
        seen = [launch.kernel for launch in evidence.launches]
        if len(seen) <= self.most and evidence.runtime_copies == 0:
            return None
        copies = numbers.counted(evidence.runtime_copies, "copy", "copies")
        beside = f" and {copies} by the runtime" if evidence.runtime_copies else ""
        launches = numbers.counted(len(seen), "kernel launch", "kernel launches")
        return (
            f"{launches} ({', '.join(seen) or 'none'}){beside} where {self.most} suffice "
            f"({evidence.case.name}): let each block find its bucket, and merge in the last block or in one "
            "more kernel"
        )

    def look_anywhere(self, evidence: Evidence) -> str | None:
        return self.look(evidence)


@dataclass(frozen=True)
class NoSpillsInUse:
    """ptxas kept every value in registers, in the kernels that timed shapes take."""

    name: str = "no register spills"

    def look(self, evidence: Evidence) -> str | None:
        if not is_timed(evidence.case.size):
            return None
        launched = {launch.mangled for launch in evidence.launches}
        used = (kernel for kernel in evidence.resources if kernel.name in launched)
        where = f" ({evidence.case.name})"
        return next((said for kernel in used if (said := spills_of(kernel, where))), None)


def key_elements(size: Size) -> int:
    """Elements of all keys; the values have as many."""
    return sum(map(sum, lengths(size))) * size.kv_heads * size.head_dim


@dataclass(frozen=True)
class IntegerProducts:
    """Keys and queries are multiplied as bytes: by the tensor cores, or four per __dp4a.

    The counters show the opposite: a kernel that multiplies keys as floating-point numbers must convert each
    element of a key as well as of a value. Only timed shapes with many keys are checked.
    """

    most_conversions: float = 2.0  # for each element of a key: one of the value's, and some for scales
    name: str = "integer products for the scores"

    def look(self, evidence: Evidence) -> str | None:
        size = evidence.case.size
        if not is_timed(size) or max(map(sum, lengths(size))) < _TELLING:
            return None
        counters = [launch.counters for launch in evidence.launches]
        matrices = sum(each.matrix_instructions for each in counters) * _KEY_ELEMENTS_OF_A_PRODUCT
        dots = sum(each.by_class.get("dot", 0) for each in counters) * _LANES * _BYTES_OF_A_DOT
        if max(matrices, dots) >= key_elements(size):
            return None
        converted = sum(each.by_class.get("convert", 0) for each in counters) * _LANES / key_elements(size)
        if converted <= self.most_conversions:
            return None
        return (
            f"{converted:.1f} conversions for each element of a key ({evidence.case.name}): multiply keys "
            "and queries as bytes, four at once with __dp4a, or with an integer mma"
        )
