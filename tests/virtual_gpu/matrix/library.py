"""The engine's tensor-core operations, built into a library of their own and called from Python."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from common.build.cache import default_cache
from common.build.compile import compile_units
from common.build.engine.build import SOURCE_DIR, isa_flags, standard_headers
from common.build.engine.groups import grouped
from common.build.link import link
from common.build.toolchain import find_host_compiler
from common.build.unit import Unit

ENGINE = SOURCE_DIR / "engine"
LANES = 32
SLOT_BYTES = 8 * LANES  # driver.cpp's register slots have room for 64-bit lanes
BUILDS = ("fast", "portable") if isa_flags() else ("portable",)


class WmmaLayout:
    """A fragment as the engine describes it; `places[lane][element]` is (row, col)."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.rows, self.cols = numbers[0], numbers[1]
        self.row_major, self.is_store = bool(numbers[2]), bool(numbers[3])
        self.element_bytes, self.register_bytes, self.registers, self.elements_per_register = numbers[4:8]
        self.places = np.array(numbers[8:]).reshape(LANES, self.registers * self.elements_per_register, 2)


class MatrixLibrary:
    """One build of the operations. Registers are numpy arrays of shape (registers, 32)."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        for name in ("form_name", "form_signature"):
            getattr(self._library, name).restype = ctypes.c_char_p

    def forms(self) -> dict[str, str]:
        """Signature of every row, by name."""
        indices = range(self._library.form_count())
        names = [self._library.form_name(i).decode() for i in indices]
        signatures = [self._library.form_signature(i).decode() for i in indices]
        return dict(zip(names, signatures, strict=True))

    def run(self, name: str, results: int, operands: Sequence[np.ndarray]) -> np.ndarray:
        """The `results` destination registers of a form applied to the registers of its operands."""
        sources = np.concatenate(operands)
        file = np.zeros((results + len(sources), SLOT_BYTES // sources.itemsize), sources.dtype)
        file[results:, :LANES] = sources
        self.run_in_place(name, file, list(range(len(file))))
        return file[:results, :LANES].copy()

    def run_in_place(self, name: str, file: np.ndarray, slots: Sequence[int]) -> None:
        """Run on a register file of 256-byte slots, operands named by slot."""
        assert file.flags.c_contiguous
        assert file.shape[1] * file.itemsize == SLOT_BYTES
        wanted = np.array(slots, np.uint32)
        known = self._library.run_form(name.encode(), _pointer(file), _pointer(wanted), len(wanted))
        assert known, f"the engine has no row {name}"

    def wmma_layout(self, opcode: str) -> WmmaLayout | None:
        numbers = np.zeros(8 + LANES * 16 * 2, np.int32)
        count = self._library.wmma_layout(opcode.encode(), _pointer(numbers))
        return WmmaLayout(numbers[:count].tolist()) if count else None

    def ldmatrix(self, matrices: np.ndarray, trans: bool) -> np.ndarray:
        """Registers (count, 32) of u32 from (count, 8, 8) 16-bit matrices, given as rows in memory."""
        rows, out = np.ascontiguousarray(matrices, np.uint16), np.zeros((len(matrices), LANES), np.uint32)
        self._library.ldmatrix(_pointer(rows), len(rows), int(trans), _pointer(out))
        return out

    def stmatrix(self, registers: np.ndarray, trans: bool) -> np.ndarray:
        source, out = np.ascontiguousarray(registers, np.uint32), np.zeros((len(registers), 8, 8), np.uint16)
        self._library.stmatrix(_pointer(source), len(source), int(trans), _pointer(out))
        return out


@cache
def build(variant: str) -> MatrixLibrary:
    """`fast` uses this machine's vector instructions, `portable` none beyond the architecture's own and is
    hardly optimised: the same sources must give the same bits."""
    compiler, files = find_host_compiler(), default_cache()
    optimised = ("-O3", *isa_flags()) if variant == "fast" else ("-O1",)
    flags = (
        "-std=c++20",
        "-fPIC",
        "-ffp-contract=off",
        "-fno-math-errno",
        "-Wall",
        "-Wextra",
        "-Werror",
    )
    operations = sorted((ENGINE / "ops").glob("matrix*.cpp"))
    sources = [*operations, ENGINE / "ops" / "form_table.cpp", Path(__file__).with_name("driver.cpp")]
    units = [
        Unit(
            source.path,
            (str(compiler.path), "-c", *flags, *optimised, f"-I{ENGINE}"),
            compiler.fingerprint,
            precompiled=standard_headers(ENGINE, compiler),
        )
        for source in grouped(sources, ENGINE, files)
    ]
    objects = compile_units(units, cache=files, label=f"building the tensor-core tests ({variant})")
    entry, _ = link(
        [str(compiler.path), "-shared"],
        objects,
        output="libmatrix.so",
        libraries=[],
        fingerprint=compiler.fingerprint,
        cache=files,
    )
    return MatrixLibrary(entry.path / "libmatrix.so")


def _pointer(array: np.ndarray) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)
