"""JSON as frozen dataclasses, and fields that the engine's C++ and Python share.

A name that the data has and the class lacks, or the other way round, is an error which says the name.
"""

from __future__ import annotations

import functools
import re
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

ENGINE = Path(__file__).with_name("engine")
_ENTRY = re.compile(r"^([A-Z_]+)\((\w+)[,)]", re.MULTILINE)
_UNMADE = "_unmade"
T = TypeVar("T")


class UnknownNames(ValueError):
    """The two sides do not agree on the names of something."""


def decode(kind: type[T], data: Any, *, complete: bool = False) -> T:
    """`data`, as JSON has it, as an object of the dataclass `kind`, and so what it contains.

    Names that `kind` lacks are refused, but for those it lists in `derived`: what the writer adds for other
    readers. What has a default may be absent; with `complete` only what `kind` lists in `sometimes` may.
    A list stands for an object's values in order.
    """
    shape = _shapes.get(kind) or _shape(kind)
    if isinstance(data, list):
        data = dict(zip(shape.readers, data, strict=True))
    names = data.keys()
    if not names <= shape.known:
        raise UnknownNames(f"{_listed(names - shape.known)} in the data, but not in {kind.__name__}")
    wanted = shape.always if complete else shape.required
    if not wanted <= names:
        raise UnknownNames(f"{_listed(wanted - names)} in {kind.__name__}, but not in the data")
    made = object.__new__(kind)
    values = vars(made)  # not through the constructor: a report has thousands of counters
    values.update(shape.defaults)
    values.update(data)
    for name, make in shape.factories.items():
        if name not in names:
            values[name] = make()
    for name in shape.derived:
        values.pop(name, None)
    for name, reader in shape.composed.items():
        if name not in names:
            continue
        if name in shape.later:
            make_later(made, name, functools.partial(reader, values[name], complete))
        else:
            values[name] = reader(data[name], complete)
    return made


class DecodedLater:
    """A dataclass of which some fields, those that it lists in `later`, are made when somebody asks for them.
    They may have no defaults."""

    later: ClassVar[tuple[str, ...]] = ()

    def __getattr__(self, name: str) -> Any:  # only where the object has none of that name
        make = vars(self).get(_UNMADE, {}).get(name)
        if make is None:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        vars(self)[name] = made = make()
        return made

    def __getstate__(self) -> dict[str, Any]:
        """For another process: with all fields made."""
        for name in vars(self).get(_UNMADE, {}):
            getattr(self, name)
        return {name: value for name, value in vars(self).items() if name != _UNMADE}


def make_later(owner: Any, name: str, make: Callable[[], Any]) -> None:
    """Let `make` make a field of a DecodedLater when it is asked for."""
    values = vars(owner)
    values.pop(name, None)
    values[_UNMADE] = {**values.get(_UNMADE, {}), name: make}


def with_later(owner: T, name: str, make: Callable[[], Any]) -> T:
    """A copy with another value of that field, made when it is asked for."""
    made = object.__new__(type(owner))
    vars(made).update(vars(owner))
    make_later(made, name, make)
    return made


@typing.dataclass_transform(frozen_default=True)
def listed_in(table: Path, types: Mapping[str, type], **default: Any) -> Callable[[type[T]], type[T]]:
    """Makes a class a frozen dataclass of the fields that a .def file of the engine lists, and its own.

    `types` has the type for each macro of the file. With `default`, data may lack the listed fields.
    """

    def add_fields(kind: type[T]) -> type[T]:
        listed = {name: types[macro] for macro, name in _ENTRY.findall(table.read_text())}
        own = kind.__annotations__
        kind.__annotations__ = {name: own[name] for name in own if not hasattr(kind, name)} | listed | own
        for name in listed:
            setattr(kind, name, field(**default))
        setattr(kind, "listed", frozenset(listed))  # noqa: B010
        return dataclass(frozen=True)(kind)

    return add_fields


_Reader = Callable[[Any, bool], Any]


@dataclass(frozen=True)
class _Shape:
    """What `decode` asks of a dataclass, found once."""

    readers: Mapping[str, _Reader | None]  # of every field, in order; None: as JSON has it
    composed: Mapping[str, _Reader]
    defaults: Mapping[str, Any]  # but those of listed fields, which are many: the class has them
    factories: Mapping[str, Callable[[], Any]]
    required: frozenset[str]
    always: frozenset[str]
    derived: frozenset[str]
    later: frozenset[str]
    known: frozenset[str]


_shapes: dict[type[Any], _Shape] = {}


def _shape(kind: type[Any]) -> _Shape:
    hints = typing.get_type_hints(kind)
    readers = {field.name: _reader(hints[field.name]) for field in fields(kind)}
    derived = frozenset(getattr(kind, "derived", ()))
    listed = frozenset(getattr(kind, "listed", ()))
    defaults = {field.name: field.default for field in fields(kind) if field.default is not MISSING}
    factories = {f.name: f.default_factory for f in fields(kind) if f.default_factory is not MISSING}
    _shapes[kind] = shape = _Shape(
        readers=readers,
        composed={name: reader for name, reader in readers.items() if reader is not None},
        defaults={name: default for name, default in defaults.items() if name not in listed},
        factories=factories,
        required=frozenset(readers.keys() - defaults.keys() - factories.keys()),
        always=frozenset(readers.keys() - getattr(kind, "sometimes", ())),
        derived=derived,
        later=frozenset(getattr(kind, "later", ())),
        known=frozenset(readers) | derived,
    )
    return shape


def _reader(hint: Any) -> _Reader | None:
    """How a value of this type is made from JSON; None where JSON has it as it is."""
    if is_dataclass(hint) and isinstance(hint, type):
        return lambda value, complete: decode(hint, value, complete=complete)
    if typing.get_origin(hint) is tuple:
        item = _reader(typing.get_args(hint)[0])
        if item is None:
            return lambda value, complete: tuple(value)
        return lambda value, complete: tuple(item(each, complete) for each in value)
    if typing.get_origin(hint) is types.UnionType:
        inner = _reader(next(each for each in typing.get_args(hint) if each is not types.NoneType))
        if inner is not None:
            return lambda value, complete: None if value is None else inner(value, complete)
    return None


def _listed(names: Any) -> str:
    return ", ".join(sorted(names)) + (" is" if len(names) == 1 else " are")
