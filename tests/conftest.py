"""What every test may use, and how tests are marked, ordered and spread over processes."""

from __future__ import annotations

import importlib.util
import os
import signal
import tempfile
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

import grader.nbgrader  # noqa: F401 (before anything imports nbformat: it says why)
from common.build.cache import Cache
from common.gpu.devices import find_gpus
from tests import needs, spread

# How long an example takes says more of what else the machine does than of the code.
if importlib.util.find_spec("hypothesis"):  # a GPU machine may have none, and tests/gpu needs none
    from hypothesis import HealthCheck, settings

    settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("unhurried")


STARTED = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    _hear_interrupts()
    folder = tempfile.TemporaryDirectory(prefix="course-tests-")
    config.add_cleanup(folder.cleanup)
    config.stash[STARTED] = Path(folder.name)
    needs.watch()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # There is a worker for each core, and a thread of torch's that waits for another's core waits by
        # spinning. Set before anything imports torch; what the tests start inherits it. Nor has a compiler
        # of one test a second core.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        os.environ.setdefault("COURSE_JOBS", "1")


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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return spread.make_scheduler(config, log)


def pytest_itemcollected(item: pytest.Item) -> None:
    needs.mark(item)
    if item.get_closest_marker("gpu") and not find_gpus():
        item.add_marker(pytest.mark.skip(reason="needs a CUDA GPU"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    spread.order(items)
    _leave_out_root(config, items)


def _leave_out_root(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Whole systems take minutes and root: they are tested where they are asked for."""
    if "root" in config.option.markexpr or any("bare_roots" in argument for argument in config.args):
        return
    left_out = [item for item in items if item.get_closest_marker("root")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    with _guard(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    with _guard(item):
        return (yield)


def _guard(item: pytest.Item) -> AbstractContextManager[None]:
    return needs.guarded(item, item.config.stash[STARTED]) if needs.is_quick(item) else nullcontext()


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
