"""The "find the fault" questions of exercise 03: each fault shows, and its mended version has none."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from grader.spec import registry

EXERCISE = registry.find("03")
FAULTY = importlib.import_module("exercise_03_batched_copy.faults")
LazyStreams = importlib.import_module("exercise_03_batched_copy.lazy_streams").LazyStreams
trials = importlib.import_module("exercise_03_batched_copy.fault_trials")
fields, arrived, CountCopies = trials.fields, trials.arrived, trials.CountCopies
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
    batched = module.batched_for_the_benchmark(destinations, sources)
    with CountCopies() as counted:
        batched()
    assert arrived(destinations, sources)
    assert counted.copies == copies


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


def run_by_name(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "faults.py"], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("own_folder", [False, True], ids=["where it lies", "copied as the statement says"])
def test_the_faults_run_by_name_and_each_shows(own_folder: bool, tmp_path: Path) -> None:
    folder = EXERCISE.folder
    if own_folder:
        folder = tmp_path
        for name in ("faults.py", "fault_trials.py", "lazy_streams.py"):
            shutil.copy(EXERCISE.folder / name, folder)
    run = run_by_name(folder)
    assert run.stderr == ""
    assert run.returncode == 1
    told = dict(line.split(maxsplit=1) for line in run.stdout.splitlines())
    assert tuple(told) == NAMES
    assert told.pop("owner_of").startswith("raises NameError")
    assert set(told.values()) == {"does something else"}


def test_mended_pieces_are_told_from_faulty_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert trials.main(vars(MENDED)) == 0
    assert capsys.readouterr().out.count("does what it says") == len(NAMES)
    one_mended = vars(FAULTY) | {"copy_regions": MENDED.copy_regions}
    assert trials.main(one_mended) == 1
    assert capsys.readouterr().out.count("does what it says") == 1


def test_a_piece_that_is_gone_is_said_to_be_gone(capsys: pytest.CaptureFixture[str]) -> None:
    assert trials.main({}) == 1
    assert capsys.readouterr().out.count("is not in this file any more") == len(NAMES)
