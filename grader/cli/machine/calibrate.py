"""`./course calibrate`: measure this machine's GPU and write a device profile for the virtual one."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from common.build.program import Target, build_program
from common.core.errors import CourseError
from common.gpu.devices import Gpu, find_gpus
from common.virtual_gpu.profiles import DEFAULT_PROFILE, PROFILES, Profile, find_profile
from grader.cli.parser import Parser

SOURCE = PROFILES.parent / "calibration" / "measure.cu"
_MEASURE_SECONDS = 300.0


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    gpu = next(iter(find_gpus()), None)
    if gpu is None:
        raise CourseError(
            "calibrate measures a real GPU, and this machine has none that nvidia-smi names; "
            f"the profiles that come with the course are in {PROFILES.name}"
        )
    print(f"measuring {gpu.name}", file=sys.stderr, flush=True)
    profile = profile_of(_measure(gpu), find_profile(options.base))
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
    parser = Parser(prog="./course calibrate", description=__doc__, allow_abbrev=False)
    parser.add_argument("--output", type=Path, metavar="FILE", help="write it here, not to the screen")
    parser.add_argument("--id", help="the profile's name; default: made from the GPU's")
    parser.add_argument(
        "--base", default=DEFAULT_PROFILE, help="the profile that gives what cannot be measured"
    )
    return parser


def profile_of(measured: dict[str, Any], base: Profile) -> dict[str, Any]:
    """The measured figures, in the order of the base, which keeps what was not measured."""
    return {key: measured.get(key, value) for key, value in asdict(base).items()}


def identity_of(name: str) -> str:
    """NVIDIA H100 80GB HBM3 becomes h100_80gb_hbm3."""
    words = [word for word in name.lower().split() if word not in ("nvidia", "geforce", "tesla")]
    return "_".join(words) or "gpu"


def _measure(gpu: Gpu) -> dict[str, Any]:
    program = build_program([SOURCE], Target.gpu(gpu.cc)).path
    try:
        done = subprocess.run(
            [program], capture_output=True, text=True, timeout=_MEASURE_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise CourseError(
            f"the measurement took more than {_MEASURE_SECONDS:.0f} s: is somebody else using the GPU?"
        ) from error
    if done.returncode != 0:
        raise CourseError(f"the measurement ended with {done.returncode}: {done.stderr.strip()}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured
