"""A search on other machines: all cases at the same time, each on one worker, in rounds of a few trials.

Configurations are compared in turns on one device, so a case has one worker at a time. After each round its
trials are in the study's file. The next round starts from all trials so far, on whichever worker is free.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from dataclasses import asdict, replace
from pathlib import Path

from common.core.progress import Notify
from grader.building.scratch_folder import scratch_folder
from grader.classes.class_run import ClassRun
from grader.classes.measuring import Measurement, question_in, record_of, results_of
from grader.records.device_info import DeviceInfo
from grader.records.record import Record
from grader.spec import Case, Exercise
from grader.tuning.find import load_tuning
from grader.tuning.report import summary
from grader.tuning.run import Found, Request, run_cases
from grader.tuning.store import Store, Trial

GRADER = f"{__name__}:search_round"
ROUND = 10  # trials: what is repeated when a worker is lost
_KERNEL = "kernel.cu"


def search_elsewhere(request: Request, run: ClassRun, found: Found) -> None:
    """`found` gets the cases' results when the search ends, also when it ends by Ctrl-C."""
    deadline = time.monotonic() + request.seconds
    methods: dict[str, str] = {}
    with ExitStack() as opened:
        stores = {
            case.name: opened.enter_context(closing(Store(request.study, request.study_name(case))))
            for case in request.cases
        }
        over: set[str] = set()  # cases at which nothing is left to try
        try:
            while (left := deadline - time.monotonic()) > 0:
                cases = [
                    case
                    for case in request.cases
                    if case.name not in over and stores[case.name].tried < request.trials
                ]
                if not cases:
                    break
                wanted = [_round(request, case, stores, left) for case in cases]
                for case, result in zip(cases, results_of(replace(run, fresh=True), wanted), strict=True):
                    for trial in result["trials"]:
                        stores[case.name].add(Trial.from_dict(trial))
                    methods[case.name] = result["method"]
                    if not result["trials"]:
                        over.add(case.name)
        finally:
            for case in request.cases:
                if stores[case.name].trials:
                    method = methods.get(case.name, "an earlier search")
                    found(case, summary(request.tunable, case, stores[case.name], method))


def _round(request: Request, case: Case, stores: dict[str, Store], seconds: float) -> Measurement:
    store = stores[case.name]
    best = [other.best.config for other in stores.values() if other is not store and other.best]
    question = {
        "case": case.name,
        "source": request.tunable.source.read_text(),
        "free": request.free,
        "document_gates": request.document_gates,
        "trials": min(request.trials, store.tried + ROUND),
        "seconds": seconds,
        "known": [asdict(trial) for trial in store.trials],
        "first": [dict(config) for config in best],
    }
    name = f"{case.name}, trials {store.tried + 1} to {question['trials']}"
    return Measurement(name, request.tunable.id, question)


def search_round(
    exercise: Exercise,
    source: Path,
    *,
    submission: str,
    device: DeviceInfo,
    seed: str | None = None,
    notify: Notify = lambda text: None,
) -> Record:
    """On the node: some trials more than the question in `source` knows."""
    question = question_in(source)
    with scratch_folder() as scratch:
        kernel = scratch / _KERNEL
        kernel.write_text(question["source"])
        tunable = load_tuning(exercise.folder, kernel)
        case = tunable.case(question["case"])
        request = Request(
            tunable,
            device,
            [case],
            free=question["free"],
            document_gates=question["document_gates"],
            trials=question["trials"],
            seconds=question["seconds"],
            study=scratch / "study.sqlite",
        )
        known = [Trial.from_dict(trial) for trial in question["known"]]
        with closing(Store(request.study, request.study_name(case))) as store:
            for trial in known:
                store.add(trial)
        methods: list[str] = []
        run_cases(request, notify, lambda _, result: methods.append(result["method"]), question["first"])
        with closing(Store(request.study, request.study_name(case))) as store:
            trials = [asdict(trial) for trial in store.trials[len(known) :]]
    return record_of(submission, exercise.id, device, {"trials": trials, "method": "".join(methods)})
