"""A site's sbatch refuses the jobs: the command ends with what it said."""

from __future__ import annotations

import time

import pytest

from common.core.errors import CourseError
from grader.cluster.slurm import _last_words, slurm_cluster
from grader.course.settings import Settings, Slurm

pytest.importorskip("dask_jobqueue")


def test_the_command_ends_with_what_sbatch_said(tmp_path, monkeypatch):
    refusal = "sbatch: error: invalid partition specified: nowhere"
    for name, text in (("sbatch", f"echo '{refusal}' >&2; exit 1"), ("scancel", "exit 0")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    settings = Settings(slurm=Slurm(jobs=2, cpus=1, partition="nowhere"))
    began = time.monotonic()
    refused = pytest.raises(CourseError, match=f"Slurm took no job: {refusal}. The options")
    with refused, slurm_cluster(settings) as cluster:
        cluster.device()
    assert time.monotonic() - began < 60


def test_what_sbatch_said_is_repeated_without_the_command():
    problem = (
        "Command exited with non-zero exit code.\nExit code: 1\nCommand:\nsbatch /tmp/x.sh\nstdout:\n\n"
        "stderr:\nsbatch: error: a\nsbatch: error: b\n"
    )
    assert _last_words(problem) == "sbatch: error: a; sbatch: error: b"
    assert _last_words("no such file") == "no such file"


def test_jobs_that_sbatch_takes_become_workers(tmp_path, monkeypatch):
    """Here sbatch runs the job's script at once, and scancel ends it."""
    jobs = {
        "sbatch": 'setsid sh "$1" >/dev/null 2>&1 & echo "Submitted batch job $!"; sleep 1',
        "scancel": 'kill -- "-$1"',
    }
    for name, text in jobs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with slurm_cluster(Settings(slurm=Slurm(jobs=1, cpus=1))) as cluster:
        assert len(cluster._first_workers()) == 1
