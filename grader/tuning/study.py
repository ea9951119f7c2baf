"""What to try next, and when to stop a trial: optuna's TPE and median pruner, or a random search with the
same median rule where optuna is not installed.

Advisers live in memory. When a search continues, they learn the trials of the study's file again, so a study
may start with optuna and continue without it.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from typing import Any, Protocol

from grader.tuning.space import Space, key
from grader.tuning.spec import Config
from grader.tuning.store import Trial

_BEFORE_PRUNING = 5  # trials that were timed in full
_BEFORE_MODELLING = 20  # random trials, more than optuna's ten: gates refuse half of them
_ASKED_AGAIN = 20  # attempts to get a new one, before a random choice


class Adviser(Protocol):
    """Proposes configurations, each once, and learns from their results."""

    name: str

    def propose(self) -> dict[str, int] | None:
        """An untried configuration; None when there is none left."""
        ...

    def begin(self, config: Config) -> None:
        """Note that this configuration, which it did not propose, is tried now."""
        ...

    def hopeless(self, config: Config, step: int, seconds: float) -> bool:
        """Whether a trial with a median of `seconds` after `step` samples should stop."""
        ...

    def learn(self, trial: Trial) -> None:
        """Take the result of a configuration that was proposed or begun."""
        ...


def adviser(space: Space, known: Sequence[Trial]) -> Adviser:
    """The best adviser on this machine, with all known trials."""
    try:
        import optuna
    except ImportError:
        return RandomSearch(space, known)
    return Tpe(space, known, optuna)


class RandomSearch:
    """Every untried configuration is equally likely."""

    name = "random search (optuna is not installed)"

    def __init__(self, space: Space, known: Sequence[Trial]) -> None:
        self._space = space
        self._seen = {key(trial.config) for trial in known}
        self._finished = [trial for trial in known if trial.timed]
        self._random = random.Random(len(known))  # a continued search draws others than a new one

    def propose(self) -> dict[str, int] | None:
        config = self._space.unseen(self._seen, self._random)
        if config is not None:
            self.begin(config)
        return config

    def begin(self, config: Config) -> None:
        self._seen.add(key(config))

    def hopeless(self, config: Config, step: int, seconds: float) -> bool:
        others = [trial.steps[step] for trial in self._finished if step in trial.steps]
        return len(others) >= _BEFORE_PRUNING and seconds > statistics.median(others)

    def learn(self, trial: Trial) -> None:
        if trial.timed:
            self._finished.append(trial)


class Tpe:
    """Tree-structured Parzen estimators, and a pruner that stops what is slower than the median."""

    name = "TPE with a median pruner (optuna)"

    def __init__(self, space: Space, known: Sequence[Trial], optuna: Any) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space, self._optuna = space, optuna
        self._random = random.Random(len(known))
        self._choices = {
            name: optuna.distributions.CategoricalDistribution(values)
            for name, values in space.tunables.items()
        }
        # The seed depends on the trials so far: a continued search would otherwise repeat its first draws.
        self._study = optuna.create_study(
            sampler=optuna.samplers.TPESampler(n_startup_trials=_BEFORE_MODELLING, seed=len(known)),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=_BEFORE_PRUNING),
        )
        self._seen = {key(trial.config) for trial in known}
        self._running: dict[str, Any] = {}
        for trial in known:
            self._study.add_trial(self._as_optuna_trial(trial))

    def propose(self) -> dict[str, int] | None:
        for _ in range(_ASKED_AGAIN):
            asked = self._study.ask(self._choices)
            config = {name: int(asked.params[name]) for name in self._choices}
            if key(config) not in self._seen:
                self._remember(config, asked)
                return config
            # The sampler ignores failed trials: it knows this configuration already.
            self._study.tell(asked, state=self._optuna.trial.TrialState.FAIL)
        unseen = self._space.unseen(self._seen, self._random)
        if unseen is not None:
            self.begin(unseen)
        return unseen

    def begin(self, config: Config) -> None:
        self._study.enqueue_trial(dict(config))
        self._remember(config, self._study.ask(self._choices))

    def _remember(self, config: Config, asked: Any) -> None:
        self._seen.add(key(config))
        self._running[key(config)] = asked

    def hopeless(self, config: Config, step: int, seconds: float) -> bool:
        running = self._running[key(config)]
        running.report(seconds, step)
        return bool(running.should_prune())

    def learn(self, trial: Trial) -> None:
        running = self._running.pop(key(trial.config))
        if trial.timed:
            self._study.tell(running, trial.seconds)
        else:
            self._study.tell(running, state=self._optuna.trial.TrialState.PRUNED)

    def _as_optuna_trial(self, trial: Trial) -> Any:
        """A trial of an earlier search. One that a gate refused counts as pruned before its first sample, so
        that the sampler looks elsewhere."""
        states = self._optuna.trial.TrialState
        return self._optuna.trial.create_trial(
            state=states.COMPLETE if trial.timed else states.PRUNED,
            value=trial.seconds if trial.timed else None,
            params=dict(trial.config),
            distributions=self._choices,
            intermediate_values=dict(trial.steps),
        )
