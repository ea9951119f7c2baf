"""What every test may use, and the rule for tests that need a GPU."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from common.cache import Cache
from common.devices import find_gpus

TESTS = Path(__file__).parent
GPU_TESTS = TESTS / "gpu"
# Files that take long. They come first: one of them at the end would keep a single core busy.
LONG = ("exercises", "nbgrader", "notebooks", "browser", "test_docs.py", "grader/test_forty_submissions.py")

# How long an example takes says more of what else the machine does than of the code.
if importlib.util.find_spec("hypothesis"):  # a GPU machine may have none, and tests/gpu needs none
    from hypothesis import HealthCheck, settings

    settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("unhurried")


def pytest_configure() -> None:
    _hear_interrupts()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # There is a worker for each core, and a thread of torch's that waits for another's core waits by
        # spinning. Set before anything imports torch; what the tests start inherits it.
        os.environ.setdefault("OMP_NUM_THREADS", "1")


def _hear_interrupts() -> None:
    """A shell that starts the tests in the background makes them, and all they start, deaf to Ctrl-C."""
    usual: dict[signal.Signals, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGQUIT: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    for number, handler in usual.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, and tests under tests/gpu are skipped by name where there is no GPU."""
    long = [TESTS / name for name in LONG]
    waits = {path: not any(path.is_relative_to(one) for one in long) for path in {i.path for i in items}}
    items.sort(key=lambda item: waits[item.path])
    if find_gpus():
        return
    needs_gpu = pytest.mark.skip(reason="needs a CUDA GPU")
    for item in items:
        if GPU_TESTS in item.path.parents:
            item.add_marker(needs_gpu)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What a test printed may name a file whose name is no text; a worker can send nothing but text."""
    report = yield
    report.sections = [
        (title, text.encode(errors="backslashreplace").decode()) for title, text in report.sections
    ]
    return report


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cache]:
    """A build cache of the test's own; nothing may be left half done in it."""
    root = tmp_path / "cache"
    yield Cache([root])
    assert not (root / "work").exists() or not list((root / "work").iterdir())
