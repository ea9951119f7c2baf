"""Objects are compiled once, found again when nothing they read has changed, and never half stored."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import common.build.errors
from common.build.cache import Cache, CacheError
from common.build.compile import compile_units
from common.build.errors import BuildError
from common.build.link import link
from common.build.toolchain import find_host_compiler
from common.build.unit import Compiled, Unit
from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from tests.waiting import LONG, wait_until

# A compiler that can be slow or broken on request, and that leaves a mark each time it runs. Its arguments
# are those every unit gets: -MD -MF deps -o output source.
FAKE_COMPILER = """
echo ran >> "$MARKS"
printf '%s: %s\\n' "$5" "$6" > "$3"
sleep "${SECONDS_TO_TAKE:-0}"
[ -z "${SAY:-}" ] || { echo "$SAY"; exit 1; }
cp "$6" "$5"
"""


def gxx_unit(source: Path, *flags: str) -> Unit:
    cxx = find_host_compiler()
    command = (str(cxx.path), "-c", "-Wall", *flags)
    return Unit(source.absolute(), command, cxx.fingerprint, spelled=source.name)


def build(cache: Cache, *units: Unit, timeout: float = 60) -> list[Compiled]:
    return compile_units(units, cache=cache, label="building", timeout=timeout)


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """A unit for the fake compiler, and the file its runs are counted in."""
    script, source, marks = tmp_path / "cc.sh", tmp_path / "source.txt", tmp_path / "marks"
    script.write_text(FAKE_COMPILER)
    source.write_text("text")
    monkeypatch.setenv("MARKS", str(marks))
    return Unit(source, ("sh", str(script)), "fake", spelled="source.txt"), marks


def runs(marks: Path) -> int:
    return len(marks.read_text().splitlines()) if marks.exists() else 0


def test_an_unchanged_source_is_not_compiled_again(cache, tmp_path):
    source = tmp_path / "one.cpp"
    source.write_text("int one() { int unused; return 1; }")
    first, second = build(cache, gxx_unit(source)), build(cache, gxx_unit(source))
    assert [first[0].cached, second[0].cached] == [False, True]
    assert first[0].path == second[0].path
    assert "unused variable" in second[0].log, "warnings are kept with the object"


def test_a_changed_header_is_noticed_and_changing_back_finds_the_old_object(cache, tmp_path):
    (tmp_path / "deep.h").write_text("#define VALUE 1\n")
    (tmp_path / "shallow.h").write_text('#include "deep.h"\n')
    source = tmp_path / "one.cpp"
    source.write_text('#include "shallow.h"\n#include <cstdio>\nint one() { return VALUE; }')
    unit = gxx_unit(source)
    first = build(cache, unit)[0]
    (tmp_path / "deep.h").write_text("#define VALUE 2\n")
    second = build(cache, unit)[0]
    assert not second.cached
    assert second.path.read_bytes() != first.path.read_bytes()
    (tmp_path / "deep.h").write_text("#define VALUE 1\n")
    third = build(cache, unit)[0]
    assert third.cached
    assert third.path == first.path


@pytest.mark.parametrize("change", ["flags", "compiler", "source", "environment"])
def test_whatever_can_change_the_object_makes_a_new_one(cache, fake, change, monkeypatch):
    unit, marks = fake
    build(cache, unit)
    if change == "flags":
        unit = Unit(unit.source, (*unit.command[:1], "-u", *unit.command[1:]), "fake")
    elif change == "compiler":
        unit = Unit(unit.source, unit.command, "another fingerprint")
    elif change == "source":
        unit.source.write_text("other text")
    else:
        monkeypatch.setenv("CPATH", "/somewhere")
    assert not build(cache, unit)[0].cached
    assert runs(marks) == 2


def test_many_units_come_back_in_order_and_only_the_missing_are_compiled(cache, fake, tmp_path):
    unit, marks = fake
    sources = [tmp_path / f"{number}.txt" for number in range(6)]
    for source in sources:
        source.write_text(source.name)
    units = [Unit(source, unit.command, "fake") for source in sources]
    build(cache, *units[:2])
    compiled = build(cache, *units)
    assert [one.path.read_text() for one in compiled] == [source.name for source in sources]
    assert [one.cached for one in compiled] == [True, True, False, False, False, False]
    assert runs(marks) == 6


BUILD_SCRIPT = """
import sys
from pathlib import Path
from types import SimpleNamespace
from common.build.cache import Cache
from common.build.compile import compile_units
from common.build.unit import Unit
root, script, source = sys.argv[1:]
unit = Unit(Path(source), ("sh", script), "fake", spelled="source.txt")
print(compile_units([unit], cache=Cache([Path(root)]), label="building")[0].path)
"""


def start_build(cache: Cache, unit: Unit, **env: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", BUILD_SCRIPT, str(cache.root), unit.command[1], str(unit.source)]
    return subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env={**os.environ, **env},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_two_processes_that_want_the_same_build_do_it_once(cache, fake):
    unit, marks = fake
    processes = [start_build(cache, unit, SECONDS_TO_TAKE="1") for _ in range(2)]
    outputs = [process.communicate(timeout=LONG)[0] for process in processes]
    assert outputs[0] == outputs[1] != ""
    assert runs(marks) == 1


def processes_using(text: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and text.encode() in (folder / "cmdline").read_bytes():
                found.append(folder.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_build_killed_half_way_stops_its_compiler_and_blocks_nobody(cache, fake, how):
    unit, marks = fake
    process = start_build(cache, unit, SECONDS_TO_TAKE="60")
    assert wait_until(lambda: runs(marks) == 1)
    process.send_signal(how)
    process.communicate(timeout=LONG)
    assert wait_until(lambda: not processes_using(str(cache.root / "work")))
    assert build(cache, unit)[0].path.read_text() == "text"


def test_a_compiler_that_does_not_end_is_stopped_with_all_it_started(cache, fake, monkeypatch):
    unit, _ = fake
    monkeypatch.setenv("SECONDS_TO_TAKE", "60")
    stated = "compiling source.txt did not end within 1 s of CPU time and sleep and was stopped"
    with pytest.raises(BuildError, match=stated):
        build(cache, unit, timeout=1)
    assert not processes_using(str(cache.root / "work"))


def test_a_compiler_without_space_is_a_sentence_about_the_disk(cache, fake, monkeypatch):
    unit, _ = fake
    monkeypatch.setenv("SAY", "fatal error: error writing to /tmp/x.s: No space left on device")
    with pytest.raises(CacheError, match="no space left on device while building in"):
        build(cache, unit)


def test_a_disk_too_full_for_the_compilers_message_is_recognised(cache, fake, monkeypatch):
    unit, _ = fake
    assert cache.root.is_dir()
    monkeypatch.setattr(common.build.errors.shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
    Path(unit.command[1]).write_text("exit 1")
    with pytest.raises(CacheError, match="no space left on device while building in"):
        build(cache, unit)


def test_a_failure_without_a_known_message_shows_the_compilers_last_words(cache, fake, monkeypatch):
    unit, _ = fake
    monkeypatch.setenv("SAY", "the moon is in the wrong phase")
    with pytest.raises(BuildError, match="source.txt did not compile\nthe moon is in the wrong phase"):
        build(cache, unit)


def test_one_bad_unit_does_not_lose_the_good_ones(cache, tmp_path):
    good, bad = tmp_path / "good.cpp", tmp_path / "bad.cpp"
    good.write_text("int good;")
    bad.write_text("int bad")
    with pytest.raises(BuildError, match=r"bad.cpp:1:8: error: expected"):
        build(cache, gxx_unit(bad), gxx_unit(good))
    assert build(cache, gxx_unit(good))[0].cached


def test_a_source_saved_while_it_is_compiled_is_compiled_again(cache, fake, tmp_path):
    unit, marks = fake
    # The compiler itself plays the editor: its first run changes the source after reading it.
    script = Path(unit.command[1])
    script.write_text(script.read_text() + '[ "$(wc -l < "$MARKS")" -gt 1 ] || echo new > "$6"\n')
    assert build(cache, unit)[0].path.read_text() == "new\n"
    assert runs(marks) == 2


def test_a_header_saved_while_its_reader_is_compiled_is_read_again(cache, fake, tmp_path):
    unit, marks = fake
    header = tmp_path / "header.txt"
    header.write_text("old")
    script = Path(unit.command[1])
    editing = '[ "$(wc -l < "$MARKS")" -gt 1 ] || echo new > HEADER\n'
    script.write_text(
        script.read_text().replace('"$6" > "$3"', '"$6 HEADER" > "$3"').replace("HEADER", str(header))
        + editing.replace("HEADER", str(header))
    )
    build(cache, unit)
    assert runs(marks) == 2
    assert build(cache, unit)[0].cached


def test_a_missing_source_is_named_as_the_user_spelled_it(cache, tmp_path):
    with pytest.raises(CourseError, match="there is no source file nowhere.cpp"):
        build(cache, gxx_unit(tmp_path / "nowhere.cpp"))


def test_paths_with_spaces_work_and_paths_nvcc_cannot_take_are_refused(cache, tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    (folder / "my header.h").write_text("#define VALUE 1\n")
    (folder / "my source.cpp").write_text('#include "my header.h"\nint one = VALUE;')
    unit = gxx_unit(folder / "my source.cpp")
    build(cache, unit)
    assert build(cache, unit)[0].cached
    (folder / "my header.h").write_text("#define VALUE 2\n")
    assert not build(cache, unit)[0].cached
    odd = tmp_path / "cost$.cpp"
    odd.write_text("")
    with pytest.raises(CourseError, match=r"move or rename .*cost\$"):
        build(cache, gxx_unit(odd))


def test_linking_is_cached_and_an_undefined_function_points_at_its_call(cache, tmp_path):
    source = tmp_path / "main.cpp"
    source.write_text("int other();\nint main() { return other() - 7; }\n")
    other = tmp_path / "other.cpp"
    other.write_text("int other() { return 7; }\n")
    cxx = find_host_compiler()

    def linked(*sources: Path) -> tuple[Path, bool]:
        objects = build(cache, *(gxx_unit(one, "-g1") for one in sources))
        entry, cached = link(
            [str(cxx.path)], objects, output="program", libraries=[], fingerprint=cxx.fingerprint, cache=cache
        )
        return entry.path / "program", cached

    with pytest.raises(BuildError, match=r"main.cpp:2: error: undefined reference to `other\(\)'"):
        linked(source)
    program, cached = linked(source, other)
    assert not cached
    assert subprocess.run([program], check=False).returncode == 0
    assert linked(source, other) == (program, True)
