"""The lab as a student uses it: in another process, with errors as sentences, in a notebook."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

import pytest

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.notebook import Lab, rpc
from grader.notebook.lab import LabError, _plain_numbers
from grader.notebook.progress import in_notebook
from grader.notebook.views.check_view import Check, Untouched
from grader.notebook.views.display import Earning
from grader.notebook.views.part_view import PartView
from grader.records.record import PartResult
from grader.spec import Exercise, registry
from tests.grader.fake_pipeline import make_record
from tests.grader.notebook.html_reading import read
from tests.grader.notebook.seen_fixtures import brought_back
from tests.virtual_gpu.small_programs import children_of, is_running

SOLUTION = registry.find("01").solution
DOES_NOTHING = 'extern "C" int fused_store_kv_async() { return 0; }\n'


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Exercise 01 in a folder of its own, which has no kernel.cu yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Lab("01")


def write(text: str) -> None:
    Path("kernel.cu").write_text(text)


@pytest.mark.parametrize("call", ["check", "profile", "timeline"])
def test_a_missing_file_is_a_sentence(lab: Lab, call: str):
    shown = getattr(lab, call)()
    assert "there is no kernel.cu in" in read(shown).text
    assert "`./course notebook 01 --only-copy` puts a missing starter back" in repr(shown)
    other = repr(getattr(Lab("01", file="mine.cu"), call)())
    assert "there is no mine.cu in" in other
    assert "starter" not in other


def test_an_unknown_exercise_is_a_sentence_without_a_traceback():
    with pytest.raises(LabError, match="there is no exercise '99'") as raised:
        Lab("99")
    assert raised.value._render_traceback_() == [str(raised.value)]


@pytest.mark.parametrize(
    ("call", "arguments", "words"),
    [
        ("check", {"step": "two"}, "step is a number"),
        ("check", {"step": True}, "step is a number"),
        ("check", {"device": "tpu"}, "device is one of"),
        ("profile", {"show": "heat"}, "show is one of 'sectors'"),
        ("profile", {"of": "yours"}, "of is one of 'mine', 'baseline'"),
        ("profile", {"case": 4}, "case is the name of a bench case"),
        ("timeline", {"warps": 0}, "warps is a number from 1 to 16"),
        ("timeline", {"warps": "4"}, "warps is a number from 1 to 16"),
    ],
)
def test_a_wrong_argument_is_a_sentence(lab: Lab, call: str, arguments: dict[str, object], words: str):
    write(DOES_NOTHING)
    assert words in read(getattr(lab, call)(**arguments)).text


def test_what_only_the_other_process_can_know_is_a_sentence_too(lab: Lab):
    write(DOES_NOTHING)
    assert "has no step 3" in read(lab.check(step=3)).text
    assert "has no bench case '7 tokens'" in read(lab.profile(case="7 tokens")).text


def test_the_untouched_starter_shows_what_to_do_next(lab: Lab):
    write(registry.find("01").starter.read_text())
    shown = lab.check()
    assert isinstance(shown, Untouched)
    assert "still the starter" in read(shown).text
    assert "TODO 1" in repr(shown)
    assert not shown.passed


def test_a_kernel_that_does_not_compile_has_its_error_at_its_line(lab: Lab):
    write("#include <cuda_runtime.h>\nint x = no_such_name;\n")
    shown = lab.check(device="virtual")
    html = read(shown)
    assert isinstance(shown, Check)
    assert html.text.startswith("FAILED: does not compile")
    assert "error line 2:" in html.text
    assert "no_such_name" in html.text
    assert html.texts("span", "marked") >= 1
    assert "did not compile" in read(lab.profile()).text


def test_a_wrong_kernel_has_the_first_wrong_element(lab: Lab):
    write(DOES_NOTHING)
    shown = lab.check(device="virtual")
    text = read(shown).text
    assert text.startswith("FAILED: ")
    assert "one token, one head" in text
    assert "k_cache" in text
    assert isinstance(shown, Check)
    assert shown.record.seed == ""


def test_a_grader_that_dies_is_a_sentence(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(rpc, "_MODULE", "grader.notebook.no_such_module")
    write(DOES_NOTHING)
    assert "the grader stopped before it had an answer: " in read(lab.check()).text


def test_an_interrupt_ends_the_request_and_reaches_the_notebook(lab: Lab):
    write(DOES_NOTHING)
    started: set[int] = set()
    others = set(children_of(os.getpid()))  # of tests before this one

    def interrupt(text: str) -> None:
        started.update(set(children_of(os.getpid())) - others)
        raise KeyboardInterrupt

    order = {"exercise": "01", "file": "kernel.cu", "device": "virtual", "step": None}
    with pytest.raises(KeyboardInterrupt):
        rpc.call_grader("check", order, Path.cwd(), interrupt)
    assert started
    assert not any(is_running(pid) for pid in started)


def test_a_request_reports_its_progress(lab: Lab):
    write(DOES_NOTHING)
    progress: list[str] = []
    order = {"exercise": "01", "file": "kernel.cu", "device": "virtual", "step": None}
    rpc.call_grader("check", order, Path.cwd(), progress.append)
    assert progress[0] == "building"
    with pytest.raises(CourseError, match="there is no exercise"):
        rpc.call_grader("check", {**order, "exercise": "99"}, Path.cwd(), progress.append)


def test_only_what_was_predicted_is_counted(lab: Lab, monkeypatch: pytest.MonkeyPatch):
    orders: list[dict[str, Any]] = []

    def counted(name: str, order: dict[str, Any], *others: object) -> dict[str, Any]:
        orders.append(order)
        return {"values": {"launches": 1.0}, "missing": {}}

    monkeypatch.setattr("grader.notebook.lab.call_grader", counted)
    empty = {one.name: ... for one in registry.find("01").predictions}
    assert "0/" in repr(lab.compare(empty))
    assert orders == []
    assert "right" in repr(lab.compare({**empty, "launches": 1, "bytes_written": None}))
    assert [order["names"] for order in orders] == [["launches"]]


def test_a_profile_and_a_timeline_of_the_same_file_are_made_of_one_run(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
):
    orders: list[dict[str, Any]] = []

    def profiled(name: str, order: dict[str, Any], *others: object) -> dict[str, Any]:
        orders.append(order)
        return brought_back()

    monkeypatch.setattr("grader.notebook.lab.call_grader", profiled)
    write("first")
    for _ in range(2):
        lab.profile(case="1 token, 8 × 128", show="stalls")
        lab.timeline(case="1 token, 8 × 128")
    assert len(orders) == 1
    lab.timeline(case="1 token, 8 × 128", warps=8)
    lab.profile(case="64 tokens, 8 × 128")
    lab.profile(case="1 token, 8 × 128", of="baseline")
    assert len(orders) == 4
    write("second")
    lab.profile(case="1 token, 8 × 128")
    assert len(orders) == 5
    Path("kernel.cu").unlink()
    assert "there is no kernel.cu in" in read(lab.profile(case="1 token, 8 × 128")).text


def test_numbers_of_numpy_are_numbers():
    numpy = pytest.importorskip("numpy")
    given = {"a": numpy.float32(0.5), "b": numpy.int64(3), "c": True, "d": "4"}
    made = _plain_numbers(given)
    assert isinstance(made, dict)
    assert made == {"a": 0.5, "b": 3, "c": True, "d": "4"}
    assert [type(value) for value in made.values()] == [float, int, bool, str]
    assert _plain_numbers(None) is None


def test_pytest_is_no_notebook():
    assert not in_notebook()


def test_in_a_notebook_the_solution_passes_is_profiled_and_followed(tmp_path: Path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    (tmp_path / "kernel.cu").write_text(SOLUTION.read_text())
    cells = [
        'from grader.notebook import Lab\nlab = Lab("01")',
        'lab.check(device="virtual")',
        'lab.profile(case="64 tokens, 8 × 128")',
        'lab.timeline(case="64 tokens, 8 × 128")',
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    resources = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources)
    paths = (str(REPOSITORY), os.environ.get("PYTHONPATH", ""))
    client.execute(env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))})
    htmls = [_html(cell) for cell in notebook.cells[1:]]
    assert "PASSED" in htmls[0]
    assert "Roofline" in htmls[1]
    assert "data:image/png" in htmls[2]


def _html(cell: object) -> str:
    outputs = cell["outputs"]  # type: ignore[index]
    assert all(output["output_type"] != "stream" for output in outputs), outputs
    return next(o["data"]["text/html"] for o in outputs if "text/html" in o.get("data", {}))


def test_a_part_of_the_untouched_starter_has_earned_nothing(lab: Lab):
    write(registry.find("01").starter.read_text())
    shown = lab.part("correct")
    assert isinstance(shown, PartView)
    assert shown.points == 0
    assert read(shown).text == "correct: 0/40 points: kernel.cu is still the starter as it was handed out"
    Path("kernel.cu").rename("second.cu")
    assert "points: second.cu is still the starter" in repr(Lab("01", file="second.cu").part("correct"))


def test_validate_reads_a_parts_points_even_if_nothing_could_be_checked(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
):
    """nbgrader would take any text for full marks."""
    for shown in (lab.part("correct"), lab.part("nonsense"), lab.compare({})):
        assert isinstance(shown, Earning)
        assert shown._repr_mimebundle_()["text/plain"] == repr(shown)
        with monkeypatch.context() as validating:
            validating.setenv("NBGRADER_VALIDATING", "1")
            assert shown._repr_mimebundle_()["text/plain"] == "0"


def test_a_part_is_a_row_of_the_newest_check_and_of_the_file_as_it_is_now(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
):
    ran: list[str] = []

    def answer_of(name: str, order: object, folder: Path, notify: object) -> dict[str, object]:
        ran.append(name)
        part = PartResult("clean", 15.0, 15.0, f"check number {len(ran)}")
        record = dataclasses.replace(make_record(), parts=[part])
        return {"record": record.to_dict(), "todos": [], "remark": ""}

    monkeypatch.setattr("grader.notebook.lab.call_grader", answer_of)
    write("first")
    lab.check()
    assert "clean: 15/15 points: check number 1" in read(lab.part("clean")).text
    lab.check(step=1)  # one step says nothing of the whole
    assert "check number 1" in read(lab.part("clean")).text
    write("second")
    assert "check number 3" in read(lab.part("clean")).text
    assert "0/25 points: not checked" in read(lab.part("speed")).text
    assert ran == ["check"] * 3


def test_a_part_that_the_exercise_does_not_have_is_a_sentence(lab: Lab):
    write(DOES_NOTHING)
    assert "a part is one of 'correct', 'clean', 'mechanism', 'speed'" in read(lab.part("style")).text
    Path("kernel.cu").unlink()
    assert "there is no kernel.cu in" in read(lab.part("clean")).text


def test_hints_are_folded_and_are_those_of_the_exercise(lab: Lab):
    hints = registry.find("01").hints
    html = read(lab.hints())
    assert html.texts("details") == len(hints)
    assert all(hint in html.text for hint in hints)
    assert read(lab.hints(2)).text == f"Hint 2 of {len(hints)}{hints[1]}"
    assert all(hint not in repr(lab.hints()) for hint in hints)
    assert "has hints 1 to 3, not 4" in read(lab.hints(4)).text


@pytest.mark.parametrize("exercise", registry.all_exercises(), ids=lambda exercise: exercise.id)
def test_the_rubric_of_every_exercise_is_a_hundred_points(exercise: Exercise):
    assert sum(exercise.rubric.values()) == exercise.max_points == 100
    assert [*exercise.rubric][-4:] == ["correct", "clean", "mechanism", "speed"]
