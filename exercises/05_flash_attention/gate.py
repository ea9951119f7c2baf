"""When V3 may replace V2: all criteria of its plan, in one table."""

from __future__ import annotations

from grader.gate.criteria import (
    Clean,
    CounterGained,
    EffectSize,
    ErrorAtMost,
    IntervalsApart,
    NothingSpilled,
    OneDistribution,
    RegistersAtMost,
    SharedMemoryAtMost,
    TimeSaved,
)
from grader.gate.measured import MEMCHECK, RACECHECK, VIRTUAL_GPU
from grader.gate.spec import Gate
from grader.tuning.counters import DRAM_THROUGHPUT, L2_HITS

from .exercise import DOCUMENT, MAIN

gate = Gate(
    replaced="V2",
    proposed="V3",
    case=MAIN,
    cases=DOCUMENT,
    checked=tuple(case for case in DOCUMENT if not case.gpu_only),
    criteria=(
        TimeSaved(0.20),
        IntervalsApart(),
        EffectSize(0.8),
        OneDistribution(0.05),  # the plan asks for p without a limit: take that of a 95 % interval
        CounterGained(L2_HITS, +8, "L2 hit rate"),
        CounterGained(DRAM_THROUGHPUT, -10, "DRAM throughput"),
        Clean((VIRTUAL_GPU,), "the virtual GPU's checks", needed=True),
        Clean((MEMCHECK, RACECHECK), "compute-sanitizer"),
        ErrorAtMost(1e-2),
        SharedMemoryAtMost(48 * 1024),
        RegistersAtMost(96),
        NothingSpilled(),
    ),
    # 32 rows per warp: every piece of keys and values that ldmatrix loads is used twice.
    free={"BLOCK_M": 128, "BLOCK_N": 64, "BLOCKS_PER_SM": 2},
)
