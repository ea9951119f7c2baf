"""A class goes into the gradebook."""

from __future__ import annotations

from tests.nbgrader.tiny_notebook import QUESTION, cell_of


def test_points_are_those_of_the_grader(small_class):
    right = small_class.released
    cell_of(right, "predictions").source = 'predictions = {"launches": 1, "bytes": 32 * 64}'
    cell_of(right, QUESTION).source = "Because."
    small_class.hand_in("ada", right)
    small_class.hand_in("ben", small_class.released, "// wrong")
    graded = small_class.autograde()
    assert (graded["ada"].points, graded["ada"].by_hand) == (11.5, True)
    assert (graded["ben"].points, graded["ben"].by_hand) == (3.0, False)
    assert graded["ada"].most == 17
