"""A search over several cases, each with its share of the time, on either device."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from common.build.engine.build import build_engine
from common.build.program import Target
from common.core.progress import Notify
from grader.devices.device import Device, device_of, target_for
from grader.records.device_info import DeviceInfo
from grader.spec import Case
from grader.tuning import gates, ncu
from grader.tuning.builds import Builder
from grader.tuning.find import Tunable
from grader.tuning.report import summary
from grader.tuning.search import Search, SearchSetting
from grader.tuning.space import Space
from grader.tuning.spec import Config, Limits
from grader.tuning.store import Store
from grader.tuning.study import adviser
from grader.tuning.trial import Bench

DOCUMENT_OCCUPANCY = 0.5
Found = Callable[[Case, dict[str, Any]], None]  # gets the result of a case


@dataclass(frozen=True)
class Request:
    """What to search, and for how long. `info` is the device, here or elsewhere."""

    tunable: Tunable
    info: DeviceInfo
    cases: Sequence[Case]
    free: bool
    document_gates: bool
    trials: int
    seconds: float
    study: Path

    @property
    def search(self) -> str:
        return ("free" if self.free else "gated") + (", document's gates" if self.document_gates else "")

    @property
    def modelled(self) -> bool:
        return self.info.modelled

    @cached_property
    def device(self) -> Device:
        """Of this machine."""
        return device_of(self.info)

    @property
    def limits(self) -> Limits:
        limits = Limits() if self.free else self.tunable.tuning.gated
        return replace(limits, occupancy=DOCUMENT_OCCUPANCY) if self.document_gates else limits

    @property
    def target(self) -> Target:
        return target_for(self.device.gpu_target or self.device.virtual.target, self.tunable.tuning.arch)

    def study_name(self, case: Case) -> str:
        """Searches that differ in any of these share no results."""
        return " / ".join((self.info.file_stem, self.search, case.name, self.tunable.fingerprint()))


def run_cases(request: Request, notify: Notify, found: Found, first: Sequence[Config] = ()) -> None:
    """`found` gets a case's result as soon as its search ends, also when it ends by Ctrl-C. `first` are
    configurations that were best elsewhere."""
    if request.modelled:
        build_engine()  # takes minutes on a new machine: not part of the search's time
    deadline = time.monotonic() + request.seconds
    sm = gates.multiprocessor(request.device)
    best = list(first)  # of earlier cases: what is good at one is tried at the next
    with Builder(modelled=request.modelled) as builder:
        for number, case in enumerate(request.cases):
            share = (deadline - time.monotonic()) / (len(request.cases) - number)
            setting = SearchSetting(request.tunable, case, request.target, request.limits, sm)
            _run_case(request, setting, builder, time.monotonic() + share, best, notify, found)


def _run_case(
    request: Request,
    setting: SearchSetting,
    builder: Builder,
    deadline: float,
    best: list[Config],
    notify: Notify,
    found: Found,
) -> None:
    tunable, case = setting.tunable, setting.case
    with closing(Store(request.study, request.study_name(case))) as store:
        advice = adviser(Space(tunable.tuning.tunables), store.trials)
        try:
            with _bench(request, case) as bench:
                search = Search(setting, store, advice, builder, bench, notify, best)
                search.run(request.trials, deadline)
            notify(f"{case.name}: building the best")
            search.prebuild()
            best += [store.best.config] if store.best else []
        finally:
            if store.trials:
                found(case, summary(tunable, case, store, advice.name))


@contextmanager
def _bench(request: Request, case: Case) -> Iterator[Bench]:
    tuning = request.tunable.tuning
    if request.modelled:
        from grader.tuning.benches.virtual import VirtualBench

        yield VirtualBench(tuning, case, request.device.virtual)
        return
    from common.gpu.clocks import exclusive
    from grader.tuning.benches.gpu import GpuBench

    def profiler(library: Path) -> dict[str, float]:
        return ncu.profiled(request.tunable.id, case, library)

    with exclusive(), closing(GpuBench(tuning, case, profiler)) as bench:
        yield bench
