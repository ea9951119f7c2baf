"""A search at one case: proposes configurations, checks gates, builds ahead, times and stores them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace

from common.build.program import Target
from common.core.errors import CourseError
from common.core.progress import Notify
from grader.spec import Case
from grader.tuning import gates
from grader.tuning.builds import Builder, Built, Order
from grader.tuning.find import Tunable
from grader.tuning.gates import Footprint, Multiprocessor
from grader.tuning.space import key, words
from grader.tuning.spec import Config, Limits
from grader.tuning.store import State, Store, Trial
from grader.tuning.study import Adviser
from grader.tuning.trial import Bench, Contender, TrialFailed, Verdict, judge
from grader.words import numbers

PREBUILT = 5


@dataclass(frozen=True)
class SearchSetting:
    """What is searched, where, and within which limits."""

    tunable: Tunable
    case: Case
    target: Target
    limits: Limits
    sm: Multiprocessor

    def refusal(self, config: Config) -> gates.Refusal | None:
        return gates.before_build(self.tunable.tuning, config, self.case.size, self.limits, self.sm)

    def order(self, config: Config) -> Order:
        tuning, size = self.tunable.tuning, self.case.size
        before = Footprint(tuning.threads(config), tuning.shared_bytes(config, size))
        source, kernel = self.tunable.source, tuning.kernel(size)
        return Order(source, self.target, dict(config), kernel, before, self.limits, self.sm)


class Search:
    """Continues from the store, which holds every finished trial; unfinished ones are repeated."""

    def __init__(
        self,
        setting: SearchSetting,
        store: Store,
        adviser: Adviser,
        builder: Builder,
        bench: Bench,
        notify: Notify,
        first: Sequence[Config] = (),
    ) -> None:
        """`first` are configurations to try before those that the adviser proposes."""
        self._setting, self._store, self._adviser = setting, store, adviser
        self._builder, self._bench, self._notify = builder, bench, notify
        self._building: deque[tuple[Config, Future[Built]]] = deque()
        self._first = (setting.tunable.tuning.defaults, *setting.tunable.tuning.worth, *first)
        self._best: Contender | None = None

    def run(self, trials: int, deadline: float) -> None:
        """Until `trials` configurations of the study were built, all were tried, or the time is over."""
        try:
            self._reopen_best()
            while self._build_ahead(trials, deadline) and time.monotonic() < deadline:
                self._notify(self._state(trials))
                config, future = self._building.popleft()
                self._try(config, future.result())
        finally:
            if self._best is not None:
                self._best.close()

    def prebuild(self) -> int:
        """Build the fastest into the build cache; how many are there."""
        orders = [self._setting.order(trial.config) for trial in self._store.fastest(PREBUILT)]
        made = [future.result() for future in [self._builder.start(order) for order in orders]]
        return sum(built.library is not None for built in made)

    def _build_ahead(self, trials: int, deadline: float) -> bool:
        """Keep every builder busy and one configuration ready; False when nothing is left to try."""
        while len(self._building) <= self._builder.at_once and time.monotonic() < deadline:
            if self._store.tried + len(self._building) >= trials:
                break
            if (config := self._next()) is None:
                break
            if refused := self._setting.refusal(config):
                self._finish(Trial(config, "refused", gate=refused.gate, reason=refused.reason))
            else:
                self._building.append((config, self._builder.start(self._setting.order(config))))
        return bool(self._building)

    def _next(self) -> Config | None:
        """The kernel's own defaults first: others must beat them."""
        begun = [key(config) for config, _ in self._building]
        begun += [key(trial.config) for trial in self._store.trials]
        for config in self._first:
            if key(config) not in begun:
                self._adviser.begin(config)
                return config
        return self._adviser.propose()

    def _try(self, config: Config, built: Built) -> None:
        if built.refusal is not None:
            refused = built.refusal
            self._finish(_trial(config, built, "refused", gate=refused.gate, reason=refused.reason))
        elif built.library is None:
            self._finish(_trial(config, built, "failed", reason=built.problem))
        else:
            try:
                contender = self._bench.enter(built)
            except TrialFailed as problem:
                self._finish(_trial(config, built, "failed", reason=str(problem)))
            else:
                self._time(config, built, contender)

    def _time(self, config: Config, built: Built, contender: Contender) -> None:
        """Close every contender but the best, however this ends: a worker holds device memory."""
        closing: Contender | None = contender

        def hopeless(step: int, seconds: float) -> bool:
            return self._adviser.hopeless(config, step, seconds)

        try:
            verdict = judge(contender, self._best, hopeless, modelled=self._bench.modelled)
            self._finish(_timed(config, built, verdict))
            if verdict.state == "promoted":
                closing, self._best = self._best, contender
        except TrialFailed as problem:
            self._finish(_trial(config, built, "failed", reason=str(problem)))
        finally:
            if closing is not None:
                closing.close()

    def _finish(self, trial: Trial) -> None:
        self._store.add(trial)
        self._adviser.learn(trial)

    def _reopen_best(self) -> None:
        if (best := self._store.best) is None:
            return
        self._notify(f"going on after {numbers.counted(len(self._store.trials), 'trial')}")
        built = self._builder.start(self._setting.order(best.config)).result()
        try:
            if built.library is None:
                raise TrialFailed(built.problem or (built.refusal.reason if built.refusal else ""))
            self._best = self._bench.enter(built)
        except TrialFailed as problem:
            raise CourseError(
                f"the best configuration of {self._store.path}, {words(best.config)}, no longer works: "
                f"{problem}. Name another file with --study to start over"
            ) from problem

    def _state(self, trials: int) -> str:
        best = self._store.best
        known = f", best {numbers.seconds(best.seconds)}" if best else ""
        refused = sum(trial.state == "refused" for trial in self._store.trials)
        return (
            f"{self._setting.case.name}: trial {self._store.tried + 1} of {trials}{known}, {refused} refused"
        )


def _trial(config: Config, built: Built, state: State, *, gate: str = "", reason: str = "") -> Trial:
    taken = built.taken
    return Trial(
        config,
        state,
        gate,
        reason,
        built=True,
        registers=taken.registers,
        spilled=taken.spilled,
        shared=taken.shared,
        occupancy=built.occupancy,
    )


def _timed(config: Config, built: Built, verdict: Verdict) -> Trial:
    return replace(
        _trial(config, built, verdict.state, reason=verdict.reason),
        seconds=verdict.seconds.value,
        low=verdict.seconds.low,
        high=verdict.seconds.high,
        samples=verdict.samples,
        ratio=verdict.ratio,
        steps=verdict.steps,
        counters=verdict.counters,
    )
