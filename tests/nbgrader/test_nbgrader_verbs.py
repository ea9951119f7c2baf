"""The verbs for a class: light to import, and a sentence for whatever is missing."""

from __future__ import annotations

import os
import subprocess
import sys

import nbformat
import pytest

from common.core.paths import REPOSITORY
from grader import cli
from grader.cli.instructor.nbgrader import _class_folder
from grader.course import student
from grader.nbgrader import class_folder
from grader.nbgrader.class_folder import put_working_copy
from grader.nbgrader.validating import SETTINGS
from grader.spec import registry
from tests.nbgrader.small_course import FIRST


@pytest.mark.parametrize(
    "module", ["instructor.nbgrader", "student.notebook", "instructor.release", "instructor.demo_class"]
)
def test_importing_a_verb_is_cheap(module):
    heavy = {"nbgrader", "nbconvert", "nbformat", "sqlalchemy", "traitlets", "torch", "jupyterlab"}
    script = f"import sys, grader.cli.{module}; print(*sorted({heavy!r} & set(sys.modules)))"
    command = [sys.executable, "-c", script]
    assert (
        subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.split()
        == []
    )


def test_without_nbgrader_there_is_a_sentence(small_class, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nbgrader", None)
    for arguments in (["nbgrader", "list"], ["nbgrader", "autograde"], ["demo-class"]):
        assert cli.main([*arguments]) == cli.USAGE_ERROR
        assert "nbgrader is not installed in this Python" in capsys.readouterr().err


def test_help_needs_no_nbgrader(small_class, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "nbgrader", None)
    for arguments in (["nbgrader", "--help"], ["nbgrader", "collect", "--help"]):
        assert cli.main([*arguments]) == 0
        assert "nbgrader's own help comes with it" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["autogrde", "01"], "nbgrader has no command 'autogrde': did you mean autograde?"),
        (["autograde", "01", "--studnt", "ada"], "there is no option --studnt: did you mean --student?"),
        (["generate_feedback", "--forced"], "there is no option --forced: did you mean --force?"),
        (["--clas", "/tmp/x", "autograde"], "there is no option --clas: did you mean --class DIR?"),
    ],
)
def test_a_misspelt_word_does_nothing(small_class, capsys, arguments, words):
    chosen = [] if arguments[0].startswith("-") else ["--class", str(small_class.folder.root)]
    assert cli.main(["nbgrader", *chosen, *arguments]) == 2
    assert words in capsys.readouterr().err


def test_options_of_nbgrader_itself_pass(small_class, capsys):
    assert cli.main(["nbgrader", "--class", str(small_class.folder.root), "--version"]) == 0
    assert "nbgrader version" in capsys.readouterr().out
    assert _class_folder(["--version"])[1] == ["--version"]


def test_settings_of_nbgrader_pass(small_class, capsys):
    given = ["autograde", "--SQLite.any=1", "--debug", "--all"]
    assert cli.main(["nbgrader", "--class", str(small_class.folder.root), *given]) == 2
    assert "there are no submissions" in capsys.readouterr().err


def test_nothing_submitted_is_reported(small_class, capsys):
    assert cli.main(["nbgrader", "--class", str(small_class.folder.root), "autograde", "--all"]) == 2
    assert "there are no submissions below" in capsys.readouterr().err
    assert cli.main(["nbgrader", "--class", str(small_class.folder.root), "autograde", "01"]) == 2
    assert f"there are no submissions for {FIRST} below" in capsys.readouterr().err
    whose = ["autograde", "01", "--student", "zoe"]
    assert cli.main(["nbgrader", "--class", str(small_class.folder.root), *whose]) == 2
    assert f"there are no submissions for {FIRST} of zoe below" in capsys.readouterr().err


def test_a_notebook_that_is_not_there_is_named(small_class, capsys):
    assert cli.main(["notebook", "09", "--only-copy"]) == 2
    assert f"there is no notebook '09'; the notebooks are {FIRST}" in capsys.readouterr().err


def test_a_working_copy_is_made_once_and_then_belongs_to_the_student(small_class, capsys):
    assert cli.main(["notebook", "01", "--only-copy"]) == 0
    mine = student.WORK / FIRST
    assert sorted(path.name for path in mine.iterdir()) == [f"{FIRST}.ipynb", "kernel.cu"]
    (mine / "kernel.cu").write_text("// mine")
    assert cli.main(["notebook", "01", "--only-copy"]) == 0
    assert (mine / "kernel.cu").read_text() == "// mine"


def test_the_notebook_and_the_terminal_have_one_kernel(small_class, capsys):
    exercise = registry.find("01")
    assert cli.main(["start", "01"]) == 0
    mine = student.own_file(exercise, None)
    mine.write_text("// mine")
    assert cli.main(["notebook", "01", "--only-copy"]) == 0
    assert (mine.parent / f"{FIRST}.ipynb").is_file()
    assert mine.read_text() == "// mine"
    assert [*student.WORK.rglob("kernel.cu")] == [mine]


def test_the_terminal_takes_the_kernel_that_the_notebook_began_with(small_class, capsys):
    assert cli.main(["notebook", "01", "--only-copy"]) == 0
    (mine,) = student.WORK.rglob("kernel.cu")
    mine.write_text("// mine")
    assert cli.main(["start", "01"]) == 0
    assert student.own_file(registry.find("01"), None) == mine
    assert mine.read_text() == "// mine"


@pytest.mark.parametrize(("user", "allowed"), [(0, ["--allow-root"]), (1000, [])])
def test_jupyter_starts_for_root_too_as_one_is_in_a_container(small_class, monkeypatch, user, allowed):
    started: list[list[str]] = []
    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setattr(os, "execv", lambda program, command: started.append(command))
    cli.main(["notebook", "01", "--no-browser"])
    [command] = started
    assert command[3].endswith(f"{FIRST}/{FIRST}.ipynb")
    assert command[4:] == ["--no-browser", *allowed]


def test_jupyter_asks_for_no_news_and_no_updates(monkeypatch):
    manager = pytest.importorskip("jupyter_server.services.config.manager")
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", str(SETTINGS))
    overrides = manager.ConfigManager(config_dir_name="labconfig").get("default_setting_overrides")
    asked = overrides["@jupyterlab/apputils-extension:notification"]
    assert asked == {"fetchNews": "false", "checkForUpdates": False}


def test_the_source_of_an_assignment_follows_the_course(small_class, tmp_path):
    folder = tmp_path / FIRST
    put_working_copy(FIRST, folder, replace=True)
    (folder / "kernel.cu").write_text("// old")
    assert put_working_copy(FIRST, folder, replace=True) == [folder / "kernel.cu"]
    assert put_working_copy(FIRST, folder, replace=True) == []


def test_the_release_holds_what_the_notebook_holds(small_class):
    """nbgrader clears nothing from the notebooks: they have no solutions to clear."""
    source = nbformat.read(class_folder.NOTEBOOKS / FIRST / f"{FIRST}.ipynb", as_version=4)
    assert [cell.source for cell in small_class.released.cells] == [cell.source for cell in source.cells]
