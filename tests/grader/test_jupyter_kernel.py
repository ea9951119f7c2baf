"""A notebook finds the course's kernel and imports the grader, from any folder and any Jupyter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from common.core.paths import REPOSITORY
from grader.course import jupyter_kernel

RUN = """
import nbclient, nbformat
cell = nbformat.v4.new_code_cell("import grader, sys; print(grader.__file__, sys.executable)")
notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": SPEC})
nbclient.NotebookClient(notebook, timeout=60).execute()
print(notebook.cells[0].outputs[0].text)
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user's data folder and an environment of one's own, both empty."""
    pytest.importorskip("jupyter_core")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    return tmp_path


def kernel(data: Path) -> Path:
    return data / "kernels" / "serving-kernels" / "kernel.json"


def write(path: Path, python: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"argv": [python, "-m", "ipykernel_launcher"]}))


def test_it_is_registered_in_the_environment_and_for_the_user(home):
    assert jupyter_kernel.register() == ""
    for data in (home / "venv" / "share" / "jupyter", home / "data"):
        assert json.loads(kernel(data).read_text())["argv"][0] == sys.executable


def test_the_kernel_of_another_clone_stays_with_a_note(home):
    write(kernel(home / "data"), "/bin/sh")  # a program that is there
    note = jupyter_kernel.register()
    assert "another clone, /bin/sh" in note
    assert str(kernel(home / "data").parent) in note
    assert json.loads(kernel(home / "data").read_text())["argv"][0] == "/bin/sh"


@pytest.mark.parametrize("python", ["/no/such/clone/.venv/bin/python", ""])
def test_the_kernel_of_a_deleted_clone_is_replaced(home, python):
    write(kernel(home / "data"), python)
    assert jupyter_kernel.register() == ""
    assert json.loads(kernel(home / "data").read_text())["argv"][0] == sys.executable


def test_a_notebook_in_another_folder_imports_the_grader(tmp_path):
    """As `./course notebook` starts it; tests/bare_roots has a Jupyter that knows of .venv alone."""
    pytest.importorskip("nbclient")
    environment = {
        **os.environ,
        "JUPYTER_PATH": str(jupyter_kernel.jupyter_path()),
        "JUPYTER_DATA_DIR": str(tmp_path),
        "PYTHONPATH": str(REPOSITORY),
    }
    command = [sys.executable, "-c", RUN.replace("SPEC", repr(jupyter_kernel.SPEC))]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert f"{REPOSITORY}/grader/__init__.py {sys.executable}" in done.stdout, done.stderr[-2000:]
