"""What the hardware allows: tensor cores at the clock they had, and memory."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.flash.results import Found
from common.virtual_gpu.profiles import find_profile

# Of a multiprocessor of compute capability 9.0 in fp16, dense: 132 of them at 1,830 MHz are NVIDIA's 989
# TFLOP/s. Only wgmma comes near it.
FLOPS_PER_CLOCK = 4096
# mma.sync, which the course's kernels use, is slower. The cycles per 16 x 8 x 16 come from the cost model.
_MMA_FLOPS = 2 * 16 * 8 * 16
_SCHEDULERS = 4


@dataclass(frozen=True)
class Roofs:
    """Flops and bytes per second."""

    mhz: int
    dense: float
    mma: float
    bandwidth: float

    def allowed(self, intensity: float) -> float:
        """The roof in flops per second at this many flops per byte."""
        return min(self.dense, intensity * self.bandwidth)

    @property
    def dense_label(self) -> str:
        return f"dense fp16 peak at {self.mhz:,} MHz: {self.dense / 1e12:,.0f} TFLOP/s"

    @property
    def mma_label(self) -> str:
        return f"mma.sync, by the cost model: {self.mma / 1e12:,.0f} TFLOP/s"


def roofs(result: Found) -> Roofs:
    """At the clock of busy multiprocessors, where the file has it."""
    mhz = result["clock_mhz_busy"] or max(result["clock_mhz"])
    clocks = result["multiprocessors"] * mhz * 1e6
    cycles = find_profile("h200").tensor_cycles_per_mma
    return Roofs(
        mhz,
        clocks * FLOPS_PER_CLOCK,
        clocks * _SCHEDULERS * _MMA_FLOPS / cycles,
        result["copy_bytes_per_second"],
    )
