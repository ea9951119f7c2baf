"""Timed sizes that the virtual GPU cannot run whole: a few blocks of each launch run, with all checks."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import pytest
import torch

from grader.building.scratch_folder import scratch_folder
from grader.devices.device import VirtualDevice
from grader.pipeline.grading import grade
from grader.pipeline.judging.large_sizes import Looked, launched_there_alone, look_at_large_sizes
from grader.records.record import Record
from grader.records.replay import differences
from grader.render.terminal import sampled_only as in_terminal
from grader.spec import Call, Exercise, Size, Speedup, case
from grader.spec.random_inputs import Random
from tests.grader.stepped_exercise import EXERCISE

SOURCE = Path(__file__).with_name("large_sizes.cu")
HONEST = 2_000_000
NAMES = {
    1: "behind the end",
    2: "a race",
    3: "by the size of the grid",
    4: "after a sleep",
    5: "on some SM",
    6: "a trap",
    7: "busy first",
    8: "endless",
    9: "waits for all blocks",
    10: "a barrier of the grid",
    11: "in one launch of 300",
    12: "after an idle launch",
    13: "in a graph of its own",
    14: "copies by the runtime",
    15: "fresh memory",
    16: "a second launch reads what the first wrote",  # in memory that it keeps
    17: "honest",
}
HUGE = tuple(case(name, n=HONEST + number + 1, copies=2, gpu_only=True) for number, name in NAMES.items())


def with_large(*names: str) -> Exercise:
    """The tests' exercise with these sizes beside its own, each a target."""
    cases = [one for one in HUGE if one.name in names]
    targets = tuple(Speedup((one.name,), passing=1.2, full=1.5, share=0.1) for one in cases)
    return dataclasses.replace(
        EXERCISE, steps=(), bench=(*EXERCISE.bench, *cases), targets=(*EXERCISE.targets, *targets)
    )


@cache
def looked() -> dict[str, Looked]:
    """Every way at its size: one program, on one engine."""
    device = VirtualDevice()
    with scratch_folder() as scratch:
        program = device.compile(SOURCE, scratch)
        found = look_at_large_sizes(with_large(*NAMES.values()), program, device, "a secret")
    return {one.case.name: one for one in found}


def lines_of(name: str) -> list[tuple[str, str]]:
    """Kind and source line of each finding."""
    text = SOURCE.read_text().splitlines()
    return [(one.kind, text[one.line - 1].partition("// ")[2]) for one in looked()[name].findings]


@pytest.mark.parametrize(
    ("name", "kind", "mark"),
    [
        ("behind the end", "memory", "OUT OF BOUNDS"),
        ("a race", "race", "RACE"),
        ("by the size of the grid", "memory", "BY ITS GRID"),
        ("after a sleep", "memory", "AFTER A SLEEP"),
        ("on some SM", "memory", "ON SOME SM"),
        ("a trap", "trap", "TRAP"),
        ("in one launch of 300", "memory", "OUT OF BOUNDS"),
        ("after an idle launch", "memory", "OUT OF BOUNDS"),
        ("in a graph of its own", "memory", "OUT OF BOUNDS"),
        ("fresh memory", "init", "NOT WRITTEN"),
    ],
)
def test_a_mistake_at_such_a_size_alone_is_found_at_its_line(name: str, kind: str, mark: str):
    """Must not earn: the points for a clean kernel."""
    assert (kind, mark) in lines_of(name)
    assert all(f"(at {name}, where a few blocks" in one.message for one in looked()[name].findings)


@pytest.mark.parametrize("name", ["busy first", "endless", "waits for all blocks", "a barrier of the grid"])
def test_a_block_that_waits_or_goes_on_for_long_is_abandoned_and_the_record_shows_it(name: str):
    """Must not earn: that nobody looks. What such a block would do later is not seen."""
    one = looked()[name]
    assert one.findings == ()
    [launch] = one.plain()["launches"]
    assert launch["begun"] > launch["finished"] == 0


def test_what_lies_in_scratch_by_chance_is_not_written():
    """Must not earn: that a read of it is missed, or found by chance. The harness's tensor has anything."""
    exercise = with_large("honest")

    def inputs(size: Size, rng: Random) -> Call:
        call = exercise.inputs(size, rng)
        sources = {name: torch.zeros_like(one) for name, one in call.buffers.items() if "source" in name}
        assert all(tensor.nbytes > 4 << 20 for tensor in sources.values())  # such inputs take no memory
        return dataclasses.replace(call, buffers={**call.buffers, **sources}, scratch=tuple(sources))

    device = VirtualDevice()
    with scratch_folder() as scratch:
        program = device.compile(SOURCE, scratch)
        reading = dataclasses.replace(exercise, inputs=inputs)
        [one] = look_at_large_sizes(reading, program, device, "a secret")
    assert {finding.kind for finding in one.findings} == {"init"}


def test_a_call_without_kernels_is_named():
    """Must not earn: that nobody looks."""
    one = looked()["copies by the runtime"]
    assert one.findings == ()
    assert one.unseen.startswith("at copies by the runtime nothing was launched")


def test_what_was_left_out_of_one_launch_is_no_mistake_of_the_next():
    one = looked()["a second launch reads what the first wrote"]
    assert one.findings == ()
    first, second = one.plain()["launches"]
    assert first["begun"] == first["finished"] == 6
    assert second["begun"] > second["finished"]  # those that read what nobody wrote go on no more


def test_an_honest_kernel_has_no_finding_and_its_blocks_end():
    one = looked()["honest"]
    assert (one.findings, one.unseen, one.why_not) == ((), "", "")
    [launch] = one.plain()["launches"]
    assert (launch["begun"], launch["finished"], launch["blocks"]) == (6, 6, launch["grid"][0] * 2)
    assert (launch["block"], launch["cluster"], launch["shared"]) == ([256, 1, 1], [1, 1, 1], 0)


def test_kernels_that_only_such_sizes_launch_are_named():
    whole = looked()["honest"].report
    assert "races(" in " ".join(launched_there_alone([looked()["a race"]], [whole]))
    assert launched_there_alone([looked()["honest"]], [whole]) == []


def test_the_report_says_where_only_the_beginning_of_blocks_was_seen():
    record = graded("endless")
    assert in_terminal(record).endswith("endless (the beginning of each alone)\n")
    assert record.findings == []


def graded(name: str) -> Record:
    return grade(with_large(name), SOURCE, submission="x", device="virtual", seed="a seed")


def test_a_finding_there_takes_the_points_of_a_clean_kernel():
    """Must not earn: the points for a clean kernel."""
    record = graded("behind the end")
    assert {part.name: part.points for part in record.parts}["clean"] == 0
    assert record.verdict == "correct, with findings"
    [finding] = record.findings
    assert "OUT OF BOUNDS" in record.source.splitlines()[finding["line"] - 1]
    [kernel] = record.sampled_only
    assert "behind_the_end" in kernel
    assert "checked in sampled blocks only, at sizes that need a GPU: behind_the_end" in in_terminal(record)


def test_an_honest_kernel_keeps_its_points_and_its_record_can_be_read_again(tmp_path: Path):
    record = graded("honest")
    assert {part.name: part.points for part in record.parts}["clean"] == EXERCISE.points.clean
    assert (record.sampled_only, record.flags) == ([], [])
    assert [one["case"] for one in record.large_sizes] == ["honest"]
    [shape] = [one for one in record.launch_shapes if one["sampled"]]
    assert (shape["sampled"], shape["launches"], "four" in shape["whole"]) == (["honest"], 1, True)
    record.write(tmp_path / "new.json")
    assert Record.read(tmp_path / "new.json").large_sizes == record.large_sizes
    added = ("large_sizes", "launch_shapes", "sampled_only")
    older = {name: value for name, value in record.to_dict().items() if name not in added}
    assert differences(Record.from_dict(older), record) == []
