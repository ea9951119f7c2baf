"""The "find the fault" questions of exercise 03: each fault shows, and its mended version has none."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest
import torch

from grader import cli
from grader.questions.grading import Results, grade
from grader.spec import registry

EXERCISE = registry.find("03")
FAULTY = importlib.import_module("exercise_03_batched_copy.faults")
LazyStreams = importlib.import_module("exercise_03_batched_copy.lazy_streams").LazyStreams
trials = importlib.import_module("exercise_03_batched_copy.fault_trials")
fields, arrived, copies_made = trials.fields, trials.arrived, trials.copies_made
NAMES = ("one_copy_with_cat", "owner_of", "copy_regions", "batched_for_the_benchmark", "copies_on_streams")


def mended() -> ModuleType:
    path = EXERCISE.solution.with_name("faults.py")
    spec = importlib.util.spec_from_file_location("mended_faults", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MENDED = mended()


@pytest.mark.parametrize("module", [FAULTY, MENDED], ids=["faulty", "mended"])
def test_there_are_five_and_each_is_mended(module: ModuleType) -> None:
    assert all(callable(getattr(module, name)) for name in NAMES)


def test_a_copy_into_a_cat_changes_no_destination() -> None:
    destinations, sources = fields()
    FAULTY.one_copy_with_cat(destinations, sources)
    assert not any(bool(to.any()) for to in destinations)
    MENDED.one_copy_with_cat(destinations, sources)
    assert arrived(destinations, sources)


def test_a_count_that_nobody_passed_is_not_there() -> None:
    with pytest.raises(NameError, match="copies"):
        FAULTY.owner_of(5, [0, 4, 9])
    assert [MENDED.owner_of(element, [0, 4, 9]) for element in (0, 3, 4, 8, 9, 100)] == [0, 0, 1, 1, 2, 2]


def test_byte_offsets_miss_elements_and_hit_others() -> None:
    memory = torch.arange(64, dtype=torch.int32)
    regions = [(0, 32, 16)]  # elements 0 to 3, to elements 8 to 11
    faulty, right = memory.clone(), memory.clone()
    FAULTY.copy_regions(faulty, regions)
    MENDED.copy_regions(right, regions)
    assert right[8:12].tolist() == [0, 1, 2, 3]
    assert int((right != memory).sum()) == 4
    assert faulty[8:12].tolist() == [8, 9, 10, 11]  # never written
    assert faulty[32:48:4].tolist() == [0, 4, 8, 12]  # somebody else's


@pytest.mark.parametrize(("module", "copies"), [(FAULTY, 8), (MENDED, 1)], ids=["faulty", "mended"])
def test_the_benchmark_of_one_copy_adds_the_seven_back(module: ModuleType, copies: int) -> None:
    destinations, sources = fields()
    assert copies_made(module.batched_for_the_benchmark(destinations, sources)) == copies
    assert arrived(destinations, sources)


@pytest.mark.parametrize(("module", "fresh"), [(FAULTY, False), (MENDED, True)], ids=["faulty", "mended"])
def test_copies_on_streams_that_wait_for_nobody_copy_what_was_there_before(
    module: ModuleType, fresh: bool
) -> None:
    streams = LazyStreams()
    destinations, sources = fields()
    stale = [source.clone() for source in sources]
    for source in sources:
        streams.queue(0, lambda source=source: source.add_(100))
    module.copies_on_streams(streams, destinations, sources)
    used: list[torch.Tensor] = []
    streams.queue(0, lambda: used.extend(to.clone() for to in destinations))
    streams.synchronise(0)
    assert arrived(used, sources if fresh else stale)
    assert streams.host_waits == (1 if fresh else 8)


def graded(pieces: dict[str, object]) -> Results:
    return grade(trials.FAULTS, {name: pieces.get(name) for name in NAMES}, vars(trials))


def test_each_fault_shows_and_the_verb_says_which(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(EXERCISE.folder / "faults.py", tmp_path / "mine.py")
    assert cli.main(["answers", "03", str(tmp_path / "mine.py")]) == 0
    title, _, _, *lines = capsys.readouterr().out.splitlines()
    assert title == "mine.py: 0 of 5 right"
    stated = dict(line.split(maxsplit=1) for line in lines if line)
    assert tuple(stated) == NAMES
    assert stated.pop("owner_of").startswith("raises NameError at line ")
    assert set(stated.values()) == {"does something else"}


def test_corrected_pieces_are_distinguished_from_faulty_ones() -> None:
    assert {one.reason for one in graded(vars(MENDED)).graded} == {"does what it says"}
    one_mended = graded(vars(FAULTY) | {"copy_regions": MENDED.copy_regions})
    assert [one.name for one in one_mended.graded if one.credit] == ["copy_regions"]


def test_a_piece_that_is_gone_is_said_to_be_gone() -> None:
    assert {one.reason for one in graded({}).graded} == {"is not in this file any more"}
