"""A search: what it tries, what it stores, and how it continues, with optuna or without."""

from __future__ import annotations

import builtins
import importlib.util
import subprocess
import sys
import textwrap
import time

import pytest

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.tuning import gates
from grader.tuning.search import Search
from grader.tuning.space import Space, key
from grader.tuning.spec import Limits
from grader.tuning.store import Store, Trial
from grader.tuning.study import RandomSearch, Tpe, adviser
from tests.grader.tuned_course import SPACE, FakeBench, FakeBuilder, setting_of, tuned_course
from tests.waiting import LONG

__all__ = ["tuned_course"]

pytestmark = pytest.mark.usefixtures("tuned_course")
needs_optuna = pytest.mark.skipif(importlib.util.find_spec("optuna") is None, reason="needs optuna")
ADVISERS = [RandomSearch, pytest.param(None, marks=needs_optuna)]


@pytest.fixture
def no_optuna(monkeypatch):
    """As on a machine that does not have it."""
    real = builtins.__import__

    def without(name, *rest, **named):
        if name.partition(".")[0] == "optuna":
            raise ImportError(f"No module named {name!r}")
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)


def seconds(config) -> float:
    """The more threads and the more numbers each, the faster; no two are within 5 % of each other."""
    return 1e-3 / config["THREADS"] ** 1.2 / config["EACH"]


def searched(
    store,
    bench=None,
    *,
    builder=None,
    trials=100,
    limits=None,
    advice=None,
    notify=lambda text: None,
    first=(),
):
    ground = setting_of(limits=limits)
    advice = advice or adviser(Space(ground.tunable.tuning.tunables), store.trials)
    builder, bench = builder or FakeBuilder(), bench or FakeBench(seconds)
    search = Search(ground, store, advice, builder, bench, notify, first)
    search.run(trials, time.monotonic() + 60)
    return search


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "study.sqlite", "a")


def keys(store) -> list[str]:
    return [key(trial.config) for trial in store.trials]


@pytest.mark.parametrize("kind", ADVISERS)
def test_everything_is_tried_once_and_the_fastest_wins(store, kind):
    ground = setting_of()
    space = Space(ground.tunable.tuning.tunables)
    bench = FakeBench(seconds)
    searched(store, bench, advice=kind(space, ()) if kind else None)
    assert len(keys(store)) == len(set(keys(store))) == SPACE
    assert store.best.config == {"THREADS": 512, "EACH": 4}
    assert store.fastest(5)[0].seconds == seconds(store.best.config)
    assert all(contender.closed for contender in bench.entered)


def test_the_defaults_come_first_and_are_what_must_be_beaten(store):
    searched(store, trials=1)
    first = next(trial for trial in store.trials if trial.built)
    assert first.config == {"THREADS": 32, "EACH": 1}
    assert first.reason == "the first that passes"


@pytest.mark.parametrize("kind", ADVISERS)
def test_what_was_best_elsewhere_is_tried_next_and_once(store, kind):
    elsewhere = [{"THREADS": 256, "EACH": 2}, {"THREADS": 64, "EACH": 4}, {"THREADS": 256, "EACH": 2}]
    advice = kind(Space(setting_of().tunable.tuning.tunables), ()) if kind else None
    searched(store, advice=advice, first=elsewhere)
    built = [key(trial.config) for trial in store.trials if trial.built]
    assert built[1:3] == [key(config) for config in elsewhere[:2]]
    assert len(keys(store)) == len(set(keys(store))) == SPACE


def test_what_a_gate_refuses_is_never_built_and_counted_by_gate(store):
    builder = FakeBuilder(registers=lambda config: 100 if config["EACH"] == 8 else 32)
    searched(store, builder=builder)
    assert not [order for order in builder.orders if order.config["THREADS"] == 96]
    counts = store.refused((*gates.BEFORE, *gates.AFTER))
    # 96 threads divide nothing; 512 times 8 numbers take 16 KiB; other blocks of 8 a thread take registers.
    assert counts["divisibility"] == 4
    assert counts["shared memory"] == 1
    assert counts["registers"] == 4
    assert counts["spills"] == counts["occupancy"] == 0
    assert store.tried == SPACE - 5


def test_only_what_is_built_counts_as_a_trial(store):
    searched(store, trials=7)
    assert store.tried == 7


def test_the_document_s_gates_ask_for_occupancy_too(store):
    limits = Limits(occupancy=0.5)
    searched(store, builder=FakeBuilder(lambda config: 96), limits=limits)
    assert store.best is None
    assert store.refused(gates.AFTER)["occupancy"] == store.tried > 0


def test_a_configuration_that_is_wrong_never_wins(store):
    searched(store, FakeBench(lambda config: -1.0 if config["THREADS"] == 512 else seconds(config)))
    assert store.best.config["THREADS"] == 256
    wrong = [trial for trial in store.trials if trial.state == "failed"]
    assert {trial.reason for trial in wrong} == {"its answer is wrong"}


@pytest.mark.parametrize("modelled", [True, False])
def test_slow_trials_are_stopped_only_where_that_saves_samples(store, modelled):
    searched(store, FakeBench(seconds, modelled=modelled), advice=RandomSearch(Space(_tunables()), ()))
    assert ("pruned" in {trial.state for trial in store.trials}) is not modelled


def _tunables():
    return setting_of().tunable.tuning.tunables


@needs_optuna
def test_optuna_prunes_as_well(store):
    bench = FakeBench(seconds, modelled=False)
    searched(store, bench)
    assert "pruned" in {trial.state for trial in store.trials}
    assert isinstance(adviser(Space(_tunables()), ()), Tpe)


def test_a_stopped_search_continues_and_repeats_nothing(store):
    def stop_after_three(text):
        if store.tried == 3:
            raise KeyboardInterrupt

    bench = FakeBench(seconds)
    with pytest.raises(KeyboardInterrupt):
        searched(store, bench, notify=stop_after_three)
    assert all(contender.closed for contender in bench.entered)
    before = keys(store)
    store.close()
    again = Store(store.path, "a")
    assert keys(again) == before
    searched(again, trials=8)
    assert again.tried == 8
    assert keys(again)[: len(before)] == before
    assert len(set(keys(again))) == len(keys(again))


KILLED = textwrap.dedent(
    """
    import os, sys
    from pathlib import Path

    from grader.spec import registry
    from grader.tuning.store import Store
    from tests.grader.test_tuning_search import searched

    root = Path(sys.argv[1])
    registry.EXERCISES, registry.SOLUTIONS = root / "exercises", root / "solutions"
    store = Store(Path(sys.argv[2]), "a")

    def kill(text):
        if store.tried == 3:
            os._exit(9)

    searched(store, notify=kill)
    """
)


def test_a_killed_search_continues_and_repeats_nothing(tuned_course, tmp_path):
    path = tmp_path / "killed.sqlite"
    command = [sys.executable, "-c", KILLED, str(tuned_course), str(path)]
    assert subprocess.run(command, cwd=REPOSITORY, timeout=LONG, check=False).returncode == 9
    store = Store(path, "a")
    assert store.tried == 3
    builder = FakeBuilder()
    before = set(keys(store))
    best = store.best
    assert best is not None
    searched(store, builder=builder, trials=6)
    assert store.tried == 6
    built = [key(order.config) for order in builder.orders]
    assert built[0] == key(best.config), "the best is there to be beaten"
    assert not before & set(built[1:])


@pytest.mark.usefixtures("no_optuna")
def test_without_optuna_proposals_are_random(store):
    advice = adviser(Space(_tunables()), ())
    assert isinstance(advice, RandomSearch)
    assert "optuna is not installed" in advice.name
    searched(store)
    assert len(set(keys(store))) == SPACE
    assert store.best.config == {"THREADS": 512, "EACH": 4}


@needs_optuna
def test_a_study_started_with_optuna_continues_without_it(store, request):
    searched(store, trials=5)
    request.getfixturevalue("no_optuna")
    searched(store)
    assert len(keys(store)) == len(set(keys(store))) == SPACE


def test_studies_in_one_file_are_independent(store):
    searched(store, trials=3)
    other = Store(store.path, "b")
    assert other.trials == []
    searched(other, trials=2)
    assert Store(store.path, "a").tried == 3


def test_two_searches_in_one_study_are_distinguished(store):
    other = Store(store.path, store.study)
    trial = Trial({"THREADS": 32, "EACH": 1}, "refused")
    store.add(trial)
    with pytest.raises(CourseError, match="another search writes into"):
        other.add(trial)


def test_a_file_that_is_not_a_study_is_one_error_line(tmp_path):
    (tmp_path / "notes.txt").write_text("not a database, and longer than a header would be " * 4)
    with pytest.raises(CourseError, match=r"notes.txt cannot be used: .* Name another file with --study"):
        Store(tmp_path / "notes.txt", "a")


def test_a_trial_comes_back_from_the_file_as_it_was(store):
    trial = Trial({"EACH": 2, "THREADS": 64}, "promoted", seconds=1e-6, steps={10: 2e-6}, counters={"x": 1.5})
    store.add(trial)
    assert Store(store.path, "a").trials == [trial]
