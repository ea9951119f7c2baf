"""A cgroup around a session: where one may be made, and what it holds where the machine has them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.sandbox import control_group
from common.sandbox.control_group import group_around, parent_group
from common.sandbox.watchdog import Limits, Watchdog
from tests.waiting import wait_until

MIB = 1 << 20
needs_cgroups = pytest.mark.skipif(parent_group() is None, reason="no cgroup may be made here")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Folders like those of a cgroup file system; this process is in user/session."""
    monkeypatch.setattr(control_group, "_ROOT", tmp_path / "cgroup")
    monkeypatch.setattr(control_group, "_OWN", tmp_path / "own")
    (tmp_path / "own").write_text("0::/user/session\n")
    for folder in ("cgroup", "cgroup/user", "cgroup/user/session"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "cgroup.procs").write_text("")
        (tmp_path / folder / "cgroup.subtree_control").write_text("")
    (tmp_path / "cgroup/cgroup.controllers").write_text("memory pids\n")
    parent_group.cache_clear()
    yield tmp_path / "cgroup"
    parent_group.cache_clear()


def test_the_nearest_group_that_passes_memory_on_is_the_parent(tree: Path) -> None:
    (tree / "cgroup.subtree_control").write_text("memory pids\n")
    (tree / "user/cgroup.subtree_control").write_text("cpu memory\n")
    assert parent_group() == tree / "user"


def test_where_none_passes_memory_on_there_is_no_group(tree: Path) -> None:
    (tree / "cgroup.subtree_control").write_text("cpu\n")
    assert parent_group() is None
    assert group_around([os.getpid()], MIB, 1) is None


def test_controllers_of_version_1_are_left_alone(tree: Path) -> None:
    (tree / "cgroup.subtree_control").write_text("memory\n")
    (tree / "cgroup.controllers").unlink()
    assert parent_group() is None


def running(code: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdin=subprocess.PIPE)


@needs_cgroups
def test_memory_that_is_taken_at_once_ends_the_session_with_the_reason() -> None:
    process = running("input(); held = b'x' * (1 << 30); input()")
    watchdog = Watchdog(process.pid, Limits(memory_bytes=64 * MIB, processes=1))
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    process.wait()
    assert watchdog.stop() == "used more than 64 MiB of memory"


@needs_cgroups
def test_the_kernel_holds_the_limit_without_the_watchdog() -> None:
    process = running("input(); held = b'x' * (1 << 30); input()")
    group = group_around([process.pid], 64 * MIB, None)
    assert group is not None
    assert process.stdin is not None
    process.stdin.write(b"\n")
    process.stdin.flush()
    assert process.wait() != 0
    assert group.ran_out_of_memory
    group.close()
    assert not group.folder.exists()


@needs_cgroups
def test_a_group_holds_the_number_of_tasks() -> None:
    code = (
        "import os, sys\ninput()\nmade = 0\n"
        "try:\n  for _ in range(400):\n    if os.fork() == 0: sys.stdin.read(); os._exit(0)\n    made += 1\n"
        "except OSError: pass\nos._exit(made // 10)"
    )
    process = running(code)
    group = group_around([process.pid], None, 16)
    assert group is not None
    assert process.stdin is not None
    if not (group.folder / "pids.max").exists():
        process.kill()
        process.wait()
        group.close()
        pytest.skip("tasks are not limited by cgroups here")
    process.stdin.write(b"\n")
    process.stdin.flush()
    assert process.wait() < 10  # of ten forks each: 16 tasks, and the room of 64 that the watchdog has
    process.stdin.close()
    wait_until(lambda: not (group.folder / "cgroup.procs").read_text())
    group.close()
    assert not group.folder.exists()


@needs_cgroups
def test_a_session_that_ends_leaves_no_group() -> None:
    process = running("input()")
    watchdog = Watchdog(process.pid, Limits(memory_bytes=64 * MIB, processes=1))
    process.kill()
    process.wait()
    assert watchdog.stop() is None
    parent = parent_group()
    assert parent is not None
    assert not list(parent.glob(f"course-{os.getpid()}-{process.pid}"))


@needs_cgroups
def test_groups_of_processes_that_are_gone_are_removed() -> None:
    parent = parent_group()
    assert parent is not None
    gone = running("pass")
    gone.wait()
    left = parent / f"course-{gone.pid}-1"
    left.mkdir()
    process = running("input()")
    group = group_around([process.pid], 64 * MIB, None)
    assert not left.exists()
    process.kill()
    process.wait()
    time.sleep(0.05)
    assert group is not None
    group.close()
