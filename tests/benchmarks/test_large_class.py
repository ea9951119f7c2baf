"""The simulation of a large class: nothing is lost, and no time appears from nowhere."""

from __future__ import annotations

import pytest

from benchmarks.turnaround.large_class import Site, simulate


def test_without_losses_it_is_a_division():
    site = Site(nodes=2, cpus=2, lost_nodes=0, first_build_seconds=10)
    outcome = simulate([5.0] * 40, site)
    assert (outcome.graded_seconds, outcome.tried_again) == (10 + 50, 0)
    assert outcome.busy == pytest.approx(200 / (60 * 4), abs=0.001)


def test_a_lost_node_costs_time_and_no_task():
    calm = simulate([5.0] * 400, Site(nodes=4, cpus=2, lost_nodes=0, first_build_seconds=0))
    rough = simulate([5.0] * 400, Site(nodes=4, cpus=2, lost_nodes=2, first_build_seconds=0))
    assert rough.tried_again >= 1
    assert rough.graded_seconds > calm.graded_seconds
    assert rough.tasks == 400
