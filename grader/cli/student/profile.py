"""`./course profile NN [FILE]`: where your kernel's time goes on the virtual GPU, line by line.

Counters beside the source, sectors per request, bank conflicts, occupancy, modelled bounds of one call.
"""

from __future__ import annotations

import json
from pathlib import Path

from common.virtual_gpu.report import times_in_doubt
from grader.actions.profile import Profile, chosen_case, profile
from grader.cli import options as shared
from grader.cli.parser import Parser
from grader.course import student
from grader.course.settings import Settings, choose_device, read_settings
from grader.records.device_info import VIRTUAL
from grader.render import figures
from grader.render.profile import profile_text
from grader.spec import Exercise, registry
from grader.words import numbers
from grader.words.text import wrapped


def main(arguments: list[str]) -> int:
    parser = Parser("./course profile", __doc__)
    shared.add_exercise(parser)
    parser.add_argument("file", metavar="FILE", nargs="?", type=Path)
    parser.add_argument(
        "--case", metavar="NAME", help="a bench case; default: the largest of the speed target"
    )
    parser.add_argument("--plot", metavar="OUT.png", type=Path, help="also draw it")
    shared.add_json(parser)
    options = parser.parse_args(arguments)
    exercise = registry.find(options.exercise)
    source = student.own_file(exercise, options.file)
    case = chosen_case(exercise, options.case)
    if source.resolve() == exercise.baseline.resolve():
        case = exercise.case_of_baseline(case)  # what `check` divides by
    settings = read_settings()
    device = choose_device(VIRTUAL, settings)
    shared.announce(device, Settings(), to_stderr=options.json)
    profiled = profile(exercise, source, case, card=device.name)
    report = profiled.report
    if options.json:
        call = {"case": case.name, "sizes": dict(case.sizes), "wrong": profiled.wrong}
        print(json.dumps({**call, **report.to_dict()}, indent=1))
    else:
        print(f"{student.shown(source)} at {case.name} ({numbers.sizes(dict(case.sizes))})")
        print(_headline(exercise, profiled))
        print(profile_text(report, source), end="")
    if options.plot:
        figures.profile_plot(report, source, options.plot)
    return 0


def _headline(exercise: Exercise, profiled: Profile) -> str:
    """Whether the answer is right, and both modelled times, first the one that `check` shows."""
    lines = []
    if profiled.wrong:
        warning = f"its answer is WRONG here, so the figures below may mislead: {profiled.wrong}"
        lines.append(wrapped(f"{warning}. Fix that first: `./course check {exercise.number}`"))
    if profiled.report.launches:
        ways = {
            "cold": f"{numbers.seconds(profiled.seconds)} alone from a cold L2",
            "graph": f"{numbers.seconds(profiled.seconds_in_a_graph)} in a graph of many calls",
        }
        shown = ways.pop(exercise.protocol)
        lines.append(f"modelled: {shown}, the way `check` times it; {next(iter(ways.values()))}")
        if doubt := times_in_doubt(profiled.report.launches):
            lines.append(wrapped(doubt))
    return "\n".join(lines) + "\n"
