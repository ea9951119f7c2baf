"""Counters of one call of a library by NVIDIA's profiler, if it is installed."""

from __future__ import annotations

import csv
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from common.core.paths import REPOSITORY
from grader.bench import one_call
from grader.spec import Case
from grader.tuning.counters import DRAM_THROUGHPUT, DRAM_TRAFFIC, L2_HITS, TENSOR

_SECONDS = 120


def _share(hits: float, misses: float) -> float:
    return 100 * hits / (hits + misses)


# Our name -> ncu's metrics, in base units, and a function of them. Not lts__t_sector_hit_rate: it counts a
# sector that is looked up in both halves of L2 as two hits of one lookup, and exceeds 100 %.
_METRICS: Mapping[str, tuple[tuple[str, ...], Callable[..., float]]] = {
    L2_HITS: (
        ("lts__t_sectors_srcunit_tex_lookup_hit.sum", "lts__t_sectors_srcunit_tex_lookup_miss.sum"),
        _share,
    ),
    DRAM_TRAFFIC: (("dram__bytes.sum",), lambda moved: moved / 1e6),
    DRAM_THROUGHPUT: (("dram__throughput.avg.pct_of_peak_sustained_elapsed",), float),
    TENSOR: (("sm__inst_executed_pipe_tensor.avg.pct_of_peak_sustained_active",), float),
}


def installed() -> bool:
    return shutil.which("ncu") is not None


def profiled(exercise: str, case: Case, library: Path) -> dict[str, float]:
    """Counters by name; none if there is no ncu, or it may not read counters here: then only times decide."""
    if not installed():
        return {}
    command = [
        *("ncu", "--profile-from-start", "off", "--cache-control", "none", "--clock-control", "none"),
        *("--csv", "--page", "raw", "--print-units", "base"),
        *("--metrics", ",".join(metric for metrics, _ in _METRICS.values() for metric in metrics)),
        *one_call.command(exercise, case, library),
    ]
    try:
        done = subprocess.run(
            command, cwd=REPOSITORY, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return parse(done.stdout)


def parse(text: str) -> dict[str, float]:
    """The figures of the only launch in ncu's table, whose first row under the header holds the units."""
    rows = list(csv.DictReader(line for line in text.splitlines() if line.startswith('"')))
    launches = [row for row in rows if row.get("ID")]
    if not launches:
        return {}
    found = {}
    for name, (metrics, make) in _METRICS.items():
        texts = [(launches[0].get(metric) or "").replace(",", "") for metric in metrics]
        try:
            found[name] = make(*map(float, texts))
        except (ValueError, ZeroDivisionError):
            continue  # this ncu or GPU has no such metric, or it counted nothing
    return found
