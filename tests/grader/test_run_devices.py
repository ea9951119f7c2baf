"""`./course run --devices N`: a program that asks for several devices sees them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from common.core.paths import REPOSITORY

PROGRAM = "tests/virtual_gpu/devices.cu"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(REPOSITORY / "course"), "run", "--device", "virtual", *words],
        env={**os.environ, "COURSE_PYTHON": sys.executable},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


def test_two_devices_exchange_data():
    done = run("--devices", "2", PROGRAM)
    assert (done.stdout, done.returncode) == ("ok\n", 0), done.stdout + done.stderr


def test_there_is_one_device_otherwise():
    assert "expectations failed" in run(PROGRAM).stdout


@pytest.mark.parametrize("number", ["0", "17", "two"])
def test_a_number_of_devices_that_cannot_be_is_refused(number):
    done = run("--devices", number, PROGRAM)
    assert done.returncode == 2
    assert f"--devices: '{number}' is not a whole number from 1 to 16" in done.stderr
