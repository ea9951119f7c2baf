"""The programs whose cases are modelled and measured: one source each, built for either device.

A program has a `main` from kernels/bench.cuh. To judge another kernel the same way, write its cases in a new
source and add a row; `defines` builds one source around several implementations.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from common.core.paths import REPOSITORY

_KERNELS = Path(__file__).with_name("kernels")
# Measured and examined before the model had its present form.
SEEN = (
    *("kv_store", "copies", "transposes", "reductions", "matmuls", "attention", "normalise", "stencils"),
    *("sequences", "serving_copies", "columns", "transposes_wide", "products", "decode_attention", "row_ops"),
)
# Predicted by it, and the predictions committed, before any was measured: an earlier set, and the newest.
UNSEEN_EARLIER = ("moves", "folds", "blocks_of_matrices")
UNSEEN = ("between_products", "narrow_weights")
# Implementations of exercise 01 that are one call: folder and file.
_EXERCISE_01 = (
    ("exercises", "baseline"),
    *(("solutions", name) for name in ("kernel", "inline_ptx", "heads_in_parallel", "register_staged")),
    *(("solutions", name) for name in ("restrict_only", "two_launches")),
)


@dataclass(frozen=True)
class Program:
    """A CUDA program of cases. `variant` is put before their names, else those of the source."""

    source: Path
    variant: str = ""
    defines: tuple[str, ...] = ()  # "NAME" or "NAME=VALUE"
    include_dirs: tuple[Path, ...] = (_KERNELS,)

    def name_of(self, case: str) -> str:
        return f"{self.variant}_{case}" if self.variant else case


def _around_exercise_01(folder: str, file: str) -> Program:
    return Program(
        _KERNELS / "exercise_01.cu",
        variant=f"exercise_01_{file}",
        defines=(f"KERNEL={folder}/01_kv_store/{file}.cu",),
        include_dirs=(_KERNELS, REPOSITORY, REPOSITORY / "common" / "cuda"),
    )


PROGRAMS = (
    *(Program(_KERNELS / f"{name}.cu") for name in (*SEEN, *UNSEEN_EARLIER, *UNSEEN)),
    *(_around_exercise_01(*place) for place in _EXERCISE_01),
)
