"""One call of an entry point: device memory, and arguments with their C types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class At:
    """An argument: a pointer into a buffer, `offset` elements from its start."""

    buffer: str
    offset: int = 0


@dataclass(frozen=True)
class Scalar:
    """An argument: a number with the C type it is passed as."""

    type: str
    value: int | float


def i32(value: int) -> Scalar:
    return Scalar("i32", value)


def i64(value: int) -> Scalar:
    return Scalar("i64", value)


def f32(value: float) -> Scalar:
    return Scalar("f32", value)


STREAM = Scalar("stream", 0)


@dataclass(frozen=True)
class HostTable:
    """An argument: a pointer to a table in host memory, every field 8 bytes (a pointer or an i64).

    The table is written anew for each call and belongs to the caller: the entry reads it, and must have
    read it when it returns.
    """

    rows: tuple[tuple[At | Scalar, ...], ...]


Argument = At | Scalar | HostTable


@dataclass(frozen=True)
class Call:
    """One call of the entry point: the device memory it finds, and its arguments in order.

    Every buffer is an allocation of its own. All bytes of the buffers in `outputs` are compared with what
    the reference leaves there, so whatever must stay untouched is checked too; the others must not change.
    Those in `scratch` are room to work in: what they hold means nothing, before and after, the reference
    never sees them, and of their tensors only shape and type count.
    A call that must be refused says with which error in `returns`; then no buffer may change at all.
    """

    buffers: Mapping[str, torch.Tensor]
    outputs: tuple[str, ...]
    arguments: tuple[Argument, ...]
    returns: int = 0  # the cudaError_t that the entry must return
    scratch: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if both := set(self.outputs) & set(self.scratch):
            raise ValueError(f"{', '.join(sorted(both))}: a buffer is compared or is scratch, not both")

    @property
    def kept(self) -> dict[str, torch.Tensor]:
        """The buffers that mean something: all but scratch."""
        return {name: tensor for name, tensor in self.buffers.items() if name not in self.scratch}

    @property
    def inputs(self) -> list[str]:
        """The buffers that must hold after the call what they held before it."""
        return [name for name in self.kept if name not in self.outputs]
