"""A class is private to its instructor, and a student with an account on the same machine can take part."""

from __future__ import annotations

import multiprocessing
import os
import pwd
import shutil
import stat
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.nbgrader.apps import must_succeed, nbgrader_functions
from grader.nbgrader.class_folder import ClassFolder
from grader.nbgrader.exchange import fetch, submit
from grader.nbgrader.rights import class_facts
from tests.nbgrader.conftest import SmallClass
from tests.nbgrader.small_course import FIRST, autograde_class

as_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("useradd") is None, reason="needs root and useradd to add a Linux user"
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_folder_and_the_gradebook_are_private(small_class: SmallClass):
    root = small_class.folder.root
    assert (mode(root), mode(root / "gradebook.db")) == (0o700, 0o600)
    root.chmod(0o755)
    (root / "gradebook.db").chmod(0o644)
    small_class.folder.prepare()
    assert (mode(root), mode(root / "gradebook.db")) == (0o700, 0o600)


def test_a_folder_that_is_shared_with_a_group_stays_so(tmp_path: Path):
    folder = ClassFolder(tmp_path / "class")
    folder.root.mkdir()
    folder.root.chmod(0o2775)
    folder.keep_private()
    assert mode(folder.root) == 0o2770


def test_doctor_says_that_the_exchange_of_a_new_class_reaches_nobody(small_class: SmallClass):
    states = {fact.name: (fact.state, fact.cost) for fact in class_facts(small_class.folder)}
    assert states["class folder"][0] == states["gradebook"][0] == "ok"
    assert "no student can reach it" in states["exchange"][1]


def test_doctor_names_a_gradebook_that_is_none(small_class: SmallClass):
    book = small_class.folder.root / "gradebook.db"
    before = book.read_bytes()
    book.write_text("of another kind")
    try:
        facts = {fact.name: fact for fact in class_facts(small_class.folder)}
    finally:
        book.write_bytes(before)
    assert facts["gradebook"].state == "missing"
    assert "is no database" in facts["gradebook"].detail


@pytest.fixture
def open_exchange(small_class: SmallClass) -> Iterator[Path]:
    """A folder that every user can reach, as the class's exchange."""
    base = Path(tempfile.mkdtemp(prefix="exchange"))
    base.chmod(0o755)
    (base / "exchange").mkdir()
    (base / "exchange").chmod(0o1777)
    config = small_class.folder.root / "nbgrader_config.py"
    before = config.read_text()
    config.write_text(f'{before}\nc.Exchange.root = "{base}/exchange"\n')
    yield base / "exchange"
    config.write_text(before)
    shutil.rmtree(base)


def test_doctor_names_what_is_wrong_with_an_exchange(small_class: SmallClass, open_exchange: Path):
    def said() -> str:
        return " ".join(f"{fact.detail} {fact.cost}" for fact in class_facts(small_class.folder))

    assert f"{open_exchange}, open to students" in said()
    with nbgrader_functions(small_class.folder) as functions:
        must_succeed("release", functions.release_assignment(FIRST))
    assert f"{open_exchange}, open to students" in said()
    inbound = open_exchange / "serving_kernels" / "inbound"
    inbound.chmod(0o777)
    assert "read each other's submissions" in said()
    inbound.chmod(0o2700)
    assert "students cannot submit" in said()
    open_exchange.parent.chmod(0o700)
    assert f"students cannot pass through it to {open_exchange}" in said()


@pytest.fixture
def student() -> Iterator[pwd.struct_passwd]:
    name = f"student{os.getpid()}"
    subprocess.run(["useradd", "--no-create-home", "--user-group", name], check=True)
    yield pwd.getpwnam(name)
    subprocess.run(["userdel", name], check=True)


def as_student(who: pwd.struct_passwd, does: Callable[[], None]) -> None:
    """In a process of that user alone; what it imports must be imported here already."""

    def child() -> None:
        os.setgroups([])
        os.setresgid(who.pw_gid, who.pw_gid, who.pw_gid)
        os.setresuid(who.pw_uid, who.pw_uid, who.pw_uid)
        os.environ.update(USER=who.pw_name, LOGNAME=who.pw_name, JUPYTER_PREFER_ENV_PATH="0")
        try:
            does()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(120)
    assert process.exitcode == 0


@as_root
def test_another_user_takes_part_and_reads_nothing_of_the_class(
    small_class: SmallClass, open_exchange: Path, student: pwd.struct_passwd
):
    folder, name = small_class.folder, student.pw_name
    homes = open_exchange.parent / "homes"
    for home in ("rehearsal", name):
        (homes / home).mkdir(parents=True)
    os.chown(homes / name, student.pw_uid, student.pw_gid)
    with nbgrader_functions(folder) as functions:
        must_succeed("release", functions.release_assignment(FIRST))

        def take_part(who: str) -> None:
            os.chdir(homes / who)
            place = fetch(functions, who, FIRST, homes / who)
            (place / "kernel.cu").write_text("// fine\n")
            submit(functions, who, FIRST, homes / who)

        def pry() -> None:
            for secret in (folder.root, folder.root / "gradebook.db", folder.grades / ".secret"):
                for attempt in (os.listdir, lambda path: open(path).close()):
                    with pytest.raises(PermissionError):
                        attempt(secret)
            with pytest.raises(PermissionError):
                os.listdir(open_exchange / "serving_kernels" / "inbound")
            outbound = open_exchange / "serving_kernels" / "outbound" / FIRST
            with pytest.raises(PermissionError):
                (outbound / f"{FIRST}.ipynb").write_text("{}")

        here = Path.cwd()
        take_part("rehearsal")  # imports what the student's process cannot read
        os.chdir(here)
        as_student(student, lambda: take_part(name))
        as_student(student, pry)
        must_succeed("collecting", functions.collect(FIRST))
    assert (folder.handed_in(name, FIRST) / "kernel.cu").read_text() == "// fine\n"
    assert {one.student: one.problem for one in autograde_class(folder)}[name] == ""
