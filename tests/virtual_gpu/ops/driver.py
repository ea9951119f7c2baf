"""The engine's arithmetic opcodes in a process of their own, driven from Python."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from common.build.cache import default_cache
from common.build.compile import compile_units
from common.build.engine.build import _ENGINE_FLAGS, _units
from common.build.link import link
from common.build.toolchain import find_host_compiler
from tests.virtual_gpu.engine_units import ENGINE, engine_units, linker

LANES = 32
ALL_LANES = 0xFFFFFFFF
SLOT_BYTES = 256
_LIST, _RUN = 0, 1
# An 8-bit register lies in a 16-bit slot, a predicate's 32 lanes are the bits of one word.
_BYTES_A_LANE = {1: 4, 8: 2, 16: 2, 32: 4, 64: 8}


@dataclass(frozen=True)
class Slot:
    """A register (width in bits) or predicate (width 1) that a form reads or writes."""

    width: int
    is_result: bool

    @property
    def lanes(self) -> int:
        return 1 if self.width == 1 else LANES

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(f"u{_BYTES_A_LANE[self.width]}")


_CARRIES = {"+c": [Slot(1, True)], "-c": [Slot(1, False)], "*c": [Slot(1, False), Slot(1, True)]}


def slots_of(signature: str) -> list[Slot]:
    """The slots of a signature in the driver's order."""
    found: list[Slot] = []
    for position, token in enumerate(signature.split()):
        first = position == 0
        if token == "#":
            continue
        if token == "p|p":
            found += [Slot(1, True), Slot(1, True)]
        elif token == "p":
            found.append(Slot(1, first))
        elif token.endswith("c"):
            found += _CARRIES[token]
        else:
            width, _, count = token.partition("x")
            found += [Slot(int(width), first)] * int(count or 1)
    return found


class OpDriver:
    """A running driver. Forms are (name, signature) pairs: several moves share a name."""

    def __init__(self, path: Path) -> None:
        self._process = subprocess.Popen([str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._send(struct.pack("8I", _LIST, 0, 0, 0, 0, 0, 0, 0))
        (length,) = struct.unpack("Q", self._receive(8))
        lines = [line.split("\t") for line in self._receive(length).decode().splitlines()]
        self.forms: list[tuple[str, str]] = [(name, signature) for name, signature in lines]
        self._rows = {form: row for row, form in enumerate(self.forms)}

    def run(
        self,
        form: tuple[str, str],
        operands: Sequence[np.ndarray],
        *,
        exec_masks: np.ndarray | None = None,
        imm: int = 0,
        alias: int | None = None,
    ) -> list[np.ndarray]:
        """All slots after the form has run on `operands`, one array of shape (warps, lanes) a slot.

        Without masks the form for full warps runs. With `alias`, the first result is that slot's register.
        """
        slots = slots_of(form[1])
        files = np.zeros((len(operands[0]), len(slots), SLOT_BYTES), np.uint8)
        for place, (slot, operand) in enumerate(zip(slots, operands, strict=True)):
            raw = np.ascontiguousarray(operand, slot.dtype).view(np.uint8).reshape(len(files), -1)
            files[:, place, : raw.shape[1]] = raw
        places = [alias if alias is not None and place == 0 else place for place in range(len(slots))]
        _, files = self._exchange(form, files, places, exec_masks, imm, 1)
        return [
            np.ascontiguousarray(files[:, place, : slot.lanes * slot.dtype.itemsize])
            .view(slot.dtype)
            .reshape(len(files), slot.lanes)
            for place, slot in zip(places, slots, strict=True)
        ]

    def nanoseconds(self, form: tuple[str, str], *, full: bool = True, repeats: int = 20000) -> float:
        """How long one run takes on a warm register file of ordinary values."""
        slots = slots_of(form[1])
        files = np.zeros((1, len(slots), SLOT_BYTES), np.uint8)
        for place, slot in enumerate(slots):
            raw = _ordinary_values(form[0], slot.width).view(np.uint8)
            files[0, place, : len(raw)] = raw
        masks = None if full else np.array([0x0FF0FF0F], np.uint32)
        places = list(range(len(slots)))
        seconds = [self._exchange(form, files, places, masks, 0x96, repeats)[0] for _ in range(5)]
        return min(seconds) / repeats * 1e9

    def _exchange(
        self,
        form: tuple[str, str],
        files: np.ndarray,
        places: Sequence[int],
        exec_masks: np.ndarray | None,
        imm: int,
        repeats: int,
    ) -> tuple[float, np.ndarray]:
        masks = np.full(len(files), ALL_LANES, np.uint32) if exec_masks is None else exec_masks
        words = (_RUN, self._rows[form], exec_masks is None, imm & ALL_LANES, imm >> 32)
        header = struct.pack("8I", *words, len(files), files.shape[1], repeats)
        self._send(header, np.array(places, np.uint32), masks.astype(np.uint32), files)
        (seconds,) = struct.unpack("d", self._receive(8))
        return seconds, np.frombuffer(self._receive(files.nbytes), np.uint8).reshape(files.shape)

    def _send(self, *parts: bytes | np.ndarray) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(b"".join(bytes(part) for part in parts))
        self._process.stdin.flush()

    def _receive(self, count: int) -> bytes:
        assert self._process.stdout is not None
        data = self._process.stdout.read(count)
        assert len(data) == count, f"the driver ended with status {self._process.wait()}"
        return data


def _ordinary_values(name: str, width: int) -> np.ndarray:
    """Numbers between 0.5 and 3, in the type the form works on; packed types have two in a lane."""
    values = np.random.default_rng(1).uniform(0.5, 3.0, 2 * LANES).astype(np.float32)
    if "bf16" in name:
        halves = (values.view(np.uint32) >> 16).astype(np.uint16)
    else:
        halves = values.astype(np.float16).view(np.uint16)
    if width == 32 and not name.endswith("x2"):
        return values[:LANES]
    return values[:LANES].astype(np.float64) if width == 64 else halves[: max(width, 16) * LANES // 16]


@cache
def build(variant: str) -> OpDriver:
    """`fast` runs the engine's own object files. `portable` is compiled without this machine's vector
    instructions and not optimised: the same sources must give the same bits."""
    compiler, files = find_host_compiler(), default_cache()
    operations = sorted((ENGINE / "ops").glob("*.cpp"))
    sources = [path for path in operations if not path.name.startswith("matrix")]
    sources.append(Path(__file__).with_name("op_driver.cpp"))
    if variant == "fast":
        units = engine_units(sources)
    else:
        units = _units(sources, ENGINE, (*_ENGINE_FLAGS, "-O0"), compiler, None, files)
    objects = compile_units(units, cache=files, label=f"building the opcode tests ({variant})")
    entry, _ = link(
        linker() if variant == "fast" else [str(compiler.path)],
        objects,
        output="op_driver",
        libraries=[],
        fingerprint=compiler.fingerprint,
        cache=files,
    )
    return OpDriver(entry.path / "op_driver")
