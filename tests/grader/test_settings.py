"""The course's settings decide where marks count; a mistake in them is a sentence."""

from __future__ import annotations

import pytest

from common.core.errors import CourseError
from common.gpu.devices import Gpu
from grader.course import settings
from grader.course.settings import Cluster, Settings, Slurm, choose_device, read_settings


def test_without_a_file_marks_count_wherever_they_are_made(monkeypatch, tmp_path):
    monkeypatch.setattr(settings, "DEFAULT_FILE", tmp_path / "course.toml")
    assert read_settings() == Settings()
    assert Settings().remark("gpu") == Settings().remark("virtual") == ""


def test_marks_of_another_device_are_labelled(tmp_path):
    (tmp_path / "course.toml").write_text('official_device = "gpu"\nwall_seconds = 60\n')
    read = read_settings(tmp_path / "course.toml")
    assert read == Settings("gpu", 60.0)
    assert read.remark("gpu") == ""
    assert read.remark("virtual") == "not official: this course's marks are made on a GPU"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('official_device = "moon"', "official_device is 'moon' where one of virtual, gpu was expected"),
        ("wall_seconds = 0", "wall_seconds is 0 where a number of seconds above 0"),
        ("wall_seconds = true", "wall_seconds is True"),
        ('profile = "h300"', r"profile is 'h300' where one of a100, .* was expected"),
        (
            "colour = 1",
            "has a setting 'colour'; the settings are cluster, official_device, on, profile, slurm",
        ),
        ("official_device = ", "cannot be read"),
        ("on = 3", "on is 3 where a text was expected"),
        ("slurm = 3", "slurm is 3 where a table was expected"),
        ("[slurm]\njobs = 0", "slurm: jobs is 0 where a whole number above 0 was expected"),
        ("[slurm]\nmemory = 4", "slurm: memory is 4 where a text was expected"),
        ('[slurm]\nprologue = "module load"', "prologue is 'module load' where a list of texts was expected"),
        ("[slurm]\nqueue = 'x'", "slurm has a setting 'queue'; its settings are jobs, cpus, memory"),
        ("[cluster]\nunencrypted = 1", "cluster: unencrypted is 1 where true or false was expected"),
    ],
)
def test_a_mistake_in_the_settings_is_a_sentence(tmp_path, text, sentence):
    (tmp_path / "course.toml").write_text(text)
    with pytest.raises(CourseError, match=sentence):
        read_settings(tmp_path / "course.toml")


def test_a_site_says_once_how_its_jobs_look(tmp_path):
    text = (
        'on = "slurm"\n[slurm]\njobs = 4\nprologue = ["module load cuda"]\n[cluster]\nmissing_walls = true\n'
    )
    (tmp_path / "course.toml").write_text(text)
    read = read_settings(tmp_path / "course.toml")
    assert (read.on, read.slurm, read.cluster) == (
        "slurm",
        Slurm(jobs=4, prologue=("module load cuda",)),
        Cluster(missing_walls=True),
    )


def test_a_file_that_was_named_must_be_there(tmp_path):
    with pytest.raises(CourseError, match="cannot be read"):
        read_settings(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("asked", "official", "has_gpu", "kind"),
    [
        (None, "", False, "virtual"),
        (None, "", True, "gpu"),
        (None, "virtual", True, "virtual"),
        (None, "gpu", True, "gpu"),
        (None, "gpu", False, "virtual"),
        ("virtual", "gpu", True, "virtual"),
        ("gpu", "virtual", True, "gpu"),
    ],
)
def test_the_device_is_the_one_asked_for_else_the_official_one_else_a_gpu(
    monkeypatch, asked, official, has_gpu, kind
):
    gpu = Gpu("NVIDIA H200", "90", "580")
    monkeypatch.setattr(settings, "find_gpus", lambda: (gpu,) if has_gpu else ())
    monkeypatch.setattr(settings, "first_gpu", lambda: gpu)
    assert choose_device(asked, Settings(official)).kind == kind
