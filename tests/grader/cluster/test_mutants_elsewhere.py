"""`mutants` with --on: the cluster tries what this machine would have tried."""

from __future__ import annotations

import json
from unittest import mock

import pytest

from grader.classes.local_processes import LocalProcesses
from grader.classes.run_log import read_runs
from grader.cli.instructor import mutants as verb
from grader.spec import registry
from tests.grader.cluster.dask_here import dask_here
from tests.grader.course_fixtures import FIRST, GRADER, course
from tests.grader.test_mutants import FRAME

pytest.importorskip("distributed", reason="needs Dask: pip install -r requirements/cluster.txt")

__all__ = ["course"]


def test_mutants_are_tried_on_a_cluster_as_they_are_here(course, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(verb, "GRADER", GRADER)
    registry.find(FIRST).solution.write_text(FRAME.format(body="  if (i < rows) f();  // fine"))
    sample = (FIRST, "--sample", "2", "--json", "--output")
    assert verb.main([*sample, str(tmp_path / "here")]) == 1, "the stand-in catches none"
    here = json.loads(capsys.readouterr().out)
    monkeypatch.setattr(LocalProcesses, "graded", mock.Mock(side_effect=AssertionError("tried here")))
    with dask_here(tmp_path / "dask", workers=1) as cluster:
        assert verb.main([*sample, str(tmp_path / "there"), "--on", str(cluster.file)]) == 1
    assert json.loads(capsys.readouterr().out) == here
    assert len(here["mutants"]) == 2
    assert len(read_runs(tmp_path / "there")[-1].rows) == 2
