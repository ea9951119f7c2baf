"""What is said of a kernel whose values do not all fit into registers."""

from __future__ import annotations

from common.build.resources import KernelResources
from grader.spec.mechanisms import spills_of


def kernel(stores: int, loads: int) -> KernelResources:
    return KernelResources("_Z6attend", "attend()", "sm_90", 128, 0, 64, stores, loads, 0)


def test_a_kernel_that_spills_is_told_how_many_registers_it_has_and_what_to_try() -> None:
    said = spills_of(kernel(24, 40), " (a case)")
    assert said.startswith("ptxas spills 64 bytes of attend() for sm_90 (a case): its 128 registers")
    assert "unroll less" in said
    assert "__launch_bounds__" in said


def test_nothing_is_said_of_others() -> None:
    assert spills_of(kernel(0, 0)) == ""
