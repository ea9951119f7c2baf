"""Work that goes on beside the main thread, and that nobody waits for when the process ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


def begin(function: Callable[_P, _T], *arguments: _P.args, **named: _P.kwargs) -> Future[_T]:
    """Call `function` in a thread of its own; what it returns or raises is the future's.

    An executor's threads are waited for at exit: a student who has the answer would wait for a compiler.
    """
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(function(*arguments, **named))
        except BaseException as problem:
            future.set_exception(problem)

    threading.Thread(target=run, daemon=True, name=function.__name__).start()
    return future
