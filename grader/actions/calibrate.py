"""A device profile of this machine's GPU, measured, for the virtual one."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from typing import Any

from common.build.program import Target, build_program
from common.core.errors import CourseError
from common.gpu.devices import Gpu, find_gpus
from common.virtual_gpu.profiles import PROFILES, Profile, find_profile

SOURCE = PROFILES.parent / "calibration" / "measure.cu"
_MEASURE_SECONDS = 300.0


def gpu_to_measure() -> Gpu:
    gpu = next(iter(find_gpus()), None)
    if gpu is None:
        raise CourseError(
            "calibrate measures a real GPU, and this machine has none that nvidia-smi names; "
            f"the profiles that come with the course are in {PROFILES.name}"
        )
    return gpu


def calibrated(gpu: Gpu, base: str) -> dict[str, Any]:
    """The GPU's profile; the one called `base` gives what cannot be measured."""
    return profile_of(_measure(gpu), find_profile(base))


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
            f"the measurement took more than {_MEASURE_SECONDS:.0f} s: is another program using the GPU?"
        ) from error
    if done.returncode != 0:
        raise CourseError(f"the measurement ended with {done.returncode}: {done.stderr.strip()}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured
