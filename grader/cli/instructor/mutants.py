"""`./course mutants NN`: make small mistakes in a solution and show those that no case catches."""

from __future__ import annotations

import json
from pathlib import Path

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.actions.mutants import NO_BUILD, SAME_CODE, SURVIVED, Table, Tried, try_all
from grader.classes.class_run import ClassRun, draw_new_secret
from grader.classes.executor import UNGRADED
from grader.cli import options as shared
from grader.cli.parser import Parser, count
from grader.cluster.choose import check_jobs, executor_for
from grader.course import student
from grader.course.settings import read_settings
from grader.mutants.making import all_mutants, sampled
from grader.mutants.reasons import entry, fingerprint, read_reasons
from grader.mutants.rules import rule_of
from grader.mutants.trial import GRADER
from grader.records.device_info import VIRTUAL
from grader.spec import Exercise, registry
from grader.words.numbers import counted

_FOLDER = REPOSITORY / "mutants"


def main(arguments: list[str]) -> int:
    parser = Parser("./course mutants", __doc__)
    shared.add_exercise(parser)
    parser.add_argument("--sample", type=count, metavar="N", help="try so many of them, drawn at random")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="draws the sample (default: 0)")
    parser.add_argument("--jobs", type=count, metavar="N", help="how many at once (default: one per core)")
    parser.add_argument(
        "--new-secret", action="store_true", help="draw new hidden cases, and try everything again"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="where results are kept (default: mutants/NN)",
    )
    shared.add_on(parser)
    shared.add_json(parser)
    options = parser.parse_args(arguments)
    exercise = registry.find(options.exercise)
    if not exercise.solution.is_file():
        raise CourseError(f"{exercise.id} has no solution here to make mistakes in")
    mutants = all_mutants(exercise.solution.read_text(), str(exercise.solution))
    reasons = read_reasons(exercise)
    chosen = sampled(mutants, options.sample, options.seed) if options.sample else mutants
    settings = read_settings()
    check_jobs(options.jobs, options.on, settings)
    with executor_for(options.on, settings, VIRTUAL) as place:
        run = ClassRun(
            place.device,
            {exercise.id: exercise},
            options.output or _FOLDER / exercise.id,
            jobs=options.jobs,
            grader=GRADER,
            executor=place.executor,
        )
        if options.new_secret:
            draw_new_secret(run)
        table = try_all(run, exercise, chosen, reasons)
    if options.json:
        print(json.dumps(_as_json(exercise, table), indent=1))
    else:
        print(_text(exercise, table))
        for line, before, after in reasons.idle(mutants):
            print(f"{reasons.path.name}: no rule makes this any more, line {line}: {before} => {after}")
    return 1 if table.survivors or reasons.stale else 0


def _text(exercise: Exercise, table: Table) -> str:
    others = (NO_BUILD, SAME_CODE, SURVIVED)
    caught = {name: n for name, n in table.by_outcome.most_common() if name not in others}
    lines = [
        f"{exercise.id}: {counted(len(table.tried), 'mutant')}, {table.built} compile",
        *(f"  {n:>5} {name if name == UNGRADED else f'lose {name}'}" for name, n in caught.items()),
        f"  {table.by_outcome[SAME_CODE]:>5} compile to the solution's code",
        f"  {len(table.equal):>5} equal to the solution, with a reason",
        f"  {len(table.survivors):>5} survive",
    ]
    if table.reasons.stale:
        lines.append(
            f"\n{student.shown(table.reasons.path)} was written for another {exercise.solution.name}. Read "
            f'its reasons again, then put there: solution = "{fingerprint(exercise.solution)}"'
        )
    lines += [part for one in table.survivors for part in ("", *_survivor(exercise, one))]
    if table.survivors:
        lines += [
            "",
            "Each is a missing case, a requirement that nobody checks, or equal to the solution.",
            f"The last get a reason in {student.shown(table.reasons.path)}:",
            "",
            f'solution = "{fingerprint(exercise.solution)}"',
            *(f"\n{entry(one.mutant)}" for one in table.survivors),
        ]
    return "\n".join(lines)


def _survivor(exercise: Exercise, one: Tried) -> list[str]:
    mutant = one.mutant
    place = f"{student.shown(exercise.solution)}:{mutant.line}"
    return [
        f"{place}: {mutant.rule}",
        *(f"  - {line}" for line in mutant.before.split("\n")),
        *(f"  + {line}" for line in mutant.after.split("\n")),
        f"  equal if {rule_of(mutant.rule).equal}",
    ]


def _as_json(exercise: Exercise, table: Table) -> dict[str, object]:
    return {
        "exercise": exercise.id,
        "solution": fingerprint(exercise.solution),
        "mutants": [
            {
                "line": one.mutant.line,
                "rule": one.mutant.rule,
                "before": one.mutant.before,
                "after": one.mutant.after,
                "outcome": one.outcome,
                "reason": table.reasons.of(one.mutant),
            }
            for one in table.tried
        ],
    }
