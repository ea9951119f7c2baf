"""The build cache stays whole whatever happens to those who use it."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import namedtuple
from pathlib import Path

import pytest

from common.build import cache as cache_module
from common.build.cache import Cache, CacheError, default_cache, translated_errors
from common.core.paths import REPOSITORY

KEY = "ab" + "0" * 38
_Usage = namedtuple("_Usage", "total used free")


def store(cache: Cache, text: str = "result", key: str = KEY) -> Path:
    with cache.workspace() as workspace:
        folder = workspace / "built"
        folder.mkdir()
        (folder / "file").write_text(text)
        return cache.store(key, folder, {"said": "hello"}).path


def test_what_was_stored_is_found_with_its_notes(cache):
    assert cache.find(KEY) is None
    path = store(cache)
    entry = cache.find(KEY)
    assert entry is not None
    assert entry.path == path
    assert entry.notes == {"said": "hello"}
    assert (entry.path / "file").read_text() == "result"


def test_the_first_of_two_equal_results_stays(cache):
    store(cache, "first")
    path = store(cache, "second")
    assert (path / "file").read_text() == "first"


@pytest.mark.parametrize("damage", ["cut short", "file gone", "no record", "record is garbage"])
def test_a_damaged_entry_is_no_entry_and_is_replaced(cache, damage):
    path = store(cache, "first")
    if damage == "cut short":
        (path / "file").write_text("fir")
    elif damage == "file gone":
        (path / "file").unlink()
    elif damage == "no record":
        (path / "entry.json").unlink()
    else:
        (path / "entry.json").write_text('{"sizes": [1')
    assert cache.find(KEY) is None
    assert (store(cache, "second") / "file").read_text() == "second"


def test_a_garbled_manifest_reads_as_empty(cache):
    cache.write_manifest(KEY, [[{}, "key"]])
    assert cache.read_manifest(KEY) == [[{}, "key"]]
    next(cache.root.glob("manifests/*/*")).write_text("{")
    assert cache.read_manifest(KEY) == []


def test_a_lock_is_held_by_one_thread_at_a_time(cache):
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        with cache.lock("key"):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.02)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]


def test_a_killed_process_leaves_neither_lock_nor_folder(cache):
    script = """
import sys, time
from pathlib import Path
from common.build.cache import Cache
cache = Cache([Path(sys.argv[1])])
with cache.lock("key"), cache.workspace() as workspace:
    (workspace / "half").write_text("built")
    print("ready", flush=True)
    time.sleep(60)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(cache.root)], stdout=subprocess.PIPE, cwd=REPOSITORY
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    abandoned = list((cache.root / "work").iterdir())
    assert len(abandoned) == 1
    # Held while its owner lives:
    store(cache)
    assert abandoned[0].exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with cache.lock("key"):
        pass
    store(cache, key="cd" + KEY[2:])
    assert not abandoned[0].exists()


def test_an_unwritable_folder_is_passed_over_with_one_warning(tmp_path, capsys):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    cache = Cache([blocked / "cache", tmp_path / "second"])
    store(cache)
    assert cache.root == tmp_path / "second"
    warning = capsys.readouterr().err
    assert warning.count("\n") == 1
    assert f"build cache in {tmp_path / 'second'}" in warning
    assert "Not a directory" in warning


def test_a_full_disk_is_passed_over_but_still_read(tmp_path, capsys, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    stored = store(Cache([first]))
    real = shutil.disk_usage
    monkeypatch.setattr(
        cache_module.shutil, "disk_usage", lambda path: _Usage(1, 1, 0) if path == first else real(path)
    )
    cache = Cache([first, second])
    found = cache.find(KEY)
    assert found is not None
    assert found.path == stored
    assert capsys.readouterr().err == ""
    assert store(cache, key="cd" + KEY[2:]).is_relative_to(second)
    assert "only 0 MB free" in capsys.readouterr().err


def test_no_usable_folder_is_a_sentence(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(CacheError, match="Set COURSE_CACHE to a folder you can write"):
        Cache([blocked / "cache"]).root.exists()


def test_running_out_of_space_is_a_sentence(cache):
    with (
        pytest.raises(CacheError, match=f"no space left on device while building in {cache.root}"),
        translated_errors(cache),
    ):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_the_folders_are_tried_in_the_promised_order(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "chosen"))
    assert default_cache().root == tmp_path / "chosen"
    monkeypatch.delenv("COURSE_CACHE")
    assert default_cache().root == REPOSITORY / ".cache"


def test_a_folder_planted_in_tmp_is_neither_read_nor_used(tmp_path, monkeypatch):
    monkeypatch.setattr(cache_module.tempfile, "gettempdir", lambda: str(tmp_path))
    planted = tmp_path / "serving-kernels-0"
    elsewhere = tmp_path / "elsewhere" / "cache"
    store(Cache([elsewhere]))
    planted.symlink_to(elsewhere)
    cache = Cache([planted])
    assert cache.find(KEY) is None
    with pytest.raises(CacheError, match="belongs to another user"):
        cache.root.exists()


def test_what_nobody_used_for_a_month_is_removed(cache):
    old = store(cache)
    fresh = store(cache, key="cd" + KEY[2:])
    long_ago = time.time() - 40 * 86400
    os.utime(old, (long_ago, long_ago))
    os.utime(cache.root / "swept", (long_ago, long_ago))
    with cache.workspace():
        pass
    assert not old.exists()
    assert fresh.exists()
    assert json.loads((fresh / "entry.json").read_text())["notes"] == {"said": "hello"}
