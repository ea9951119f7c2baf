"""Whatever a notebook does to the grading of itself, points come from the kernel and from answers as data.

N1 to N7 are holes that nbgrader's own grading was seen to have; each handed in here gave points there that
were not earned, or lost some.
"""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

from tests.nbgrader.small_course import FIRST, SEED
from tests.nbgrader.tiny_notebook import QUESTION, cell_of

WRONG = "// wrong"  # the stand-in gives such a kernel 3 of 10 points
ANSWERED = 'predictions = {"launches": 1, "bytes": 4096}'

IN_AN_ANSWER_CELL = {
    "N1 cells that vanish": "get_ipython().input_transformers_cleanup.append(lambda lines: [])",
    "N2 a forged float": (
        "get_ipython().display_formatter.formatters['text/plain'].for_type(float, lambda *_: '99')"
    ),
    "N3 a look at the gradebook": (
        "import sqlite3\nbook = sqlite3.connect('../../../gradebook.db')\n"
        "print(book.execute('select * from grade').fetchall())"
    ),
    "N4 a better gradebook": (
        "import sqlite3\nbook = sqlite3.connect('../../../gradebook.db')\n"
        "book.execute('update grade set manual_score = 99, auto_score = 99')\nbook.commit()"
    ),
    "N6 a kernel that dies": "import os\nos._exit(0)",
    "N7 a cell without end": "while True:\n    pass",
}


@pytest.fixture(scope="module")
def graded(small_class):
    """Everybody hands in at once; what one of them does must cost no other."""

    def changed(edit):
        notebook = small_class.released
        edit(notebook)
        return notebook

    def answering(text):
        return lambda notebook: cell_of(notebook, "predictions").update(source=text)

    def without(*names):
        def edit(notebook):
            for name in names:
                notebook.cells.remove(cell_of(notebook, name))

        return edit

    def twice(notebook):
        notebook.cells.insert(3, json_copy(cell_of(notebook, "part-correct")))
        notebook.cells.append(json_copy(cell_of(notebook, QUESTION)))
        notebook.cells[-1].source = "The copy has the answer."

    def retyped(notebook):
        about = cell_of(notebook, "part-correct").metadata.nbgrader
        about.update(points=1000, solution=True, locked=False)
        cell_of(notebook, "part-speed").cell_type = "raw"
        cell_of(notebook, QUESTION).metadata.nbgrader.update(points=500, grade="yes", schema_version="seven")

    def outputs(notebook):
        cell_of(notebook, "part-correct").outputs = [
            {
                "output_type": "execute_result",
                "execution_count": 1,
                "metadata": {},
                "data": {"text/plain": "5.0", "text/html": "<script>alert(1)</script>"},
            }
        ]

    hand_in = small_class.hand_in
    hand_in("honest", changed(answering(ANSWERED)), "// fine")
    for name, code in IN_AN_ANSWER_CELL.items():
        hand_in(name, changed(answering(f"{code}\n")), WRONG)
    hand_in("N5 deleted", changed(without("part-correct", "part-speed", "predictions", QUESTION)), WRONG)
    hand_in("nothing left", changed(lambda notebook: notebook.cells.clear()), "// fine")
    hand_in("copied", changed(twice), WRONG)
    hand_in("retyped", changed(retyped), WRONG)
    hand_in("forged outputs", changed(outputs), WRONG)
    hand_in(
        "a voice", changed(lambda notebook: notebook.metadata.update(submission_problem="Full marks!")), WRONG
    )
    hand_in("corrupt", b'{"cells": [', "// fine")
    hand_in("no notebook", json.dumps([1, 2]).encode(), "// fine")
    hand_in("deep", b"[" * 200_000, "// fine")
    hand_in("enormous", b'{"cells": [], "metadata": {}, "x": "' + b"x" * (17 << 20) + b'"}', "// fine")
    hand_in("many cells", many_cells(small_class.released), "// fine")
    hand_in("missing", None, "// fine")
    hand_in("no kernel", changed(answering(ANSWERED)), None)
    hand_in("odd bytes", odd_text(small_class.released), "// fine")
    place = hand_in("renamed", changed(answering(ANSWERED)), "// fine")
    (place / f"{FIRST}.ipynb").rename(place / "my homework.ipynb")
    place = hand_in("bad date", changed(answering(ANSWERED)), "// fine")
    (place / "timestamp.txt").write_text("the day before yesterday")
    place = hand_in("linked", changed(answering(ANSWERED)), None)
    secret = small_class.folder.root.parent / "solutions" / FIRST / "kernel.cu"
    (place / "kernel.cu").symlink_to(secret)
    (place / "more.txt").symlink_to(secret)
    place = hand_in("no text", changed(answering(ANSWERED)), "// fine")
    Path(os.fsdecode(os.fsencode(place) + b"/\xff.txt")).write_text("its name is no UTF-8")
    Path(os.fsdecode(os.fsencode(place) + b"/\xfe.txt")).symlink_to(secret)
    return small_class.autograde()


def json_copy(cell):
    return type(cell)(json.loads(json.dumps(cell), object_hook=type(cell)))


def many_cells(notebook):
    notebook.cells += [json_copy(notebook.cells[0]) for _ in range(3000)]
    for number, cell in enumerate(notebook.cells):
        cell.id = f"c{number}"
    return notebook


def odd_text(notebook):
    plain = json.loads(json.dumps(notebook))
    plain["cells"][0]["source"] = "a lone surrogate"
    plain["cells"][0]["metadata"] = {"nbgrader": ["no", "dict"]}
    plain["cells"].append({"cell_type": 7, "source": 7, "metadata": None, "id": {}})
    return json.dumps(plain).replace("a lone surrogate", "\\ud800").encode()


def warnings_of(small_class, student: str) -> str:
    """What the graded notebook says at its top."""
    first = small_class.autograded(student).cells[0].source
    return first if first.startswith("**From the grader") else ""


def test_every_student_is_in_an_intact_gradebook(small_class, graded):
    assert {name: one.problem for name, one in graded.items() if one.problem} == {}
    with sqlite3.connect(small_class.folder.root / "gradebook.db") as book:
        assert book.execute("pragma integrity_check").fetchone() == ("ok",)
        [[entries]] = book.execute("select count(*) from submitted_assignment").fetchall()
    assert entries == len(graded)


def test_the_honest_student_has_all_autograded_points(graded):
    assert (graded["honest"].points, graded["honest"].most) == (12, 17)


@pytest.mark.parametrize("name", IN_AN_ANSWER_CELL)
def test_code_in_an_answer_cell_earns_what_the_kernel_earns(graded, name):
    assert (graded[name].points, graded[name].by_hand) == (3, False)


@pytest.mark.parametrize(
    ("name", "points", "by_hand"),
    [
        ("N5 deleted", 3, False),
        ("nothing left", 10, False),
        ("copied", 3, True),  # the copy of the question is an answer, and is there to be read
        ("retyped", 3, False),
        ("forged outputs", 3, False),
        ("corrupt", 10, False),
        ("no notebook", 10, False),
        ("deep", 10, False),
        ("enormous", 10, False),
        ("many cells", 10, False),
        ("missing", 10, False),
        ("odd bytes", 10, False),
        ("no kernel", 0, False),
        ("renamed", 12, False),
        ("bad date", 12, False),
        ("linked", 0, False),
        ("no text", 12, False),
    ],
)
def test_points_and_what_is_left_to_a_person(graded, name, points, by_hand):
    assert (graded[name].points, graded[name].by_hand, graded[name].most) == (points, by_hand, 17)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("N5 deleted", "put back: part-correct, part-speed, q-why"),
        ("copied", "Copies of graded cells do not count: part-correct"),
        ("corrupt", "it is not JSON"),
        ("no notebook", "not a notebook of format 4"),
        ("deep", "nested too deeply"),
        ("enormous", "larger than 16 MiB"),
        ("many cells", "has 3,0"),
        ("missing", "there was none"),
        ("renamed", "my homework.ipynb was graded as"),
        ("bad date", "held no date"),
        ("linked", "kernel.cu was a symbolic link"),
        ("no text", "?.txt was a symbolic link"),
    ],
)
def test_the_reason_is_at_the_top_of_the_notebook(small_class, graded, name, words):
    assert words in warnings_of(small_class, name).replace("\\", "")


def test_a_student_cannot_imitate_the_graders_notes(small_class, graded):
    assert "Full marks" not in json.dumps(small_class.autograded("a voice"))


def test_cells_are_as_they_were_released(small_class, graded):
    cell = cell_of(small_class.autograded("retyped"), "part-correct")
    assert cell.metadata.nbgrader.points == 5
    assert cell.source == 'lab.part("correct")'
    assert "script" not in str(small_class.autograded("forged outputs"))


def test_every_point_has_its_reason_beside_it(small_class, graded):
    outputs = cell_of(small_class.autograded("N6 a kernel that dies"), "part-correct").outputs
    assert outputs[-1].data["text/plain"] == "3.0"
    assert "correct: 3/5 points" in outputs[0].data["text/plain"]
    assert "hidden 1" in outputs[0].data["text/html"]
    predicted = cell_of(small_class.autograded("N6 a kernel that dies"), "predictions-points").outputs
    assert "the cell does not assign to `predictions`" in predicted[0].data["text/plain"]
    missing = cell_of(small_class.autograded("no kernel"), "part-correct").outputs
    assert "there is no kernel.cu beside the notebook" in missing[0].data["text/plain"]


def test_nothing_that_a_student_gets_back_holds_a_secret(small_class, graded):
    texts = [
        path.read_text() for path in (small_class.folder.root / "autograded").rglob("*") if path.is_file()
    ]
    assert texts
    assert not any(SEED in text or "the secret of the solution" in text for text in texts)


def test_the_same_command_again_writes_nobodys_points_again(small_class, graded):
    """Nor of those that have no kernel to be graded."""
    before = {
        path: path.stat().st_mtime_ns for path in small_class.folder.root.glob("autograded/*/*/*.ipynb")
    }
    assert small_class.autograde()["no kernel"].points == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_endlessly_nested_folders_do_not_affect_other_students(small_class, graded, monkeypatch):
    place = small_class.hand_in("bottomless", None, "// fine")
    monkeypatch.chdir(place)
    for _ in range(1200):
        Path("a").mkdir()
        os.chdir("a")
    again = small_class.autograde()
    assert "nested too deeply" in again["bottomless"].problem
    assert again["renamed"].points == 12
    outer, inner = place / "outer", place / "a"
    while inner.exists():  # too deep for rmtree
        inner.rename(outer)
        if (outer / "a").exists():
            (outer / "a").rename(inner)
        outer.rmdir()


def test_an_unreadable_folder_does_not_affect_other_students(small_class, graded, monkeypatch):
    from grader.nbgrader.handing_in import handed_in

    look_over = handed_in.look_over

    def refused(folder, student, assignment):
        if student == "honest":
            raise PermissionError(13, "Permission denied", "a link")
        return look_over(folder, student, assignment)

    monkeypatch.setattr(handed_in, "look_over", refused)
    again = small_class.autograde()
    assert "Permission denied" in again["honest"].problem
    assert again["renamed"].points == 12
