"""Output of a submission is shown once, however often its kernel was called."""

from __future__ import annotations

from grader.pipeline.grading import grade
from grader.pipeline.repeated_lines import without_repeats
from grader.spec import registry


def test_lines_are_shown_in_order_with_their_counts():
    assert without_repeats("a\nb\na\na\n\n\n") == (
        "a  [3 times]\nb\n\n"
        "[3 lines that repeat others are left out: the kernel is called several times for every case]\n"
    )


def test_what_does_not_repeat_stays_as_it_is():
    assert without_repeats("") == ""
    assert without_repeats("a\n b\nc") == "a\n b\nc"


def test_output_of_a_kernel_is_shown_once_not_once_per_call(tmp_path):
    exercise = registry.find("01")
    source = tmp_path / "kernel.cu"
    # The first brace behind the entry point's name opens its body.
    before, name, body = exercise.solution.read_text().rpartition(f"int {exercise.entry}(")
    loud = body.replace("{\n", '{\n  printf("called\\n");\n  fflush(stdout);\n', 1)
    source.write_text(f"#include <cstdio>\n{before}{name}{loud}")
    record = grade(exercise, source, submission="loud", device="virtual", stages=("build", "correctness"))
    assert record.output.count("called") == 2, record.output  # the line, and the sentence about the rest
    assert "lines that repeat others are left out" in record.output
