"""What ncu counts on this GPU is what is committed, so that the virtual GPU is held to real figures."""

from __future__ import annotations

import json
import shutil

import pytest

from benchmarks.virtual_gpu.counters.comparison import (
    AGGREGATED,
    FIGURES,
    FOLDER,
    RECORD,
    RECORDED,
    Figure,
    difference,
    short_name,
)
from benchmarks.virtual_gpu.counters.record import launches_of
from common.build.program import Target, build_program
from common.gpu.devices import find_gpus, first_gpu

MEASURED_ON = json.loads(RECORD.read_text())["gpu"]

pytestmark = [
    pytest.mark.skipif(shutil.which("ncu") is None, reason="needs ncu"),
    pytest.mark.skipif(
        all(gpu.name != MEASURED_ON for gpu in find_gpus()[:1]), reason=f"needs an {MEASURED_ON}"
    ),
]


def is_reproducible(program: str, launch: int, figure: Figure) -> bool:
    known = difference(program, launch, figure)
    return known is None or known.reason != AGGREGATED


@pytest.mark.parametrize("program", sorted(RECORDED))
def test_ncu_counts_what_is_committed(program: str):
    built = build_program([FOLDER / f"{program}.cu"], Target.gpu(first_gpu().cc))
    metrics = sorted({metric for figure in FIGURES for metric in figure.metrics})
    try:
        launches = launches_of(built.path, metrics)
    except RuntimeError as problem:
        if "ERR_NVGPUCTRPERM" in str(problem):
            pytest.skip("the driver lets only administrators read hardware counters")
        raise
    assert len(launches) == len(RECORDED[program])
    changed = [
        f"{short_name(recorded['kernel'])}: {figure.name} {figure.measured(launch['metrics'])}, "
        f"committed {figure.measured(recorded['metrics'])}"
        for index, (launch, recorded) in enumerate(zip(launches, RECORDED[program], strict=True))
        for figure in FIGURES
        if is_reproducible(program, index, figure)
        and figure.measured(launch["metrics"]) != figure.measured(recorded["metrics"])
    ]
    assert changed == []
