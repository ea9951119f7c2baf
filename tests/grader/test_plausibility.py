"""Times from the worker count only if they are plausible for the device and the grader's clock agrees."""

from __future__ import annotations

import numpy as np

from grader.timing.measured.plausibility import (
    DeviceLimits,
    Samples,
    fits_clock,
    fits_clock_alone,
    fits_device,
    works_on,
)

DEVICE = DeviceLimits(copy_bandwidth=4e12, empty_seconds=2.8e-6)


def samples(event: float, host: float, tail: float = 8e-6, spread: float = 4e-6) -> Samples:
    rng = np.random.default_rng(int(event * 1e9))
    events = list(rng.normal(event, event * 0.01, 64))
    batches = [(host + noise, event) for noise in rng.normal(0, spread, 5)]
    return Samples(events, [tail] * len(events), batches)


def test_plausible_times_are_accepted():
    base, mine = samples(537e-6, 537e-6), samples(300e-6, 300e-6)
    assert fits_device(1 << 30, mine, DEVICE) == ""
    assert fits_clock(base, mine) == ""


def test_a_small_saving_is_left_to_the_events():
    assert fits_clock(samples(7e-6, 7e-6), samples(4e-6, 12e-6)) == ""


def test_a_saving_that_only_the_events_show_is_rejected():
    words = fits_clock(samples(537e-6, 537e-6), samples(322e-6, 537e-6))
    assert "claim to save 215.0 us" in words


def test_a_claimed_slowness_is_accepted():
    assert fits_clock(samples(14e-6, 14e-6), samples(84e-6, 110e-6, spread=1e-6)) == ""


def test_a_claimed_speed_must_be_real():
    assert "claim to save 0.0 us" in fits_clock(samples(100e-6, 100e-6), samples(100e-6, 200e-6))


def test_events_of_a_step_must_agree_with_the_graders_clock():
    assert fits_clock_alone(samples(100e-6, 100e-6)) == ""
    assert fits_clock_alone(samples(4e-6, 22e-6)) == ""
    words = fits_clock_alone(samples(50e-6, 400e-6))
    assert "events report 50.0 us per call, but the grader's clock measured 4" in words


def test_nothing_is_faster_than_an_empty_kernel_or_than_reading_its_input():
    assert "less than the device needs" in fits_device(8192, samples(1.2e-6, 1e-6), DEVICE)
    assert "less than the device needs" in fits_device(1 << 30, samples(50e-6, 50e-6), DEVICE)


def test_work_after_the_stream_is_done_is_seen():
    words = works_on(samples(7e-6, 7e-6), samples(4e-6, 9e-6, tail=13e-6))
    assert "is busy for 5.0 us" in words
    assert "join every stream" in words


def test_a_tail_within_the_baselines_own_spread_is_accepted():
    base, mine = samples(7e-6, 7e-6), samples(4e-6, 9e-6, tail=11e-6)
    assert works_on(base, mine) != ""
    base.tails[:] = [4e-6, 8e-6, 12e-6] * 8
    assert works_on(base, mine) == ""
