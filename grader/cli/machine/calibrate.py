"""`./course calibrate`: measure this machine's GPU and write a device profile for the virtual one."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from common.virtual_gpu.profiles import DEFAULT_PROFILE
from grader.actions.calibrate import calibrated, gpu_to_measure, identity_of
from grader.cli.parser import Parser


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    gpu = gpu_to_measure()
    print(f"measuring {gpu.name}", file=sys.stderr, flush=True)
    profile = calibrated(gpu, options.base)
    identity = options.id or identity_of(gpu.name)
    document = {"default": identity, "profiles": {identity: profile}}
    text = json.dumps(document, indent=2) + "\n"
    if options.output is None:
        print(text, end="")
    else:
        options.output.write_text(text)
        print(f"profile {identity!r}: {options.output}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser("./course calibrate", __doc__, allow_abbrev=False)
    parser.add_argument("--output", type=Path, metavar="FILE", help="write it here instead of the screen")
    parser.add_argument("--id", help="the profile's name; default: made from the GPU's")
    parser.add_argument(
        "--base", default=DEFAULT_PROFILE, help="the profile that gives what cannot be measured"
    )
    return parser
