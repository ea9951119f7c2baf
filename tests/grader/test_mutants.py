"""Small mistakes in a solution: what the rules make of a line, and what becomes of those that are graded."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from common.core.errors import CourseError
from grader.actions.mutants import NO_BUILD, SURVIVED, Table, Tried, outcome_of, try_all
from grader.classes.class_run import ClassRun
from grader.cli.instructor import mutants as verb
from grader.mutants import trial
from grader.mutants.making import Mutant, all_mutants, sampled
from grader.mutants.reasons import Reasons, edit_of, entry, fingerprint, read_reasons
from grader.mutants.trial import GRADER
from grader.records.device_info import DeviceInfo
from grader.spec import registry
from tests.grader.course_fixtures import FIRST, course
from tests.grader.fake_pipeline import make_record

__all__ = ["course"]
FRAME = """__global__ void k(const float* in, float* out, int rows, int columns, int64_t stride) {{
  // BEGIN SOLUTION TODO 1: do it.
  // TODO: carefully
{body}
  // END SOLUTION
}}
"""


def edits_of(line: str, rule: str) -> set[str]:
    made = all_mutants(FRAME.format(body=f"  {line}"))
    return {mutant.after for mutant in made if mutant.rule == rule}


@pytest.mark.parametrize(
    ("line", "rule", "wanted"),
    [
        ("if (i < rows) f();", "comparison", {"if (i <= rows) f();", "if (i > rows) f();"}),
        ("if (a && b) f();", "logic", {"if (a || b) f();"}),
        ("i = a + b * c;", "arithmetic", {"i = a - b * c;", "i = a + b / c;"}),
        ("i = a << 2;", "bits", {"i = a >> 2;"}),
        ("sum += x;", "assignment", {"sum = x;", "sum -= x;"}),
        (
            "__pipeline_wait_prior(1);",
            "off by one",
            {"__pipeline_wait_prior(2);", "__pipeline_wait_prior(0);"},
        ),
        ("m = 0xffffffff;", "off by one", {"m = 0x7fffffff;"}),
        ("i = kTile;", "off by one", {"i = (kTile + 1);", "i = (kTile - 1);"}),
        ("i = threadIdx.x;", "axis", {"i = threadIdx.y;"}),
        ("f(rows);", "other name", {"f(columns);"}),
        ("x = fmaxf(x, y);", "other function", {"x = fminf(x, y);"}),
        ("f(int64_t{i});", "32 bits for 64", {"f(int{i});"}),
        ("__syncthreads();", "left out", {";"}),
        ("if (i < rows) f();", "left out", {";", "f();"}),
        ("if (a) {", "condition", {"if (!(a)) {"}),
        ("f(in[i]);", "neighbour", {"f(in[i + 1]);", "f(in[i - 1]);"}),
        ("const int i = a * b;", "operand left out", {"const int i = a;", "const int i = b;"}),
        ("const int i = a * b;", "zero", {"const int i = 0;"}),
    ],
)
def test_a_rule_makes_the_mistakes_of_its_name(line: str, rule: str, wanted: set[str]):
    assert edits_of(line, rule) == wanted


def test_two_statements_change_places():
    made = all_mutants(FRAME.format(body="  f();\n  g();"))
    assert [mutant.after for mutant in made if mutant.rule == "order of statements"] == ["g();\nf();"]


@pytest.mark.parametrize("line", ["// a < b", "#pragma unroll 4", 'say("a < b");', "std::array<int, 4> a;"])
def test_comments_texts_pragmas_and_templates_are_left_alone(line: str):
    assert edits_of(line, "comparison") == set()


def test_only_gaps_are_changed_and_every_text_is_another():
    solution = registry.find("01").solution.read_text()
    made = all_mutants(solution)
    marks = [number for number, line in enumerate(solution.split("\n"), 1) if "SOLUTION" in line]
    gaps = [range(begin, end) for begin, end in zip(marks[::2], marks[1::2], strict=True)]
    assert all(any(mutant.line in gap for gap in gaps) for mutant in made)
    assert len({mutant.text for mutant in made} | {solution}) == len(made) + 1
    assert len({mutant.name for mutant in made}) == len(made)


@pytest.mark.parametrize("exercise", registry.all_exercises(), ids=lambda exercise: exercise.id)
def test_every_exercise_has_four_mutants_per_line_of_its_solution(exercise):
    solution = exercise.solution.read_text()
    regions = re.findall(r"BEGIN SOLUTION[^\n]*\n(.*?)\n[^\n]*END SOLUTION", solution, re.DOTALL)
    assert len(all_mutants(solution)) > 4 * sum(len(region.splitlines()) for region in regions) > 0


def test_a_sample_is_the_same_for_the_same_seed():
    made = all_mutants(registry.find("02").solution.read_text())
    assert sampled(made, 9, 1) == sampled(made, 9, 1) != sampled(made, 9, 2)
    assert len(sampled(made, 9, 1)) == 9


def a_mutant() -> Mutant:
    return all_mutants(FRAME.format(body="  if (i < rows) f();"))[0]


def reasons_of(folder: Path, text: str) -> Reasons:
    (folder / "solution").mkdir()
    solution = folder / "solution" / "kernel.cu"
    solution.write_text("x")
    solution.with_name("equal_mutants.toml").write_text(text.replace("HASH", fingerprint(solution)))
    return read_reasons(_WithSolution(solution))  # type: ignore[arg-type]


@dataclasses.dataclass
class _WithSolution:
    solution: Path


def test_a_reason_counts_for_its_edit_until_the_solution_changes(tmp_path):
    mutant = a_mutant()
    text = f'solution = "HASH"\n{entry(mutant)}'.replace('reason = ""', 'reason = "never so"')
    reasons = reasons_of(tmp_path, text)
    assert reasons.of(mutant) == "never so"
    assert reasons.idle([mutant]) == []
    assert reasons.idle([]) == [edit_of(mutant)]
    (tmp_path / "solution" / "kernel.cu").write_text("y")
    stale = read_reasons(_WithSolution(tmp_path / "solution" / "kernel.cu"))  # type: ignore[arg-type]
    assert stale.stale
    assert stale.of(mutant) == ""


def test_one_reason_may_count_for_several_edits(tmp_path):
    one, other = all_mutants(FRAME.format(body="  if (i < rows) f();"))[:2]
    text = entry(one).replace(
        f"after = '''{one.after}'''", f"after = ['''{one.after}''', '''{other.after}''']"
    )
    reasons = reasons_of(tmp_path, 'solution = "HASH"\n' + text.replace('reason = ""', 'reason = "never so"'))
    assert one.before == other.before
    assert reasons.of(one) == reasons.of(other) == "never so"


def test_a_file_of_reasons_that_cannot_be_read_is_a_sentence(tmp_path):
    with pytest.raises(CourseError, match=r"equal_mutants.toml cannot be read"):
        reasons_of(tmp_path, "solution = [")


@pytest.mark.parametrize(
    ("record", "outcome"),
    [
        (make_record(right=True), SURVIVED),
        (make_record(right=False), "correct"),
        (dataclasses.replace(make_record(right=False), verdict=NO_BUILD), NO_BUILD),
    ],
)
def test_a_mutant_is_caught_by_the_first_part_that_it_loses(record, outcome):
    assert outcome_of(record) == outcome


@pytest.mark.parametrize(("right", "asked"), [(False, [1]), (True, [1, None, None])])
def test_the_step_that_the_edit_is_in_is_graded_first_and_ends_it_if_lost(
    tmp_path, monkeypatch, right, asked
):
    exercise = registry.find("05")
    mutant = all_mutants(exercise.solution.read_text())[0]
    source = tmp_path / "kernel.cu"
    source.write_text(mutant.text)
    steps = []

    def grade(*_args, step=None, **_options):
        steps.append(step)
        return make_record(right=right)

    monkeypatch.setattr(trial, "grade_whole", grade)
    trial.grade(exercise, source, submission="x", device="virtual")
    assert steps == asked


def test_survivors_are_those_without_a_reason():
    mutant, record = a_mutant(), make_record(right=True)
    with_reason = Reasons(Path("x"), {edit_of(mutant): "equal"})
    tried = [Tried(mutant, SURVIVED, record)]
    assert (len(Table(tried, Reasons(Path("x"))).survivors), len(Table(tried, with_reason).equal)) == (1, 1)
    assert Table(tried, with_reason).survivors == []


def test_mutants_of_the_first_exercise_are_caught_and_kept(tmp_path):
    """One with a wrong answer, and one that reads before its copy has arrived."""
    exercise = registry.find("01")
    made = all_mutants(exercise.solution.read_text())
    after = ("const int unit = first_unit - i * blockDim.x;", "__pipeline_wait_prior(2);")
    chosen = [next(mutant for mutant in made if mutant.after == text) for text in after]
    run = ClassRun(DeviceInfo("virtual", "h200"), {exercise.id: exercise}, tmp_path, grader=GRADER)
    table = try_all(run, exercise, chosen, Reasons(tmp_path))
    assert [one.outcome for one in table.tried] == ["correct", "correct"]
    again = try_all(run, exercise, chosen, Reasons(tmp_path))
    assert [one.record.started for one in again.tried] == [one.record.started for one in table.tried]


def test_the_verb_lists_survivors_with_what_to_do(course, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(verb, "GRADER", "tests.grader.fake_pipeline:grade")
    solution = registry.find(FIRST).solution
    solution.write_text(FRAME.format(body="  if (i < rows) f();  // fine"))
    assert verb.main([FIRST, "--sample", "2", "--output", str(tmp_path / "kept")]) == 1
    printed = capsys.readouterr().out
    assert "2 survive" in printed
    assert f'solution = "{fingerprint(solution)}"' in printed
    assert verb.main([FIRST, "--json", "--output", str(tmp_path / "kept")]) == 1
    assert {one["outcome"] for one in json.loads(capsys.readouterr().out)["mutants"]} == {SURVIVED}


@pytest.mark.parametrize("exercise", registry.all_exercises(), ids=lambda exercise: exercise.id)
def test_the_reasons_on_file_are_for_the_solution_as_it_is(exercise):
    reasons = read_reasons(exercise)
    assert not reasons.stale, f"read {reasons.path} again: {exercise.solution.name} has changed"
    assert reasons.idle(all_mutants(exercise.solution.read_text())) == []
    assert all(reasons.by_edit.values())
