"""Gates: nothing that cannot build or run gets through, and what is refused is refused for its reason."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.build.errors import BuildError
from common.build.resources import resources
from grader.building.build import HEADERS
from grader.devices.device import VirtualDevice
from grader.spec import registry
from grader.tuning import gates
from grader.tuning.find import find
from grader.tuning.gates import Footprint
from grader.tuning.run import DOCUMENT_OCCUPANCY
from grader.tuning.space import Space, key
from grader.tuning.spec import Limits

H200 = gates.multiprocessor(VirtualDevice())
FLASH = find("05")
TUNING = FLASH.tuning
SIZE = TUNING.cases[0].size
LIMITS = {"gated": TUNING.gated, "free": Limits()}
SPACE = Space(TUNING.tunables)


def refusal(config, limits=TUNING.gated):
    return gates.before_build(TUNING, config, SIZE, limits, H200)


@settings(max_examples=300, deadline=None)
@given(
    config=st.fixed_dictionaries({name: st.sampled_from(values) for name, values in TUNING.tunables.items()}),
    search=st.sampled_from(sorted(LIMITS)),
)
def test_what_passes_divides_and_fits(config, search):
    """The kernel's own conditions, written down once more."""
    limits = LIMITS[search]
    if refusal(config, limits):
        return
    rows, keys, warps, stages = (config[name] for name in ("BLOCK_M", "BLOCK_N", "WARPS", "STAGES"))
    for head_dim, tile_rows, tile_keys in ((64, rows, keys), (128, 16 * warps, 32)):
        at_once = 32 * warps // (head_dim // 8)
        assert tile_rows % (16 * warps) == 0
        assert tile_keys % 16 == 0
        assert at_once % 8 == 0
        assert tile_keys % at_once == 0
        assert tile_rows % at_once == 0
    shared = max(stages * 2 * keys, rows) * 2 * 64
    assert shared <= (48 * 1024 if search == "gated" else 227 * 1024)
    assert config["BLOCKS_PER_SM"] * (shared + 1024) <= 228 * 1024
    assert config["BLOCKS_PER_SM"] * 32 * warps <= 2048
    assert 32 * warps <= 1024


def test_the_defaults_are_the_source_s_own_and_pass():
    source = FLASH.source.read_text()
    for name, value in TUNING.defaults.items():
        assert f"#define {name} {value}\n" in source
        assert value in TUNING.tunables[name]
    assert refusal(TUNING.defaults) is None


def test_a_search_has_enough_to_choose_from():
    assert len([config for config in SPACE if refusal(config) is None]) > 100


@pytest.mark.parametrize(
    ("changes", "gate"),
    [
        ({"BLOCK_M": 32, "WARPS": 6}, "divisibility"),  # the document's own first configuration
        ({"BLOCK_M": 64, "WARPS": 8}, "divisibility"),
        ({"BLOCK_N": 48, "WARPS": 8, "BLOCK_M": 128}, "divisibility"),
        ({"BLOCK_N": 128, "STAGES": 3}, "shared memory"),
        ({"BLOCK_N": 96, "STAGES": 2, "BLOCKS_PER_SM": 5}, "shared memory"),
        ({"BLOCK_M": 256, "WARPS": 16, "BLOCK_N": 64, "BLOCKS_PER_SM": 5}, "threads"),
    ],
)
def test_a_gate_refuses_before_anything_is_built(changes, gate):
    found = refusal({**TUNING.defaults, **changes})
    assert found is not None
    assert found.gate == gate
    assert found.reason


def test_more_shared_memory_is_allowed_where_the_search_is_free():
    config = {**TUNING.defaults, "BLOCK_N": 128, "STAGES": 3, "BLOCKS_PER_SM": 2}
    assert refusal(config, LIMITS["gated"]).gate == "shared memory"
    assert refusal(config, LIMITS["free"]) is None


def test_what_is_refused_as_indivisible_does_not_compile():
    config = {**TUNING.defaults, "BLOCK_M": 128, "WARPS": 8, "BLOCK_N": 48}
    assert refusal(config).gate == "divisibility"
    defines = [f"{name}={value}" for name, value in config.items()]
    with pytest.raises(BuildError, match="static assertion"):
        resources(FLASH.source, arches=["sm_90"], defines=defines, include_dirs=[HEADERS])


@pytest.mark.parametrize(
    ("taken", "gate"),
    [
        (Footprint(128, 16384, registers=96), ""),
        (Footprint(128, 16384, registers=97), "registers"),
        (Footprint(128, 16384, registers=96, spilled=4), "spills"),
    ],
)
def test_gates_after_a_build(taken, gate):
    found = gates.after_build(taken, TUNING.gated, H200)
    assert (found.gate if found else "") == gate
    assert gates.after_build(taken, Limits(), H200) is None


def test_96_registers_and_half_the_warps_cannot_both_be():
    four_warps = Footprint(128, 16384, registers=96)
    assert gates.occupancy(four_warps, H200) == pytest.approx(0.3125)
    found = gates.after_build(four_warps, Limits(occupancy=DOCUMENT_OCCUPANCY), H200)
    assert found is not None
    assert found.gate == "occupancy"
    assert "31%" in found.reason


@pytest.mark.parametrize(
    ("taken", "fraction"),
    [
        (Footprint(1024, 0, registers=32), 1.0),
        (Footprint(32, 0, registers=16), 0.5),  # by the number of blocks
        (Footprint(128, 100 * 1024, registers=32), 0.125),  # by shared memory
        (Footprint(128, 0, registers=255), 0.125),
    ],
)
def test_occupancy_is_what_the_scarcest_allows(taken, fraction):
    assert gates.occupancy(taken, H200) == fraction


def test_numbers_name_every_configuration_once():
    assert len({key(config) for config in SPACE}) == SPACE.size


def test_no_exercise_is_named_in_the_grader():
    folder = registry.EXERCISES.parent / "grader" / "tuning"
    text = "".join(path.read_text() for path in folder.glob("*.py"))
    assert "flash" not in text
    assert "attention" not in text
