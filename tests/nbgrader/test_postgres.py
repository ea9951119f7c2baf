"""A gradebook in PostgreSQL, which courses with many graders have: the same points as in SQLite.

Needs PostgreSQL's server: Debian's package `postgresql`; it need not run.
"""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.nbgrader.apps import nbgrader_functions
from grader.nbgrader.class_grading import autograde, make_assignments
from grader.nbgrader.kernels import class_run
from tests.nbgrader.small_course import FIRST
from tests.nbgrader.stand_in import GRADER

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
OWNER = "postgres"
pytestmark = [
    pytest.mark.skipif(
        not PROGRAMS and shutil.which("initdb") is None,
        reason="needs PostgreSQL: apt-get install postgresql",
    ),
    pytest.mark.skipif(
        importlib.util.find_spec("psycopg") is None,
        reason="needs psycopg: pip install -r requirements/test.txt",
    ),
]


def program(name: str) -> str:
    return str(PROGRAMS[-1] / name) if PROGRAMS else name


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of an empty database, on a server of its own behind a socket. It refuses to run as root."""
    folder = Path(tempfile.mkdtemp(prefix="gradebook"))  # a socket's path must be short
    become: list[str] = []
    if os.geteuid() == 0:
        user = pwd.getpwnam(OWNER)
        os.chown(folder, user.pw_uid, user.pw_gid)
        become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]

    def run(*command: str) -> None:
        subprocess.run([*become, *command], cwd=folder, check=True, capture_output=True, timeout=120)

    data = folder / "data"
    try:
        run(program("initdb"), "--pgdata", str(data), "--username", OWNER, "--auth", "trust", "--no-sync")
        settings = f"-k {folder} -c listen_addresses= -c fsync=off"
        run(program("pg_ctl"), "-D", str(data), "-o", settings, "-l", str(folder / "log"), "-w", "start")
        try:
            run(program("createdb"), "--host", str(folder), "--username", OWNER, "gradebook")
            yield f"postgresql://{OWNER}@/gradebook?host={folder}"
        finally:
            run(program("pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_class_is_graded_into_postgresql(small_class, server):
    url = f"--db={server}"
    make_assignments(small_class.folder, [FIRST], [url])
    for name in ("ada", "ben"):
        small_class.hand_in(name, small_class.released, "// fine" if name == "ada" else "// wrong")
    here = small_class.autograde()
    run = class_run(small_class.folder, device="virtual", grader=GRADER)
    graded = autograde(small_class.folder, run, [("ada", FIRST), ("ben", FIRST)], arguments=[url])
    assert {one.student: (one.points, one.problem) for one in graded} == {
        name: (one.points, "") for name, one in here.items()
    }
    assert here["ada"].points != here["ben"].points
    with nbgrader_functions(small_class.folder, [url]) as functions, functions.gradebook as book:
        assert book.db.get_bind().dialect.name == "postgresql"
        scores = {one.student.id: one.score for one in book.assignment_submissions(FIRST)}
    assert scores == {one.student: one.points for one in graded}
