"""How long 10,000 students on 200 nodes would take: arithmetic and a queue, no run of that size.

    python -m benchmarks.turnaround.large_class

Task times are CPU seconds of `./course check` as measured (benchmarks/data/turnaround/answer_times.json); one
worker per CPU takes the next task from one queue. Points are written at the rate of points.json, beside it.
The shares of right, wrong and broken kernels, and how often a node is lost, are assumptions. Nothing is known
here of a scheduler under that load, of networks, or of file systems. The result goes to large_class.json.
"""

from __future__ import annotations

import heapq
import json
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from benchmarks import DATA
from common.core.files import write_json
from grader.words.numbers import duration

MEASURED = DATA / "turnaround" / "answer_times.json"
POINTS = DATA / "turnaround" / "points.json"
RESULT = DATA / "turnaround" / "large_class.json"
SHARES = {"right": 0.6, "first case fails": 0.3, "does not compile": 0.1}  # assumed


@dataclass(frozen=True)
class Site:
    students: int = 10_000
    nodes: int = 200
    cpus: int = 8  # of each node
    lost_nodes: int = 10  # in the run, at random times; each comes back after ten minutes
    first_build_seconds: float = 300.0  # of the virtual GPU, on each node
    back_seconds: float = 600.0


@dataclass(frozen=True)
class Outcome:
    tasks: int
    cpu_hours: float
    graded_seconds: float  # from the start until the last record
    busy: float  # the share of all CPUs' time in which they graded
    tried_again: int
    points_seconds: float  # afterwards, on a machine like that of points.json


def task_seconds(measured: Mapping[str, Mapping[str, Mapping[str, float]]], site: Site) -> list[float]:
    """One task per student and exercise, in random order."""
    draw = random.Random(1)
    kinds, weights = list(SHARES), list(SHARES.values())
    times = [
        measured[exercise][draw.choices(kinds, weights)[0]]["cpu"]
        for exercise in measured
        for _ in range(site.students)
    ]
    draw.shuffle(times)
    return times


def simulate(times: Sequence[float], site: Site) -> Outcome:
    """Each worker takes the next task when it is free. What a lost node graded begins again elsewhere."""
    work = sum(times)
    points = json.loads(POINTS.read_text())
    ideal = work / (site.nodes * site.cpus) + site.first_build_seconds
    draw = random.Random(2)
    losses = {draw.randrange(site.nodes): draw.uniform(0, ideal) for _ in range(site.lost_nodes)}
    free = [(site.first_build_seconds, worker) for worker in range(site.nodes * site.cpus)]
    heapq.heapify(free)
    waiting = list(reversed(times))
    again, last = 0, 0.0
    while waiting:
        now, worker = heapq.heappop(free)
        loss = losses.get(worker // site.cpus)
        seconds = waiting.pop()
        if loss is not None and now <= loss < now + seconds:
            waiting.insert(0, seconds)
            again += 1
            heapq.heappush(free, (loss + site.back_seconds, worker))
            continue
        last = max(last, now + seconds)
        heapq.heappush(free, (now + seconds, worker))
    return Outcome(
        tasks=len(times),
        cpu_hours=round(work / 3600, 1),
        graded_seconds=round(last),
        busy=round(work / (last * site.nodes * site.cpus), 3),
        tried_again=again,
        points_seconds=round(len(times) * points["written"]["seconds"] / points["submissions"]),
    )


def rows(site: Site, outcome: Outcome) -> Iterator[str]:
    yield f"{outcome.tasks:,} submissions on {site.nodes} nodes of {site.cpus} CPUs"
    yield f"CPU time together   {outcome.cpu_hours:,.0f} h"
    yield f"until all graded    {duration(outcome.graded_seconds)}, CPUs {outcome.busy:.0%} busy"
    yield f"tried again         {outcome.tried_again}, after {site.lost_nodes} nodes were lost"
    yield f"points written      {duration(outcome.points_seconds)}, by one machine"


def main() -> int:
    found = json.loads(MEASURED.read_text())["after"]
    measured = {
        exercise: {kind: seen for kind, seen in kinds.items() if kind in SHARES}
        for exercise, kinds in found["seconds"].items()
    }
    site = Site()
    outcome = simulate(task_seconds(measured, site), site)
    write_json(RESULT, {"measured_on": found["machine"], "site": asdict(site), "outcome": asdict(outcome)})
    print("\n".join(rows(site, outcome)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
