"""Who can read a class: its folder and gradebook are private, the exchange is as open as nbgrader needs."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

from grader.actions.doctor import Fact
from grader.nbgrader.apps import nbgrader_functions
from grader.nbgrader.class_folder import ClassFolder

_SQLITE = b"SQLite format 3\0"  # how such a file begins
_OTHERS_SEARCH = stat.S_IXOTH
_OTHERS_ALL = stat.S_IRWXO


def class_facts(folder: ClassFolder) -> list[Fact]:
    """For `./course doctor`, of a class that exists."""
    with nbgrader_functions(folder) as functions:
        root = Path(functions.config.Exchange.root)
        course = str(functions.coursedir.course_id)
        url = str(functions.coursedir.db_url)
    return [*_private(folder, url), *_exchange(folder, root, course)]


def _private(folder: ClassFolder, url: str) -> Iterator[Fact]:
    yield _kept(folder.root, "class folder", "records, solutions of others and points are in it")
    if url.startswith("sqlite:///") and (book := Path(url.removeprefix("sqlite:///"))).is_file():
        with book.open("rb") as opened:
            text = opened.read(len(_SQLITE))
        if text and text != _SQLITE:
            yield Fact(
                "gradebook", "missing", f"{book} is no database", "restore it, or remove it for a new one"
            )
        else:
            yield _kept(book, "gradebook", "points are in it")


def _kept(path: Path, name: str, why: str) -> Fact:
    mode = stat.S_IMODE(path.stat().st_mode)
    if not mode & _OTHERS_ALL:
        return Fact(name, "ok", f"{path}, private ({mode:o})")
    return Fact(name, "note", f"{path}, mode {mode:o}", f"other users can reach it, and {why}: chmod o-rwx")


def _exchange(folder: ClassFolder, root: Path, course: str) -> Iterator[Fact]:
    if root.is_relative_to(folder.root):
        yield Fact(
            "exchange",
            "note",
            f"{root}, in the class's private folder",
            "no student can reach it. For students of this machine, set c.Exchange.root in "
            f"{folder.root / 'nbgrader_config.py'} to a folder that everybody can write to",
        )
        return
    wrong = [*_problems(root, course)]
    if wrong:
        yield from (Fact("exchange", "note", where, cost) for where, cost in wrong)
    else:
        yield Fact("exchange", "ok", f"{root}, open to students")


def _problems(root: Path, course: str) -> Iterator[tuple[str, str]]:
    """What keeps students out of the exchange, and what lets them read each other's work."""
    if not root.is_dir():
        yield str(root), "there is no such folder: make it, and give everybody all rights to it (chmod 1777)"
        return
    for above in root.absolute().parents:
        if not above.stat().st_mode & _OTHERS_SEARCH:
            yield str(above), f"students cannot pass through it to {root}: chmod o+x"
    if root.stat().st_mode & _OTHERS_ALL != _OTHERS_ALL:
        yield str(root), "nbgrader requires that everybody can read and write it: chmod o+rwx"
    inbound, outbound = root / course / "inbound", root / course / "outbound"
    if inbound.is_dir() and inbound.stat().st_mode & stat.S_IROTH:
        yield str(inbound), "students can list it, and read each other's submissions: chmod o-r"
    if inbound.is_dir() and inbound.stat().st_mode & (stat.S_IWOTH | stat.S_IXOTH) != 0o3:
        yield str(inbound), "students cannot submit: chmod o+wx"
    if outbound.is_dir() and outbound.stat().st_mode & stat.S_IWOTH:
        yield str(outbound), "students can change what others fetch: chmod o-w"
