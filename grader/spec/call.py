"""One call of an entry point: device memory, and arguments with their C types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

Buffers = Mapping[str, "torch.Tensor"]  # by name


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

    The caller writes the table for each call and owns it: the entry must have read it when it returns. With a
    `name`, that of the parameter, and its `fields`, messages name buffers by them: "descriptors[0].source".
    """

    rows: tuple[tuple[At | Scalar, ...], ...]
    name: str = ""
    fields: tuple[str, ...] = ()


Argument = At | Scalar | HostTable


@dataclass(frozen=True)
class Call:
    """One call of the entry point: its device memory, and its arguments in order.

    Every buffer is an allocation of its own. All bytes of the buffers in `outputs` are compared with the
    reference's, so elements that must stay as they are get checked, too. Buffers in `scratch` are work space:
    their contents are never compared, the reference does not see them, and only shape and type of their
    tensors count. All other buffers must not change. A call that must be refused has its error in `returns`;
    then no buffer may change.

    Rows of a buffer in `apart` lie so many elements apart on the device, and its tensor holds the rows alone:
    offsets past 2^31 cost a virtual GPU no memory. What lies between the rows is not compared.
    """

    buffers: Buffers
    outputs: tuple[str, ...]
    arguments: tuple[Argument, ...]
    returns: int = 0  # the cudaError_t that the entry must return
    scratch: tuple[str, ...] = ()
    apart: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if both := set(self.outputs) & set(self.scratch):
            raise ValueError(f"{', '.join(sorted(both))}: a buffer is compared or is scratch, not both")
        for name, distance in self.apart.items():
            shape = tuple(self.buffers[name].shape)
            if len(shape) != 2 or 0 in shape or distance < shape[1]:
                raise ValueError(f"{name}: rows of {shape} cannot lie {distance} elements apart")

    @property
    def kept(self) -> dict[str, torch.Tensor]:
        """All buffers but scratch."""
        return {name: tensor for name, tensor in self.buffers.items() if name not in self.scratch}

    @property
    def inputs(self) -> list[str]:
        """The buffers that must not change."""
        return [name for name in self.kept if name not in self.outputs]

    def label(self, name: str) -> str:
        """The buffer's name in messages: where one field of a table alone points to its start, that field."""
        fields = [
            (at.offset, f"{table.name}[{number}].{field}")
            for table in self.arguments
            if isinstance(table, HostTable) and table.name
            for number, row in enumerate(table.rows)
            for at, field in zip(row, table.fields, strict=True)
            if isinstance(at, At) and at.buffer == name
        ]
        return fields[0][1] if len(fields) == 1 and fields[0][0] == 0 else name

    def shape(self, name: str) -> tuple[int, ...]:
        """Of the buffer's memory on a device."""
        held = tuple(self.buffers[name].shape)
        if name not in self.apart:
            return held
        rows, columns = held
        return ((rows - 1) * self.apart[name] + columns,)

    def held(self, name: str, memory: torch.Tensor) -> torch.Tensor:
        """The part of that memory which the buffer's tensor holds; a view."""
        if name not in self.apart:
            return memory
        return memory.as_strided(self.buffers[name].shape, (self.apart[name], 1))
