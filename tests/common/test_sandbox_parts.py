"""The parts of the walls by themselves: the watchdog, private folders, and what is said of a poor kernel."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from common.core.proc import goes_on_without_first_thread, stat_of
from common.core.process import kill_session, session_members
from common.sandbox import kernel_facilities, policy, walls
from common.sandbox.folder import PrivateFolder, remove_tree, sweep
from common.sandbox.policy import Walls
from common.sandbox.watchdog import Limits, Watchdog
from tests.waiting import LONG

WALLS = str(walls.__file__)

# A thread that never ends, in a process whose first thread does: /proc calls such a process a zombie.
HEADLESS = """
import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(600,)).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
"""
# A process of many threads that ends: its first thread may be gone before the others.
ENDING = """
import os, threading, time
for _ in range(60):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
threading.Thread(target=lambda: (time.sleep(0.05), os._exit(3))).start()
time.sleep(600)
"""


def watched(script: str, limits: Limits, folder: Path | None = None) -> tuple[str | None, float, list[int]]:
    """Run a script under a watchdog; its reason, the seconds it took, and the processes it left."""
    started = time.monotonic()
    process = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
    watchdog = Watchdog(process.pid, limits, folder=folder)
    process.wait(2 * LONG)
    return watchdog.stop(), time.monotonic() - started, session_members(process.pid)


@pytest.mark.parametrize(
    ("script", "limits", "reason"),
    [
        (
            "data = bytearray(1 << 28); import time; time.sleep(600)",
            {"memory_bytes": 128 << 20},
            "128 MiB of memory",
        ),
        ("while True: pass", {"seconds": 0.3}, "ran for more than 0.3 s"),
        (
            "import subprocess, time\n"
            "[subprocess.Popen(['sleep', '600']) for _ in range(8)]\n"
            "time.sleep(600)",
            {"processes": 4},
            "started more than 4 processes",
        ),
        (
            "import subprocess, time\n"
            "subprocess.Popen(['sh', '-c', 'x=$(head -c 200000000 /dev/zero | tr \"\\\\0\" x); sleep 600'])\n"
            "time.sleep(600)",
            {"memory_bytes": 150 << 20},
            "150 MiB of memory",
        ),
        (HEADLESS, {"processes": 1}, "ended its first thread while others went on"),
        (
            f"import subprocess, sys, time\n"
            f"subprocess.Popen([sys.executable, '-c', {HEADLESS!r}])\ntime.sleep(600)",
            {"processes": 4},
            "ended its first thread while others went on",
        ),
    ],
)
def test_a_watchdog_ends_the_whole_session_and_says_why(script, limits, reason):
    said, seconds, left = watched(script, Limits(**limits))
    assert said is not None
    assert reason in said
    assert (seconds < LONG, left) == (True, [])


def test_a_session_is_ended_though_the_first_thread_of_its_process_has_ended():
    process = subprocess.Popen([sys.executable, "-c", HEADLESS], start_new_session=True)
    until = time.monotonic() + LONG
    while (stat := stat_of(process.pid)) is None or not stat.headless:
        assert time.monotonic() < until
        time.sleep(0.01)
    kill_session(process.pid)
    assert process.wait(LONG) == -signal.SIGKILL


def test_a_process_that_ends_as_a_whole_does_not_go_on_without_its_first_thread():
    for _ in range(20):
        process = subprocess.Popen([sys.executable, "-c", ENDING])
        while (stat := stat_of(process.pid)) is not None and stat.lives:
            assert not goes_on_without_first_thread(process.pid)
        assert process.wait(LONG) == 3


def test_a_watchdog_leaves_the_modest_alone():
    limits = Limits(memory_bytes=1 << 30, processes=4, threads=8, seconds=60)
    reason, _, left = watched("import time; time.sleep(0.2)", limits)
    assert (reason, left) == (None, [])


def test_a_watchdog_counts_files_in_folders_within_folders(tmp_path):
    inner = tmp_path / "a" / "b"
    script = (
        f"import os, time\nos.makedirs({str(inner)!r})\n"
        f"open({str(inner / 'c')!r}, 'wb').write(bytes(9 << 20))\ntime.sleep(60)"
    )
    said, _, _ = watched(script, Limits(folder_bytes=8 << 20), folder=tmp_path)
    assert said == "wrote more than 8 MiB to its temporary folder"


def test_a_folder_is_removed_however_deep_and_whatever_its_modes(tmp_path):
    folder = PrivateFolder()
    here = os.getcwd()
    try:
        os.chdir(folder.path)
        for _ in range(3000):
            os.mkdir("deeper")
            os.chdir("deeper")
        Path("file").write_text("text")
        os.symlink(tmp_path, "link")
    finally:
        os.chdir(here)
    (folder.path / "locked").mkdir()
    (folder.path / "locked" / "file").write_text("text")
    os.chmod(folder.path / "locked", 0)
    folder.close()
    assert not folder.path.exists()
    assert tmp_path.exists()
    remove_tree(folder.path)  # once more does no harm


def test_a_driver_may_listen_on_a_local_socket_and_nobody_may_connect():
    script = (
        "import importlib.util, json, socket, sys, threading\n"
        "spec = importlib.util.spec_from_file_location('walls', sys.argv[1])\n"
        "walls = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(walls)\n"
        "walls.enter({'unix_sockets': True, 'threads': True})\n"
        "def outcome(action):\n"
        "    try: action()\n"
        "    except OSError as problem: return problem.errno\n"
        "    return 0\n"
        "listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "listening.bind('\\0course-test')\n"
        "listening.listen()\n"
        "threading.Thread(target=int).start()\n"
        "calling = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "print(json.dumps([outcome(lambda: calling.connect('\\0course-test')),\n"
        "    outcome(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)),\n"
        "    outcome(lambda: socket.socket(socket.AF_INET))]))\n"
    )
    finished = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script, WALLS], capture_output=True, check=False
    )
    assert json.loads(finished.stdout or "0") == [1, 1, 1], finished.stderr  # EPERM each time


def test_what_a_kernel_lacks_is_reported_and_the_other_walls_stand(tmp_path):
    script = (
        "import errno, importlib.util, json, os, socket, sys\n"
        "spec = importlib.util.spec_from_file_location('walls', sys.argv[1])\n"
        "walls = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(walls)\n"
        "lack = sys.argv[2]\n"
        "if lack == 'landlock': walls.landlock_abi = lambda: -errno.EOPNOTSUPP\n"
        "if lack == 'seccomp': walls.seccomp_problem = lambda: 'Invalid argument'\n"
        "missing = walls.enter({'read': ['/usr/lib']})\n"
        "def can(action):\n"
        "    try: action()\n"
        "    except OSError: return False\n"
        "    return True\n"
        "print(json.dumps([missing, can(lambda: os.listdir('/')), can(socket.socket)]))\n"
    )

    def without(lack: str) -> list[object]:
        command = [sys.executable, "-I", "-S", "-c", script, WALLS, lack]
        answer: list[object] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        return answer

    landlock = "Landlock (Operation not supported): files can be read and written as this user can"
    seccomp = "seccomp (Invalid argument): sockets, processes and signals are not refused"
    assert without("landlock") == [[landlock], True, False]
    if walls.landlock_abi() > 0:
        assert without("seccomp") == [[seccomp], False, True]


def test_the_doctor_prices_what_a_kernel_lacks(monkeypatch):
    monkeypatch.setattr(kernel_facilities, "landlock_abi", lambda: -38)
    monkeypatch.setattr(kernel_facilities, "seccomp_problem", lambda: "Invalid argument")
    facts = {facility.name: facility for facility in kernel_facilities.kernel_facilities()}
    assert (facts["Landlock"].present, facts["Landlock"].detail) == (False, "Function not implemented")
    assert "hidden cases" in facts["Landlock"].without
    assert (facts["seccomp"].present, facts["seccomp"].detail) == (False, "Invalid argument")
    assert "sockets" in facts["seccomp"].without


def test_tables_of_both_architectures_name_the_same_dangers():
    tables = [*walls._REFUSED.values(), *walls._REFUSED_WITHOUT.values(), walls._OTHERS]
    for column, _ in walls._ARCHITECTURES.values():
        numbers = [number for table in tables for number in walls._numbers(table, column).values()]
        assert len(numbers) == len(set(numbers)), "no number stands for two calls"
        assert max(numbers) <= walls._LAST_CALL_THOUGHT_OF


def test_on_a_gpu_the_driver_gets_what_it_needs_and_the_repository_stays_hidden(monkeypatch, tmp_path):
    driver = tmp_path / "driver"
    driver.mkdir()
    (driver / "libcuda.so.1").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{driver}:{tmp_path}")
    monkeypatch.setenv("SECRET", "1")
    around = Walls.gpu()
    assert str(driver) in around.read
    assert str(tmp_path) not in around.read
    assert "SECRET" not in around.environment
    made = around.policy(tmp_path, [5], [Path("/builds/one/library.so")])
    assert "/builds/one" in made["read"]
    assert (made["threads"], made["unix_sockets"], made["keep"]) == (True, True, [5])
    assert not [path for path in made["read"] if str(Path(policy.__file__)).startswith(path)]


def test_a_sweep_takes_folders_without_an_owner_but_no_new_one(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    living, dead = PrivateFolder(), PrivateFolder()
    os.close(dead._lock)
    new, forgotten = tmp_path / "course-new-1", tmp_path / "course-new-2"
    new.mkdir()
    forgotten.mkdir()
    os.utime(forgotten, (0, 0))
    sweep()
    assert sorted(tmp_path.iterdir()) == sorted([living.path, new])
    living.close()
