"""`./course run FILE… [-- ARGS…]`: build any CUDA program with a main() and run it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from common.build.nvcc.options import split_flags
from common.build.program import LINKED_SUFFIXES, Target
from common.core.errors import CourseError
from common.gpu.devices import Gpu, find_gpus, first_gpu
from common.virtual_gpu.profiles import DEFAULT_PROFILE, profiles
from common.virtual_gpu.render import render_report
from common.virtual_gpu.session import RunReport
from grader.actions.run import CHECKS, OnVirtual, Source, run_on_virtual, selected_checks
from grader.cli.parser import Parser, above_zero, between
from grader.records.device_info import KINDS, DeviceInfo

# Of a program that returned 0, by the kinds of its findings: the first that occurs.
STATUS_OF_FINDINGS = {"limit": 124, "unsupported": 4}
FINDINGS_STATUS = 3
# The status of env, timeout and docker for their own failures.
NOT_STARTED_STATUS = 125

_EPILOGUE = """\
FILEs are sources (.cu, .cpp, .cc, .cxx, .c), objects and libraries (.o, .a, .so), which are linked; or one
program that was built for the virtual GPU before. Program arguments follow `--`:
    ./course run a.cu b.cpp -- data.txt 100
Other words after the first FILE go to the program, too, except for the options above and for more FILEs.

Flags of nvcc's own:  --nvcc "-rdc=true --expt-relaxed-constexpr" --nvcc -std=c++20
A value is one word of your shell, which is split at its spaces; the option may be repeated.

exit status
    0    the program returned 0, and the virtual GPU found nothing
    3    the program returned 0, but there are findings
    4    the same, and a kernel was refused: it has an instruction that the virtual GPU lacks
    124  the same, and a kernel was stopped at its time limit (--max-seconds)
    125  the program could not be built or started
    2    the command line is wrong
    128+N  signal N ended the program
    else the program's own status, whatever was found
"""
_WITH_VALUE = (
    *("--device", "--devices", "--arch", "--json", "--checks", "--no-check", "--profile", "--max-seconds"),
    "--nvcc",
    *("-D", "-I", "-L", "-l"),
)
_JOINED = (*(f"{option}=" for option in _WITH_VALUE if option.startswith("--")), "-D", "-I", "-L", "-l")
_MOST_DEVICES = 16
_SOURCE_SUFFIXES = (".cu", ".cpp", ".cc", ".cxx", ".c")
_FILE_SUFFIXES = (*_SOURCE_SUFFIXES, *LINKED_SUFFIXES)


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
        _write_json(options, {"exit_status": NOT_STARTED_STATUS, "error": str(error)})
        return NOT_STARTED_STATUS


def split_arguments(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Our options and FILEs, and the program's arguments."""
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
            value = next(rest, None)
            if argument == "--nvcc" and value is not None:
                ours.append(f"{argument}={value}")  # a value that begins with a dash
            else:
                ours += [argument, *([value] if value is not None else [])]
        elif argument.startswith(_JOINED) or (not have_file and argument.startswith("-")):
            ours.append(argument)
        elif not have_file or argument.endswith(_FILE_SUFFIXES):
            have_file = True
            ours.append(argument)
        else:
            theirs.append(argument)
    return ours, theirs


def _parser() -> argparse.ArgumentParser:
    usage = "./course run [OPTIONS] FILE… [-- ARGS…]"
    parser = Parser("./course run", __doc__, usage=usage, epilog=_EPILOGUE, allow_abbrev=False)
    add = parser.add_argument
    add("files", metavar="FILE.cu", type=Path, nargs="+")
    add("--device", choices=KINDS, help="default: a GPU if there is one")
    arch = "build for it; default: the device's own. wgmma and setmaxnreg need sm_90a"
    add("--arch", metavar="sm_NN[a]", help=arch)
    add("-D", metavar="NAME[=VALUE]", action="append", default=[], dest="defines", help="define a macro")
    add("-I", metavar="FOLDER", action="append", default=[], dest="includes", help="look for headers there")
    add("-L", metavar="FOLDER", action="append", default=[], dest="folders", help="look for libraries there")
    add("-l", metavar="NAME", action="append", default=[], dest="libraries", help="link this library")
    add("--nvcc", metavar="FLAGS", action="append", default=[], help="more flags for nvcc: see below")
    names = ", ".join(CHECKS)
    add = parser.add_argument_group("on the virtual GPU").add_argument
    add("--json", metavar="OUT", type=Path, help="write launches, findings and counters to a file")
    add("--checks", metavar="NAMES", help=f"run only these, separated by commas: {names}; or none")
    add("--no-check", metavar="NAME", action="append", default=[], choices=CHECKS, help="leave one out")
    add("--profile", default=DEFAULT_PROFILE, choices=sorted(profiles()), help="the device to model")
    seconds = "CPU time that each thread of the engine may spend on one launch; default: 120"
    add("--max-seconds", metavar="N", type=above_zero, help=seconds)
    add(
        "--devices",
        metavar="N",
        type=between(1, _MOST_DEVICES),
        help=f"devices that the program sees: 1 to {_MOST_DEVICES}",
    )
    return parser


def _choose_gpu(device: str | None) -> Gpu | None:
    if device is None:
        return next(iter(find_gpus()), None)
    return None if DeviceInfo(device, "").modelled else first_gpu()


def _run_on_gpu(gpu: Gpu, options: argparse.Namespace, arguments: list[str]) -> int:
    """Build for the device and exec the program, so that status and signals are its own."""
    print(f"device: {gpu.name}", file=sys.stderr, flush=True)
    if options.json:
        raise CourseError("--json is written by the virtual GPU only: add --device virtual")
    program = _built(_source(options), Target.gpu(gpu.cc).for_arch(options.arch))
    os.execv(program, [str(program), *arguments])


def _run_virtually(options: argparse.Namespace, arguments: list[str]) -> int:
    print(f"device: virtual GPU ({options.profile})", file=sys.stderr, flush=True)
    checks = selected_checks(options.checks, options.no_check)
    if options.json and not os.access(options.json.absolute().parent, os.W_OK):
        folder, options.json = options.json, None
        raise CourseError(f"cannot write {folder}: its folder does not exist or is not writable")
    source = _source(options)
    how = OnVirtual(
        options.profile,
        checks,
        bool(options.json),
        options.max_seconds,
        arch=options.arch,
        devices=options.devices,
    )
    program = _built_before(source) or _built(source, how.target)
    run = run_on_virtual(source, program, how, arguments)
    status = _exit_status(run)
    figures = {"status": run.status, "exit_status": status, "seconds": run.seconds}
    _write_json(options, {**figures, **run.report.to_dict()})
    print(render_report(run.report), end="", file=sys.stderr)
    return status


def _exit_status(run: RunReport) -> int:
    """By the table of `--help`."""
    if run.status != 0:
        return run.status if run.status > 0 else 128 - run.status
    kinds = {finding.kind for finding in run.report.findings}
    if not kinds:
        return 0
    return next((status for kind, status in STATUS_OF_FINDINGS.items() if kind in kinds), FINDINGS_STATUS)


def _write_json(options: argparse.Namespace, record: dict[str, Any]) -> None:
    if options.json:
        options.json.write_text(json.dumps(record, indent=2))


def _source(options: argparse.Namespace) -> Source:
    libraries = [*(f"-L{Path(folder).absolute()}" for folder in options.folders)]
    libraries += [f"-l{name}" for name in options.libraries]
    includes = [Path(folder) for folder in options.includes]
    return Source(options.files, options.defines, includes, split_flags(options.nvcc), libraries)


def _built_before(source: Source) -> Path | None:
    """The one FILE, if it is a program."""
    [program, *others] = source.files
    if others or program.suffix in _FILE_SUFFIXES or not os.access(program, os.X_OK) or program.is_dir():
        return None
    return program.absolute()


def _built(source: Source, target: Target) -> Path:
    program, warnings = source.build(target)
    for warning in warnings:
        print(warning, file=sys.stderr)
    return program
