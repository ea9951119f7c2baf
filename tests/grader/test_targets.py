"""What counts as met, missed and too close to call, on a GPU and by the model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.records.record import SpeedCase
from grader.spec import CopyBandwidth, HostTime, Speedup
from grader.timing.targets import (
    decide_bandwidth,
    decide_host,
    decide_measured,
    decide_modelled,
    describe,
    missed_bandwidth,
    partial,
)

TARGET = Speedup(cases=("a", "b"), passing=1.15, full=1.40)


def measured(name: str, ratio: float, spread: float = 0.01) -> SpeedCase:
    rng = np.random.default_rng(len(name) + int(ratio * 100))
    base = list(rng.normal(10e-6, 10e-6 * spread, 64))
    mine = list(rng.normal(10e-6 / ratio, 10e-6 / ratio * spread, 64))
    return SpeedCase(
        name,
        {},
        10e-6,
        10e-6 / ratio,
        ratio,
        ratio * (1 - spread),
        ratio * (1 + spread),
        40_000_000,
        "",
        base,
        mine,
    )


def both(a: float, b: float, spread: float = 0.01) -> dict[str, SpeedCase]:
    return {"a": measured("a", a, spread), "b": measured("b", b, spread)}


def test_a_clear_speedup_is_met_and_a_clear_lack_missed():
    assert decide_measured(TARGET, both(1.5, 1.5)).decision == "met"
    assert decide_measured(TARGET, both(1.5, 1.5)).earned == 1.0
    missed = decide_measured(TARGET, both(1.0, 1.05))
    assert (missed.decision, missed.earned) == ("missed", 0.0)


def test_one_slow_case_cannot_hide_in_the_mean():
    missed = decide_measured(TARGET, both(9.0, 0.8))
    assert (missed.decision, missed.earned) == ("missed", 0.0)
    assert "b is slower than the baseline" in missed.message


def test_an_interval_across_the_pass_mark_is_undecided_and_says_which_way_it_went():
    close = decide_measured(TARGET, both(1.155, 1.15, spread=0.2))
    assert close.decision == "undecided"
    assert "the kernel" in close.message


def test_the_model_misses_only_beyond_its_margin():
    assert decide_modelled(TARGET, both(1.0, 1.0), 1.10, []).decision == "missed"
    assert decide_modelled(TARGET, both(1.3, 1.3), 1.10, []).decision == "met"
    close = decide_modelled(TARGET, both(1.1, 1.1), 1.10, [])
    assert close.decision == "undecided"
    assert close.earned > 0


def test_when_the_model_cannot_tell_the_structure_must_be_there():
    result = decide_modelled(TARGET, both(1.1, 1.1), 1.10, ["two launches"])
    assert result.earned == 0
    assert "within the model's error of the target" in result.message
    assert "No points" in result.message
    assert "two launches" in result.message


def test_bandwidth_is_a_fraction_of_a_copy():
    target = CopyBandwidth("a", 0.92)
    assert decide_bandwidth(target, measured("a", 1.0), 4e12).decision == "met"
    assert decide_bandwidth(target, measured("a", 0.5), 4e12).decision == "missed"


def test_the_bandwidth_of_a_step_says_so():
    target = CopyBandwidth("a", 0.6, share=0.1, step="pack")
    assert describe(target) == "bandwidth of pack at a"
    missed = missed_bandwidth(target, "it failed")
    assert (missed.decision, missed.earned, missed.share, missed.message) == ("missed", 0.0, 0.1, "it failed")


def test_marks_can_hold_for_every_case_instead_of_their_mean():
    each = Speedup(cases=("a", "b"), passing=1.25, full=2.0, each=True)
    result = decide_measured(each, both(4.0, 1.5))
    assert result.decision == "met"
    assert result.value == pytest.approx(1.5, rel=0.02)
    assert 0.5 < result.earned < 1.0
    assert decide_measured(each, both(4.0, 1.2)).decision == "missed"
    assert decide_modelled(each, both(4.0, 1.1), 1.10, []).decision == "missed"


def test_as_fast_as_a_library_is_enough_where_that_is_asked():
    equal = Speedup(cases=("a", "b"), passing=1.0, full=1.0, each=True, against="foreach")
    assert decide_measured(equal, both(1.0, 0.995)).earned == 1.0
    slower = decide_measured(equal, both(1.0, 0.8))
    assert "b is slower than foreach" in slower.message


def test_a_target_names_what_it_is_compared_with():
    assert describe(TARGET) == "speedup over the baseline, 2 cases"
    graph = Speedup(cases=("a",), passing=1, full=2, protocol="graph", against="six copies", each=True)
    assert describe(graph) == "speedup over six copies, the slowest of 1 case, in a graph"
    assert graph.gpu_only
    assert not TARGET.gpu_only


def test_host_time_is_paid_by_the_share_of_cases():
    target = HostTime(against="six copies", cases=("a", "b"))
    assert decide_host(target, both(3.0, 1.1)).decision == "met"
    half = decide_host(target, both(3.0, 0.5))
    assert (half.decision, half.earned) == ("missed", 0.5)
    assert "b takes 20.0 us of the host's time per call, six copies 10.0 us" in half.message


@given(st.floats(0.5, 3), st.floats(0.5, 3))
def test_faster_never_earns_less(a, b):
    low, high = sorted((a, b))
    assert partial(low, 1.15, 1.4) <= partial(high, 1.15, 1.4)


@pytest.mark.parametrize(("value", "share"), [(1.0, 0.0), (1.15, 0.5), (1.275, 0.75), (1.4, 1.0), (2.0, 1.0)])
def test_partial_credit_runs_from_the_pass_mark_to_full_marks(value, share):
    assert partial(value, 1.15, 1.40) == pytest.approx(share)
