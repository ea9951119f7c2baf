"""`./course run FILE.cu [ARGS…]`: build any CUDA program with a main() and run it."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from common.build.program import Target, build_program
from common.build.resources import resources_of, write_for_engine
from common.core.errors import CourseError
from common.gpu.devices import Gpu, find_gpus, first_gpu
from common.virtual_gpu.profiles import DEFAULT_PROFILE, profiles
from common.virtual_gpu.render import render_report
from common.virtual_gpu.session import run_program
from grader.actions.run import CHECKS, compute_capability, selected_checks
from grader.cli.parser import Parser

FINDINGS_STATUS = 3
# As env, timeout and docker answer when the fault is theirs and not the program's.
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
    """Our options and FILE, and what belongs to the program."""
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
    parser = Parser(
        prog="./course run",
        usage="./course run [OPTIONS] FILE.cu [ARGS…]",
        description=__doc__,
        epilog=_EPILOGUE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("file", metavar="FILE.cu", type=Path)
    add("--device", choices=("virtual", "gpu"), help="default: a GPU if there is one")
    add("-D", metavar="NAME[=VALUE]", action="append", default=[], dest="defines", help="define a macro")
    add("-I", metavar="FOLDER", action="append", default=[], dest="includes", help="look for headers there")
    names = ", ".join(CHECKS)
    add = parser.add_argument_group("on the virtual GPU").add_argument
    add("--json", metavar="OUT", type=Path, help="write launches, findings and counters to a file")
    add("--checks", metavar="NAMES", help=f"run only these, separated by commas: {names}; or none")
    add("--no-check", metavar="NAME", action="append", default=[], choices=CHECKS, help="leave one out")
    add("--profile", default=DEFAULT_PROFILE, choices=sorted(profiles()), help="the device to pretend to be")
    return parser


def _choose_gpu(device: str | None) -> Gpu | None:
    if device == "gpu":
        return first_gpu()
    return next(iter(find_gpus()), None) if device is None else None


def _run_on_gpu(gpu: Gpu, options: argparse.Namespace, arguments: list[str]) -> int:
    """Build for the device and become the program, so that its status and signals are its own."""
    print(f"device: {gpu.name}", file=sys.stderr, flush=True)
    if options.json:
        raise CourseError("--json is written by the virtual GPU only: add --device virtual")
    program = _build(options, Target.gpu(gpu.cc))
    os.execv(program, [str(program), *arguments])


def _run_virtually(options: argparse.Namespace, arguments: list[str]) -> int:
    print(f"device: virtual GPU ({options.profile})", file=sys.stderr, flush=True)
    checks = selected_checks(options.checks, options.no_check)
    if options.json and not os.access(options.json.absolute().parent, os.W_OK):
        raise CourseError(f"cannot write {options.json}: its folder does not exist or is not yours to write")
    cc = compute_capability(options.profile)
    program = _build(options, Target.virtual(cc))
    with tempfile.TemporaryDirectory() as scratch:
        registers = _registers(program, options, cc, Path(scratch)) if options.json else None
        run = run_program(program, arguments, profile=options.profile, options=checks, resources=registers)
    if options.json:
        record = {"status": run.status, "seconds": run.seconds, **run.report.to_dict()}
        options.json.write_text(json.dumps(record, indent=2))
    print(render_report(run.report), end="", file=sys.stderr)
    if run.status != 0:
        return run.status if run.status > 0 else 128 - run.status
    return FINDINGS_STATUS if run.report.findings else 0


def _registers(program: Path, options: argparse.Namespace, cc: str, folder: Path) -> Path:
    """What ptxas says of every kernel, for the engine: occupancy depends on it and PTX does not tell."""
    includes = [Path(include) for include in options.includes]
    kernels = resources_of(program, options.file, f"sm_{cc}", defines=options.defines, include_dirs=includes)
    return write_for_engine(kernels, folder)


def _build(options: argparse.Namespace, target: Target) -> Path:
    folders = [Path(folder) for folder in options.includes]
    result = build_program([options.file], target, defines=options.defines, include_dirs=folders)
    for diagnostic in result.diagnostics:
        print(diagnostic, file=sys.stderr)
    return result.path
