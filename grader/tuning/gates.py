"""Gates that refuse configurations: before a build, where they cost nothing, and after it.

Before: tiles and warps that do not divide, too many threads or too much shared memory. After: registers,
spills and occupancy, which only the compiler knows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from common.gpu.devices import first_gpu
from common.virtual_gpu.profiles import DEFAULT_PROFILE, Profile, find_profile, profiles
from grader.devices.device import Device
from grader.spec import Size
from grader.tuning.spec import Config, Limits, Tuning

_WARP = 32
_SCHEDULERS = 4  # per multiprocessor, each with its own part of the registers
_THREADS_PER_BLOCK = 1024
BEFORE = ("divisibility", "threads", "shared memory")
AFTER = ("registers", "spills", "occupancy")


@dataclass(frozen=True)
class Multiprocessor:
    """The resources of one multiprocessor, and their allocation units."""

    threads: int
    blocks: int
    registers: int
    register_portion: int  # a warp's registers come in multiples of it
    shared: int
    shared_portion: int
    shared_reserved: int  # per block, for the system
    shared_per_block: int  # maximum, when the kernel requests more than 48 KB

    @property
    def warps(self) -> int:
        return self.threads // _WARP


@dataclass(frozen=True)
class Refusal:
    """The gate that refused a configuration, and a sentence."""

    gate: str
    reason: str


@dataclass(frozen=True)
class Footprint:
    """The resources of one block."""

    threads: int
    shared: int
    registers: int = 0  # per thread
    spilled: int = 0  # bytes


def multiprocessor(device: Device) -> Multiprocessor:
    """Of the virtual GPU's profile, or of this machine's GPU."""
    if device.modelled:
        return _of_profile(find_profile(device.virtual.profile))
    cc = first_gpu().cc
    same = (one for one in profiles().values() if one.compute_capability == cc)
    return _as_torch_says(_of_profile(next(same, find_profile(DEFAULT_PROFILE))))


def _of_profile(profile: Profile) -> Multiprocessor:
    return Multiprocessor(
        threads=profile.max_threads_per_sm,
        blocks=profile.max_blocks_per_sm,
        registers=profile.registers_per_sm,
        register_portion=profile.register_granularity,
        shared=profile.shared_per_sm,
        shared_portion=profile.shared_granularity,
        shared_reserved=profile.reserved_shared_per_block,
        shared_per_block=profile.shared_per_block_optin,
    )


def _as_torch_says(known: Multiprocessor) -> Multiprocessor:
    """A GPU without a profile differs most in these; allocation units have long been the same on all."""
    import torch

    found = torch.cuda.get_device_properties(0)
    return replace(
        known,
        threads=found.max_threads_per_multi_processor,
        registers=getattr(found, "regs_per_multiprocessor", known.registers),
        shared=getattr(found, "shared_memory_per_multiprocessor", known.shared),
        shared_per_block=getattr(found, "shared_memory_per_block_optin", known.shared_per_block),
    )


def before_build(
    tuning: Tuning, config: Config, size: Size, limits: Limits, sm: Multiprocessor
) -> Refusal | None:
    """Why this configuration is not built."""
    if reason := tuning.indivisible(config):
        return Refusal("divisibility", reason)
    threads, blocks = tuning.threads(config), tuning.blocks_per_sm(config)
    if threads > _THREADS_PER_BLOCK:
        return Refusal("threads", f"a block of {threads:,} threads; CUDA has {_THREADS_PER_BLOCK:,} at most")
    if threads * blocks > sm.threads:
        held = f"a multiprocessor holds {sm.threads:,}"
        return Refusal("threads", f"{blocks} blocks of {threads} threads must fit; {held}")
    shared = tuning.shared_bytes(config, size)
    most = sm.shared_per_block if limits.shared_bytes is None else limits.shared_bytes
    if shared > most:
        return Refusal("shared memory", f"a block takes {shared:,} bytes; {most:,} are allowed")
    if blocks * _shared_taken(shared, sm) > sm.shared:
        held = f"a multiprocessor has {sm.shared:,}"
        return Refusal("shared memory", f"{blocks} blocks of {shared:,} bytes must fit; {held}")
    return None


def after_build(taken: Footprint, limits: Limits, sm: Multiprocessor) -> Refusal | None:
    """Why this build is not measured."""
    if limits.registers is not None and taken.registers > limits.registers:
        return Refusal("registers", f"{taken.registers} per thread; {limits.registers} are allowed")
    if taken.spilled and not limits.spills:
        return Refusal("spills", f"{taken.spilled} bytes of registers are spilled; none are allowed")
    reached = occupancy(taken, sm)
    if limits.occupancy is not None and reached < limits.occupancy:
        why = f"{taken.registers} registers, {taken.threads} threads and {taken.shared:,} bytes per block"
        return Refusal("occupancy", f"{reached:.0%} with {why}; {limits.occupancy:.0%} are required")
    return None


def occupancy(taken: Footprint, sm: Multiprocessor) -> float:
    """The fraction of a multiprocessor's warps that blocks like this one can fill."""
    warps = -(-taken.threads // _WARP)
    of_a_warp = _rounded(_WARP * max(1, taken.registers), sm.register_portion)
    fitting = min(
        sm.blocks,
        sm.warps // warps,
        sm.registers // _SCHEDULERS // of_a_warp * _SCHEDULERS // warps,
        sm.shared // _shared_taken(taken.shared, sm),
    )
    return fitting * warps / sm.warps


def _shared_taken(shared: int, sm: Multiprocessor) -> int:
    return _rounded(shared + sm.shared_reserved, sm.shared_portion)


def _rounded(value: int, portion: int) -> int:
    return -(-value // portion) * portion
