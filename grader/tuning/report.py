"""The results of a search: for the terminal, as the JSON that launchers read, and as profile_summary.md."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from common.core.files import write_json, write_whole
from grader.spec import Case
from grader.tuning import gates
from grader.tuning.find import Tunable
from grader.tuning.search import PREBUILT
from grader.tuning.space import key
from grader.tuning.spec import Config
from grader.tuning.store import Store, Trial
from grader.words import numbers
from grader.words.markdown import markdown_table
from grader.words.text import table

CONFIGURATIONS, SUMMARY = "configurations.json", "profile_summary.md"
_GATES = (*gates.BEFORE, *gates.AFTER)
_MODELLED = "modelled by the virtual GPU, not measured"
_MEASURED = "measured, medians inside CUDA graphs"
_NO_COUNTERS = "No counters: ncu is not installed, or may not read counters."


def how(modelled: bool) -> str:
    return _MODELLED if modelled else _MEASURED


def summary(tunable: Tunable, case: Case, store: Store, method: str) -> dict[str, Any]:
    """A search's result as plain data. The first of `best` is the one to launch."""
    default = _of(store.trials, tunable.tuning.defaults)
    states = [trial.state for trial in store.trials]
    return {
        "sizes": dict(case.sizes),
        "source": tunable.fingerprint(),
        "method": method,
        "tried": store.tried,
        "refused": store.refused(_GATES),
        "pruned": states.count("pruned"),
        "failed": states.count("failed"),
        "default": _entry(default, default) if default else None,
        "best": [_entry(trial, default) for trial in store.fastest(PREBUILT)],
        "promoted": [
            {**_entry(trial, default), "over_the_best_before": trial.ratio, "counters": dict(trial.counters)}
            for trial in store.trials
            if trial.state == "promoted"
        ],
    }


def _of(trials: Sequence[Trial], config: Config) -> Trial | None:
    return next((trial for trial in trials if key(trial.config) == key(config)), None)


def _entry(trial: Trial, default: Trial | None) -> dict[str, Any]:
    compared = default is not None and default.timed and trial.timed
    return {
        "defines": dict(trial.config),
        "state": trial.state,
        "why": trial.reason,
        "seconds": trial.seconds,
        "low": trial.low,
        "high": trial.high,
        "samples": trial.samples,
        "over_default": default.seconds / trial.seconds if default and compared else None,
        "registers": trial.registers,
        "spilled_bytes": trial.spilled,
        "shared_bytes": trial.shared,
        "occupancy": trial.occupancy,
    }


def text(name: str, search: str, result: Mapping[str, Any], *, modelled: bool) -> str:
    """A table of the best, and what happened to the others."""
    lines = [_best_table(f"{name}, {search} search: {how(modelled)}", result["best"])]
    if not result["best"]:
        lines = [f"{name}, {search} search: no configuration has passed all gates and run yet\n"]
    refused = ", ".join(f"{gate} {count}" for gate, count in result["refused"].items() if count) or "none"
    lines.append(f"built: {result['tried']}; stopped while timed: {result['pruned']}; by {result['method']}")
    lines.append(f"refused by gates: {refused}")
    if result["failed"]:
        lines.append(f"failed to build, to run or to be right: {result['failed']}")
    if (default := result["default"]) and default["state"] in ("refused", "failed"):
        lines.append(f"the kernel's own defaults: {default['state']} ({default['why']})")
    return "\n".join(lines)


def _best_table(title: str, best: Sequence[Mapping[str, Any]]) -> str:
    if not best:
        return ""
    tunables = [f">{name}" for name in best[0]["defines"]]
    columns = [*tunables, ">time", ">over default", ">registers", ">spilled", ">shared", ">occupancy", ""]
    return table(columns, [_row(entry) for entry in best], title)


def _row(entry: Mapping[str, Any]) -> list[str]:
    return [
        *(str(value) for value in entry["defines"].values()),
        numbers.seconds(entry["seconds"]),
        numbers.ratio(entry["over_default"]) if entry["over_default"] else "–",
        str(entry["registers"]),
        numbers.size(entry["spilled_bytes"]) if entry["spilled_bytes"] else "0",
        numbers.size(entry["shared_bytes"]),
        f"{entry['occupancy']:.0%}",
        entry["state"],
    ]


def write(
    folder: Path,
    about: Mapping[str, Any],
    results: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> Path:
    """Merge results, by case and search, into those of earlier searches in the folder."""
    path = folder / CONFIGURATIONS
    try:
        before = json.loads(path.read_text()) if path.exists() else {}
        cases = dict(before.get("cases", {}))
        for case, searches in results.items():
            cases[case] = {**cases.get(case, {}), **searches}
        merged = {**about, "cases": cases}
        write_json(path, merged)
        write_whole(folder / SUMMARY, profile_summary(merged))
    except (OSError, ValueError, AttributeError, TypeError, KeyError) as problem:
        raise CourseError(
            f"the results {path} cannot be written: {problem}. Name another folder with --output"
        ) from problem
    return path


def profile_summary(merged: Mapping[str, Any]) -> str:
    """Markdown: every promoted configuration of every search, with its counters."""
    modelled = merged["modelled"]
    counted = "counted by the virtual GPU" if modelled else "counted by ncu"
    lines = [
        f"# {merged['exercise']} on {merged['device']}: promoted configurations",
        "",
        f"Times are {how(modelled)}; figures are {counted}, of one call.",
    ]
    for case, searches in merged["cases"].items():
        for search, result in searches.items():
            lines += ["", f"## {case}, {search}", "", *_promoted(result["promoted"])]
    return "\n".join(lines) + "\n"


def _promoted(promoted: Sequence[Mapping[str, Any]]) -> list[str]:
    if not promoted:
        return ["No configuration has passed all gates and run."]
    names = list(dict.fromkeys(name for entry in promoted for name in entry["counters"]))
    columns = ["configuration", "time", "registers", "occupancy", *names]
    rows = [
        [
            " ".join(f"{name}={value}" for name, value in entry["defines"].items()),
            numbers.seconds(entry["seconds"]),
            str(entry["registers"]),
            f"{entry['occupancy']:.0%}",
            *(f"{entry['counters'][name]:,.6g}" if name in entry["counters"] else "–" for name in names),
        ]
        for entry in promoted
    ]
    made = markdown_table(columns, rows)
    return made if names else [*made, "", _NO_COUNTERS]
