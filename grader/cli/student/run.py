"""`./course run FILE.cu [ARGS…]`: build any CUDA program with a main() and run it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from common.build.program import Target
from common.core.errors import CourseError
from common.gpu.devices import Gpu, find_gpus, first_gpu
from common.virtual_gpu.profiles import DEFAULT_PROFILE, profiles
from common.virtual_gpu.render import render_report
from grader.actions.run import CHECKS, OnVirtual, Source, run_on_virtual, selected_checks
from grader.cli.parser import Parser
from grader.records.device_info import GPU, KINDS

FINDINGS_STATUS = 3
# The status of env, timeout and docker for their own failures.
NOT_STARTED_STATUS = 125

_EPILOGUE = """\
The exit status is the program's own (128 + N if signal N ended it); 3 if it succeeded but the virtual GPU has
findings; 125 if it could not be built or started; 2 for a wrong command line.

What follows FILE.cu goes to the program, except for the options above, which are understood there too. After
`--` everything is the program's:  ./course run FILE.cu -- --device 0
"""
_WITH_VALUE = ("--device", "--json", "--checks", "--no-check", "--profile", "-D", "-I")
_JOINED = ("--device=", "--json=", "--checks=", "--no-check=", "--profile=", "-D", "-I")


def main(arguments: list[str]) -> int:
    ours, program_arguments = split_arguments(arguments)
    options = _parser().parse_args(ours)
    gpu = _choose_gpu(options.device)
    try:
        if gpu is not None:
            return _run_on_gpu(gpu, options, program_arguments)
        return _run_virtually(options, program_arguments)
    except CourseError as error:
        print(f"error: {error}", file=sys.stderr)
        return NOT_STARTED_STATUS


def split_arguments(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Our options and FILE, and the program's arguments."""
    ours: list[str] = []
    theirs: list[str] = []
    have_file = False
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            if not have_file:
                ours += [next(rest, "")]
            theirs += rest
        elif argument in _WITH_VALUE:
            ours += [argument, *([value] if (value := next(rest, None)) is not None else [])]
        elif argument.startswith(_JOINED) or (not have_file and argument.startswith("-")):
            ours.append(argument)
        elif not have_file:
            have_file = True
            ours.append(argument)
        else:
            theirs.append(argument)
    return ours, theirs


def _parser() -> argparse.ArgumentParser:
    usage = "./course run [OPTIONS] FILE.cu [ARGS…]"
    parser = Parser("./course run", __doc__, usage=usage, epilog=_EPILOGUE, allow_abbrev=False)
    add = parser.add_argument
    add("file", metavar="FILE.cu", type=Path)
    add("--device", choices=KINDS, help="default: a GPU if there is one")
    add("-D", metavar="NAME[=VALUE]", action="append", default=[], dest="defines", help="define a macro")
    add("-I", metavar="FOLDER", action="append", default=[], dest="includes", help="look for headers there")
    names = ", ".join(CHECKS)
    add = parser.add_argument_group("on the virtual GPU").add_argument
    add("--json", metavar="OUT", type=Path, help="write launches, findings and counters to a file")
    add("--checks", metavar="NAMES", help=f"run only these, separated by commas: {names}; or none")
    add("--no-check", metavar="NAME", action="append", default=[], choices=CHECKS, help="leave one out")
    add("--profile", default=DEFAULT_PROFILE, choices=sorted(profiles()), help="the device to model")
    return parser


def _choose_gpu(device: str | None) -> Gpu | None:
    if device == GPU:
        return first_gpu()
    return next(iter(find_gpus()), None) if device is None else None


def _run_on_gpu(gpu: Gpu, options: argparse.Namespace, arguments: list[str]) -> int:
    """Build for the device and exec the program, so that status and signals are its own."""
    print(f"device: {gpu.name}", file=sys.stderr, flush=True)
    if options.json:
        raise CourseError("--json is written by the virtual GPU only: add --device virtual")
    program = _built(_source(options), Target.gpu(gpu.cc))
    os.execv(program, [str(program), *arguments])


def _run_virtually(options: argparse.Namespace, arguments: list[str]) -> int:
    print(f"device: virtual GPU ({options.profile})", file=sys.stderr, flush=True)
    checks = selected_checks(options.checks, options.no_check)
    if options.json and not os.access(options.json.absolute().parent, os.W_OK):
        raise CourseError(f"cannot write {options.json}: its folder does not exist or is not writable")
    source, how = _source(options), OnVirtual(options.profile, checks, with_figures=bool(options.json))
    run = run_on_virtual(source, _built(source, how.target), how, arguments)
    if options.json:
        record = {"status": run.status, "seconds": run.seconds, **run.report.to_dict()}
        options.json.write_text(json.dumps(record, indent=2))
    print(render_report(run.report), end="", file=sys.stderr)
    if run.status != 0:
        return run.status if run.status > 0 else 128 - run.status
    return FINDINGS_STATUS if run.report.findings else 0


def _source(options: argparse.Namespace) -> Source:
    return Source(options.file, options.defines, [Path(folder) for folder in options.includes])


def _built(source: Source, target: Target) -> Path:
    program, warnings = source.build(target)
    for warning in warnings:
        print(warning, file=sys.stderr)
    return program
