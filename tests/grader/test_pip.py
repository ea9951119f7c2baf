"""What is shown while pip works, and what when it fails; pip is a script that says what it is given."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from grader.course import pip

TALK = """\
Looking in links: somewhere
Ignoring contourpy: markers do not match your environment
Collecting numpy==2.4.6 (from -r base.txt (line 4))
  Downloading numpy-2.4.6-cp311-aarch64.whl (14.2 MB)
Processing /wheels/rich-15.0.0-py3-none-any.whl
Installing collected packages: numpy, rich
"""
ERRORS = """\
WARNING: Retrying (Retry(total=0)) after connection broken
ERROR: Could not find a version that satisfies the requirement rich==15.0.0
ERROR: No matching distribution found for rich==15.0.0
"""


class Pip:
    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.script = folder / "pip.py"
        patch.setattr(pip, "_PIP", (sys.executable, str(self.script)))
        patch.setattr(pip, "log_path", lambda: folder / "install.log")

    def says(self, text: str, status: int) -> None:
        self.script.write_text(
            f"import sys, time\nfor line in {text.splitlines()!r}:\n    print(line)\n    time.sleep(0.02)\n"
            f"assert '--no-deps' in sys.argv\nsys.exit({status})\n"
        )


@pytest.fixture
def fake(monkeypatch, tmp_path):
    return Pip(monkeypatch, tmp_path)


def test_its_lines_go_to_a_log_and_none_of_them_to_the_screen(fake, capsys):
    fake.says(TALK, 0)
    assert not pip.pip_install([], "install base", packages=2)
    assert pip.log_path().read_text() == TALK
    shown = capsys.readouterr()
    assert "Ignoring" not in shown.out + shown.err


def test_one_line_says_where_it_is(fake, capsys, monkeypatch):
    monkeypatch.setattr("common.core.progress._SILENT_SECONDS", 0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    fake.says(TALK, 0)
    pip.pip_install([], "install base", packages=2)
    shown = capsys.readouterr().err
    assert "pip: package 1 of 2, downloading numpy (14.2 MB)" in shown
    assert "pip: package 2 of 2" in shown
    assert "pip: unpacking" in shown
    assert shown.count("\n") == 1


def test_a_failure_is_shown_from_its_first_complaint_on_with_the_place_of_the_rest(fake):
    fake.says(TALK + ERRORS, 1)
    with pytest.raises(pip.InstallError) as failed:
        pip.pip_install([], "install base", packages=2)
    text = str(failed.value)
    assert text.startswith("pip could not install base. It said:\nWARNING: Retrying")
    assert "ERROR: No matching distribution found for rich==15.0.0\n" in text
    assert str(pip.log_path()) in text
    assert "COURSE_PYTHON" in text


def test_without_a_complaint_its_last_lines_are_shown(fake):
    fake.says(TALK, 3)
    with pytest.raises(pip.InstallError, match="It said:\n(?s:.*)Installing collected packages"):
        pip.pip_install([], "install base", packages=2)


def test_the_failure_that_is_expected_is_an_answer(fake):
    fake.says(TALK + ERRORS, 1)
    assert pip.pip_install([], "install base", packages=2, unless="No matching distribution found")


def test_a_pip_that_cannot_be_started_is_a_sentence(monkeypatch, fake):
    monkeypatch.setattr(pip, "_PIP", ("/nowhere/python",))
    with pytest.raises(pip.InstallError, match="pip could not install base: .*nowhere"):
        pip.pip_install([], "install base", packages=2)
