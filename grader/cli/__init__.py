"""The verbs of `./course`, one module each, imported only when called. May import everything; nothing
imports it but `python -m grader`."""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import sys
from dataclasses import dataclass

from common.core.errors import CourseError

USAGE_ERROR = 2
_HELP = {"-h", "--help"}
_INTERRUPTED = 130
_BROKEN_PIPE = 141
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC}  # what a user can mend


@dataclass(frozen=True)
class Verb:
    """A command: the module here whose `main(arguments)` runs it, the sentence that describes it, and the
    groups of grader/course/environment.py that it needs beyond the base, installed when it is first used."""

    module: str
    summary: str
    needs: tuple[str, ...] = ()


VERBS = {
    "list": Verb("student.list", "list the exercises and how far you have come"),
    "start": Verb("student.start", "put an exercise's starter into work/, to edit"),
    "check": Verb("student.check", "check your own kernel and show what to fix first"),
    "profile": Verb("student.profile", "show where your kernel's time goes, line by line"),
    "lab": Verb("student.lab", "run an exercise's faulty kernels, or grade your answers about them"),
    "measure": Verb("student.measure", "measure what an exercise's questions are about"),
    "answers": Verb("student.answers", "grade the answers in a file that an exercise asks you to fill in"),
    "hint": Verb("student.hint", "open an exercise's next hint"),
    "grade": Verb("instructor.grade", "grade submissions; with no path, every reference solution"),
    "notebook": Verb("student.notebook", "open an exercise's notebook in JupyterLab, on your own copy"),
    "nbgrader": Verb(
        "instructor.nbgrader",
        "run a class with nbgrader: release, collect, autograde, feedback",
        ("nbgrader",),
    ),
    "demo-class": Verb(
        "instructor.demo_class",
        "make a small demo class, from release to feedback",
        ("nbgrader",),
    ),
    "cluster": Verb("instructor.cluster", "start or join a Dask cluster to grade on"),
    "gradescope": Verb("instructor.gradescope", "write Gradescope's autograder for an exercise"),
    "release": Verb("instructor.release", "write the bundle that students get into a folder"),
    "bench": Verb("instructor.bench", "time baselines, solutions and alternatives over all bench shapes"),
    "tune": Verb("instructor.tune", "search the best values of a kernel's tunables", ("tune",)),
    "gate": Verb("instructor.gate", "decide whether a kernel may replace an exercise's baseline"),
    "report": Verb("student.report", "make one HTML page from records and benchmarks"),
    "run": Verb("student.run", "build a CUDA program and run it on a GPU or the virtual GPU"),
    "nvcc": Verb("machine.nvcc", "compile as nvcc does, for the virtual GPU: for a Makefile or CMake"),
    "starters": Verb("instructor.starters", "write every exercise's starter from its solution"),
    "mutants": Verb("instructor.mutants", "show which small mistakes an exercise's cases do not catch"),
    "calibrate": Verb("machine.calibrate", "measure this machine's GPU and write a profile of it"),
    "doctor": Verb("machine.doctor", "show what this machine has and lacks for the course"),
    "test": Verb(
        "machine.test",
        "run the linters, the type checker and the test suite",
        ("test", "tune", "nbgrader", "cluster"),
    ),
}


def main(arguments: list[str]) -> int:
    """Run one verb and return the exit status. Errors that a user can fix print one line, no traceback."""
    if not arguments or arguments[0] in (*_HELP, "help"):
        print(usage())
        return 0 if arguments else USAGE_ERROR
    name, *rest = arguments
    if name not in VERBS:
        print(f"error: {_unknown(name)}\n\n{usage()}", file=sys.stderr)
        return USAGE_ERROR
    try:
        if not _HELP & set(rest):
            _install(VERBS[name].needs)
        status: int = importlib.import_module(f"{__name__}.{VERBS[name].module}").main(rest)
        sys.stdout.flush()
        return status
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:  # `./course … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        if error.errno not in _REFUSED or error.filename is None:
            raise
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return USAGE_ERROR


def _install(needs: tuple[str, ...]) -> None:
    if needs:
        from grader.course.environment import ensure

        ensure(needs)


def usage() -> str:
    width = max(map(len, VERBS))
    rows = (f"  {name:<{width}}  {verb.summary}" for name, verb in VERBS.items())
    return "\n".join(("usage: ./course VERB …   (./course VERB --help for its options)", "", *rows))


def _unknown(name: str) -> str:
    close = difflib.get_close_matches(name, VERBS, n=1)
    return f"there is no verb {name!r}" + (f"; did you mean {close[0]!r}?" if close else "")
