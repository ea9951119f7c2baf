"""The attacks of test_given_stream, test_seen_by_the_host, test_timed_calls, test_fresh_attacks and
test_attacks_by_other_apis, each as a whole file for the exercise in stepped/.

Those on the model of time are not among them: they mean nothing to a GPU, which has a clock.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.grader import test_attacks_by_other_apis as other_apis
from tests.grader import test_fresh_attacks as fresh
from tests.grader import test_given_stream as given_stream
from tests.grader import test_seen_by_the_host as seen_by_the_host
from tests.grader import test_timed_calls as timed
from tests.grader.stepped_exercise import SOLUTION

_HOST_FUNCTION = fresh.LAUNCH + " cudaLaunchHostFunc(stream, [](void*) {}, nullptr);"


def _with_launch(launch: str, before: str = "") -> str:
    return fresh.edited(before, launch)


def _for_each_row(work: str, before: str) -> str:
    return _with_launch(other_apis.EACH_ROW.format(work), before)


def _attacks() -> Iterator[tuple[str, str]]:
    for name, (launch, _) in given_stream.ELSEWHERE.items():
        yield name, _with_launch(launch)
    yield "a function of the host", _with_launch(_HOST_FUNCTION)
    for name, (launch, _, _) in seen_by_the_host.SEEN.items():
        yield f"seen {name}", _with_launch(launch, "#include <cstdio>\n" + seen_by_the_host.PRINTS)
    for name in ("hidden_copy", "copy_one"):
        yield f"smuggled as {name}", _with_launch(fresh.LAUNCH_HIDDEN, fresh.SMUGGLED.replace("NAME", name))
    for name, way in fresh.SEEN.items():
        mailbox = fresh.HOST_ANSWERS + "__device__ int mailbox[32768];\n"
        yield name, _for_each_row(way.replace("LAUNCH", fresh.LAUNCH), mailbox)
    for name, (before, launch, _) in fresh.STRANGE_ENDS.items():
        yield name, _with_launch(launch, before)
    for name, (_, by_the_driver) in other_apis.TWINS.items():
        yield f"{name}, by the driver API", _for_each_row(by_the_driver, other_apis.DRIVER)
    for name, made in other_apis.SHARED.items():
        work = made + other_apis.BY_THE_HOST
        yield f"memory that is {name}", _for_each_row(work, other_apis.BESIDE_THE_HOST)
    yield from _at_timed_sizes()


def _at_timed_sizes() -> Iterator[tuple[str, str]]:
    honest = SOLUTION.read_text()
    wait = f"{timed.LAUNCH}\n  if ({timed.TIMED_ONLY}) cudaStreamSynchronize(stream);"
    yield "a race at a timed size", honest.replace(timed.COPY, timed.RACE + timed.COPY)
    yield "an access behind the end at a timed size", honest.replace(timed.COPY, timed.BEHIND + timed.COPY)
    yield "the host at a timed size", honest.replace(timed.LAUNCH, timed.ON_THE_HOST + timed.LAUNCH)
    yield "a wait at a timed size", honest.replace(timed.LAUNCH, wait)


ATTACKS = dict(_attacks())
