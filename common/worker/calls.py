"""Arguments of entry points: which C type each has, checked before anything is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from common.worker.native_script import C_TYPES
from common.worker.process import Value


@runtime_checkable
class OnDevice(Protocol):
    """Something in device memory: a tensor, or a pointer into one."""

    @property
    def address(self) -> int: ...


@dataclass(frozen=True)
class DevicePointer:
    """An address inside a tensor, to be passed to an entry point."""

    address: int

    def __add__(self, offset: int) -> DevicePointer:
        return DevicePointer(self.address + offset)


@dataclass(frozen=True)
class Number:
    """A number with the C type it is passed as."""

    type: str
    value: int | float


def i32(value: int) -> Number:
    return Number("i32", value)


def i64(value: int) -> Number:
    return Number("i64", value)


def f32(value: float) -> Number:
    return Number("f32", value)


# The default stream, for entry points whose last parameter is a cudaStream_t.
stream = Number("stream", 0)


@dataclass(frozen=True)
class Table:
    """A table in the worker's host memory, passed by its address: every field takes 8 bytes.

    It is made for one call and wiped after it: the entry point must have read it when it returns.
    """

    rows: Sequence[Sequence[OnDevice | Number]]


Argument = OnDevice | Number | Table | int | float | None
_ADDRESSES = ("pointer", "stream")
_REALS = ("f32", "f64")


def convert(
    entry: str, arguments: Sequence[Argument], argtypes: Sequence[str] | None
) -> tuple[list[str], list[Value]]:
    """C types and plain values of the arguments, or a TypeError that names the one that does not fit."""
    if argtypes is not None and len(argtypes) != len(arguments):
        raise TypeError(f"{entry}: {len(arguments)} arguments were given for {len(argtypes)} argtypes")
    types: list[str] = []
    values: list[Value] = []
    for position, argument in enumerate(arguments):
        wanted = argtypes[position] if argtypes is not None else None
        where = f"{entry}: argument {position + 1}"
        if wanted is not None and wanted not in C_TYPES:
            raise TypeError(f"{where}: there is no type {wanted!r}; the names are {', '.join(C_TYPES)}")
        kind, value = _typed(argument, wanted, where)
        if wanted is not None and kind != wanted and not {kind, wanted} <= set(_ADDRESSES):
            raise TypeError(f"{where} is {kind}, but argtypes says {wanted}")
        if isinstance(value, int | float):
            _check_range(kind, value, where)
        types.append(kind)
        values.append(value)
    return types, values


def _typed(argument: Any, wanted: str | None, where: str) -> tuple[str, Value]:
    if isinstance(argument, OnDevice):
        return "pointer", argument.address
    if isinstance(argument, Number):
        return argument.type, argument.value
    if isinstance(argument, Table):
        return "table", [_field(item, where) for row in argument.rows for item in row]
    if argument is None:
        return wanted or "pointer", 0
    if isinstance(argument, int | float) and wanted is not None:
        return wanted, argument
    if isinstance(argument, int | float):
        raise TypeError(f"{where} is a bare {argument!r}: wrap it, as in i32(…) or f32(…), or pass argtypes")
    given = type(argument).__name__
    raise TypeError(f"{where} is a {given}: pass a tensor of the virtual GPU or a wrapped number")


def _field(item: OnDevice | Number, where: str) -> int:
    """The eight bytes of a table's field, as an unsigned number."""
    kind, value = _typed(item, None, where)
    if kind in _REALS or not isinstance(value, int):
        raise TypeError(f"{where}: a table holds pointers and whole numbers, not {kind} {value!r}")
    _check_range(kind, value, where)
    return value % (1 << 64)


def _check_range(kind: str, value: int | float, where: str) -> None:
    if kind in _REALS:
        return
    if not isinstance(value, int):
        raise TypeError(f"{where}: {value!r} is not a whole number, as {kind} wants")
    bits = 64 if kind in _ADDRESSES else int(kind[1:])
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "i" else (0, (1 << bits) - 1)
    if not low <= value <= high:
        raise ValueError(f"{where}: {value} does not fit {kind}, which holds {low} to {high}")
