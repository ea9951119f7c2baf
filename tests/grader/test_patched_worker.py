"""A library may change everything in its own process, the worker's script included: none of it is believed.

The parent marks a call's bounds on its own connection to the engine, and reads memory and findings there.
"""

from __future__ import annotations

import pytest

from tests.grader.test_fresh_attacks import LAUNCH, edited, graded

# Runs Python in the worker, once, from within a call; and functions that have the names of the parent's.
PATCHES = r"""
#include <cstdlib>
#include <dlfcn.h>
extern "C" int begin_call() { return 0; }
extern "C" int end_call() { return 0; }
static cudaStream_t own_stream() {
  static cudaStream_t own = nullptr;
  if (own == nullptr) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  return own;
}
static void patch(const char* script) {
  static bool done = false;
  if (done) return;
  done = true;
  const auto ensure = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "PyGILState_Ensure"));
  const auto run = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "PyRun_SimpleString"));
  const auto release = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "PyGILState_Release"));
  const int state = ensure();
  if (run(script) != 0) abort();
  release(state);
}
"""
# What the script does with later calls. `WORK` is the honest body, as an entry of its own.
SCRIPTS = {
    "the work after the answer": """
import __main__ as worker, time
real_answered, real_call = worker.answered, worker._call
late = []
def call(entry, values, tables):
    late.append((entry, values, tables))
    return 0
def answered(line, libraries, control, open_library):
    worker._call = call
    answer = real_answered(line, libraries, control, open_library)
    if late:
        control.sendall(answer.encode())
        time.sleep(0.3)  # sooner, it may still be within the call, and counts as such
        while late:
            real_call(*late.pop(0))
        return ''
    return answer
worker.answered = answered
""",
    "no work at all, and an answer that says so well": """
import __main__ as worker
worker._call = lambda entry, values, tables: 0
""",
    "the work on another stream": """
import __main__ as worker
real_call = worker._call
def call(entry, values, tables):
    values = list(values)
    values[-1] = 0
    return real_call(entry, values, tables)
worker._call = call
""",
}


@pytest.mark.parametrize("way", SCRIPTS)
def test_a_worker_whose_calls_were_patched_earns_nothing(way: str):
    """Must not earn: any point. The first call is honest: it is the one that patches."""
    script = f'patch(R"({SCRIPTS[way]})"); '
    record = graded(edited(PATCHES, script + LAUNCH))
    assert record.points == 0, (record.verdict, record.parts, record.cases)
    assert "second" in record.cases[0].message, "the first one was right"


def test_functions_with_the_names_of_the_parents_change_nothing():
    record = graded(edited(PATCHES, LAUNCH), quick=True)
    assert all(case.passed for case in record.cases), record.cases
