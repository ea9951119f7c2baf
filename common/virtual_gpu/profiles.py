"""The device profiles, read in one place: profiles.json as objects."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from common.core.errors import CourseError
from common.virtual_gpu.decode import ENGINE, decode, require_same_names

PROFILES = Path(__file__).with_name("profiles.json")


@dataclass(frozen=True)
class Profile:
    """A GPU model: engine/device/profile.def lists the numbers and says what some of them mean."""

    name: str
    cc_major: int
    cc_minor: int
    sms: int
    max_threads_per_sm: int
    max_blocks_per_sm: int
    max_warps_per_sm: int
    registers_per_sm: int
    registers_per_block: int
    register_granularity: int
    shared_per_block: int
    shared_per_block_optin: int
    shared_per_sm: int
    reserved_shared_per_block: int
    shared_granularity: int
    memory_bytes: float
    l2_bytes: float
    clock_ghz: float
    memory_clock_khz: int
    memory_bus_bits: int
    dram_bytes_per_second: float
    l2_bytes_per_second: float
    host_link_bytes_per_second: float
    fp32_lanes_per_sm: float
    tensor_cycles_per_mma: float
    launch_floor_us: float
    launch_gap_us: float
    graph_gap_us: float
    start_spread_us: float
    dispatch_blocks_per_second: float
    dram_latency_cycles: float
    dram_one_way_gain: float
    dram_access_bytes: float
    l2_latency_cycles: float
    sm_bytes_per_cycle: float

    @property
    def compute_capability(self) -> str:
        """As the compiler spells it: "90"."""
        return f"{self.cc_major}{self.cc_minor}"


require_same_names(Profile, ENGINE / "device" / "profile.def", besides=("name",))


@functools.cache
def profiles() -> Mapping[str, Profile]:
    """Every profile that comes with the course, by the name that `--profile` takes."""
    document = json.loads(PROFILES.read_text())
    return {name: decode(Profile, entry) for name, entry in document["profiles"].items()}


def find_profile(name: str) -> Profile:
    if name not in profiles():
        raise CourseError(f"there is no profile {name!r}; there are {', '.join(sorted(profiles()))}")
    return profiles()[name]


DEFAULT_PROFILE: str = json.loads(PROFILES.read_text())["default"]
