"""Submissions are found in every layout that classes come in, and nothing a student packs can break out."""

from __future__ import annotations

import os
import stat
import zipfile
from pathlib import Path

import pytest

from common.core.errors import CourseError
from grader.classes import archives
from grader.classes.submissions import MOST_SOURCE_BYTES, Found, Submission, find_submissions, read_source
from grader.spec.names import file_name

IDS = ("01_first", "02_second")


def put(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("__global__ void kernel() {}\n")
    return root


def find(tmp_path: Path, *paths: Path, exercise: str | None = None, ids: tuple[str, ...] = IDS) -> Found:
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    return find_submissions(paths, ids, exercise=exercise, scratch=scratch)


def pairs(found: Found) -> list[tuple[str, str]]:
    return [(submission.student, submission.exercise) for submission in found.submissions]


def make_zip(path: Path, *names: str, content: bytes = b"code\n") -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name in names:
            made.writestr(name, content)
    return path


LAYOUTS = {
    "students with one folder per exercise": (
        ("alice/01_first/kernel.cu", "alice/02_second/kernel.cu", "bob/02_second/kernel.cu"),
        None,
        [("alice", "01_first"), ("alice", "02_second"), ("bob", "02_second")],
    ),
    "students with one file each": (
        ("alice/kernel.cu", "bob/kernel.cu"),
        "01_first",
        [("alice", "01_first"), ("bob", "01_first")],
    ),
    "a flat folder": (("alice.cu", "bob.cu"), "02_second", [("alice", "02_second"), ("bob", "02_second")]),
    "a flat folder that names exercises": (
        ("01_first-alice.cu", "bob_02_second.cu", "mary_ann_01_first.cu"),
        None,
        [("alice", "01_first"), ("bob", "02_second"), ("mary_ann", "01_first")],
    ),
    "one folder too many": (
        ("alice/upload/01_first/kernel.cu",),
        None,
        [("alice", "01_first")],
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_understood(tmp_path, layout):
    files, exercise, wanted = LAYOUTS[layout]
    found = find(tmp_path, put(tmp_path / "class", *files), exercise=exercise)
    assert pairs(found) == wanted
    assert all(read_source(submission) for submission in found.submissions)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_understood_in_a_zip(tmp_path, layout):
    files, exercise, wanted = LAYOUTS[layout]
    for prefix in ("", "class/"):
        archive = make_zip(tmp_path / "class.zip", *(prefix + name for name in files))
        scratch = tmp_path / f"unpacked{len(prefix)}"
        scratch.mkdir()
        found = find_submissions([archive], IDS, exercise=exercise, scratch=scratch)
        if layout != "one folder too many":  # there a wrapping folder looks like a student
            assert pairs(found) == wanted
        archive.unlink()


def test_students_as_folders_files_and_zips(tmp_path):
    root = put(tmp_path / "class", "alice/01_first/kernel.cu", "bob.cu")
    assert pairs(find(tmp_path, root / "alice")) == [("alice", "01_first")]
    assert pairs(find(tmp_path, root / "alice" / "01_first")) == [("alice", "01_first")]
    assert pairs(find(tmp_path, root / "alice" / "01_first" / "kernel.cu")) == [("alice", "01_first")]
    assert pairs(find(tmp_path, root / "bob.cu", exercise="02_second")) == [("bob", "02_second")]
    make_zip(root / "carol.zip", "01_first/kernel.cu")
    assert ("carol", "01_first") in pairs(find(tmp_path, root, exercise="02_second"))


def test_a_course_of_one_exercise_needs_no_name_for_it(tmp_path):
    found = find(tmp_path, put(tmp_path / "class", "alice.cu"), ids=("01_first",))
    assert pairs(found) == [("alice", "01_first")]


def test_a_file_is_graded_once_and_two_files_of_one_student_keep_apart(tmp_path):
    root = put(tmp_path / "class", "alice.cu", "alice/01_first/kernel.cu")
    found = find(tmp_path, root, root / "alice.cu", exercise="01_first")
    assert pairs(found) == [("alice", "01_first"), ("alice~2", "01_first")]


def test_what_nobody_can_place_still_gets_its_verdict(tmp_path):
    [lost] = find(tmp_path, put(tmp_path / "class", "alice.cu")).submissions
    assert "add --exercise NN (01_first, 02_second)" in lost.problem
    put(tmp_path / "class2", "bob/notes.txt", "carol/kernel.cu")
    missing, _ = find(tmp_path, tmp_path / "class2", exercise="01_first").submissions
    assert (missing.student, missing.problem) == ("bob", "there is no kernel.cu in the folder")


def test_finding_nothing_is_one_error_line(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CourseError, match="no submission was found under .*empty"):
        find(tmp_path, tmp_path / "empty")
    with pytest.raises(CourseError, match="there is no file or folder"):
        find(tmp_path, tmp_path / "nowhere")


def test_an_exercise_instead_of_a_path_is_told_what_to_type(tmp_path):
    for name in ("1", "01", "first", "01_first"):
        with pytest.raises(CourseError, match=f"course check {name}`.*course grade work/01_first/kernel.cu`"):
            find(tmp_path, Path(name))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "it is empty"),
        (b" \n\n", "it is empty"),
        (b"x" * (MOST_SOURCE_BYTES + 1), "larger than 1 MiB"),
        (b"int x;\n\xff\xfe", r"not UTF-8 text \(line 2\)"),
        (b"int x;\0", "NUL bytes"),
    ],
)
def test_an_unreadable_source_has_a_reason(tmp_path, content, sentence):
    (tmp_path / "kernel.cu").write_bytes(content)
    with pytest.raises(CourseError, match=sentence):
        read_source(Submission("alice", "01_first", tmp_path / "kernel.cu"))


def test_links_pipes_and_folders_are_not_read(tmp_path):
    (tmp_path / "link.cu").symlink_to("/etc/passwd")
    (tmp_path / "dangling.cu").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.cu")
    (tmp_path / "folder.cu").mkdir()
    reasons = {}
    for name in ("link", "dangling", "pipe", "folder", "gone"):
        with pytest.raises(CourseError) as problem:
            read_source(Submission(name, "01_first", tmp_path / f"{name}.cu"))
        reasons[name] = str(problem.value)
    assert reasons["link"] == reasons["dangling"] == "it is a symbolic link"
    assert reasons["pipe"] == reasons["folder"] == "it is not a regular file"
    assert "cannot be opened" in reasons["gone"]


def test_a_linked_folder_is_not_followed(tmp_path):
    root = put(tmp_path / "class", "alice/01_first/kernel.cu")
    (root / "mallory").symlink_to(tmp_path)
    (root / "eve" / "x").mkdir(parents=True)
    (root / "eve" / "01_first").symlink_to(root / "alice" / "01_first")
    found = find(tmp_path, root)
    assert [(s.student, s.problem) for s in found.submissions] == [
        ("alice", ""),
        ("eve", "it is a symbolic link"),
    ]
    assert any("mallory is a symbolic link" in note for note in found.notes)


def test_a_zip_cannot_write_outside_its_folder(tmp_path):
    names = ("../evil.cu", "/tmp/evil.cu", "a/../../evil.cu", "a\\..\\evil.cu", "inner.zip", "fine/kernel.cu")
    archive = make_zip(tmp_path / "class.zip", *names)
    with zipfile.ZipFile(archive, "a") as made:
        link = zipfile.ZipInfo("link.cu")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        made.writestr(link, "/etc/passwd")
        made.writestr("fine/kernel.cu/below", b"a file where a folder should be")
    folder = tmp_path / "out" / "deep"
    folder.mkdir(parents=True)
    notes = archives.unpack(archive, folder).notes
    kept = {path.name: path.stat().st_size for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert sorted(kept) == ["inner.zip", "kernel.cu", "link.cu"]
    assert kept["inner.zip"] == kept["link.cu"] == 0, "what is left out keeps its place and no more"
    assert len(notes) == 7
    assert any("a zip inside a zip is not opened" in note for note in notes)
    assert any("it is not a regular file" in note for note in notes)
    assert sum("leads out of the archive" in note for note in notes) == 4


def test_a_zip_bomb_ends_early(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MOST_BYTES", 1 << 20)
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as made:
        for number in range(8):
            made.writestr(f"{number}.cu", bytes(1 << 18))
    with pytest.raises(CourseError, match="unpacks to more than 1 MiB"):
        archives.unpack(archive, tmp_path / "out")
    assert sum(path.stat().st_size for path in (tmp_path / "out").rglob("*")) <= 1 << 20


def test_a_file_that_could_not_be_unpacked_gets_a_verdict(tmp_path):
    archive = make_zip(tmp_path / "class.zip", "alice/01_first/kernel.cu", "dave.zip")
    with zipfile.ZipFile(archive, "a", zipfile.ZIP_DEFLATED) as made:
        made.writestr("bob/01_first/kernel.cu", bytes(archives.MOST_FILE_BYTES + 1))
        made.writestr("carol/01_first/kernel.cu", b"// this text will be damaged " * 9)
        made.writestr("carol/notes.pdf", bytes(archives.MOST_FILE_BYTES + 1))
        offset = made.getinfo("carol/01_first/kernel.cu").header_offset + 30 + len("carol/01_first/kernel.cu")
    damaged = bytearray(archive.read_bytes())
    damaged[offset : offset + 4] = b"\xff\xff\xff\xff"
    archive.write_bytes(damaged)
    found = find(tmp_path, archive, exercise="01_first")
    problems = {submission.student: submission.problem for submission in found.submissions}
    assert problems.pop("alice") == ""
    assert problems["bob"] == "it is larger than 1 MiB"
    assert problems["carol"].startswith("it cannot be unpacked (")
    assert problems["dave"].startswith("a zip inside a zip is not opened")
    assert len(problems) == 3
    assert any("notes.pdf" in note for note in found.notes)


@pytest.mark.parametrize("damage", [b"no zip at all", None])
def test_a_broken_zip_among_others_costs_only_its_own_student(tmp_path, damage):
    root = put(tmp_path / "class", "alice/01_first/kernel.cu")
    whole = make_zip(root / "bob.zip", "01_first/kernel.cu").read_bytes()
    (root / "bob.zip").write_bytes(damage or whole[: len(whole) // 2])
    alice, bob = find(tmp_path, root).submissions
    assert (alice.student, alice.problem) == ("alice", "")
    assert "bob.zip cannot be unpacked" in bob.problem


def test_names_of_students_become_distinct_file_names():
    names = [
        "alice",
        "../../etc/passwd",
        "..",
        "a b",
        "a_b",
        "Ä",
        "Ö",
        "x" * 300,
        "x" * 301,
        "",
        ".hidden",
        "-rf",
    ]
    made = [file_name(name) for name in names]
    assert len(set(made)) == len(names)
    assert all("/" not in name and not name.startswith((".", "-")) and len(name) < 100 for name in made)
    assert made[0] == "alice"
