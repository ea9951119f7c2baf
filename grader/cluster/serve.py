"""Starts a Dask scheduler and Dask's workers as this course needs them: encrypted, dashboards on loopback."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NoReturn

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.gpu.devices import find_gpus
from grader.cluster.certificate import SCHEDULER, make_certificate, options

_DASHBOARD = ("--dashboard-address", "127.0.0.1:0")
_DEATH_SECONDS = "60"  # a worker without a scheduler ends after that
_WORKER_TTL = "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL"  # a worker that is silent for so long is given up


def start_scheduler(folder: Path, interface: str | None) -> NoReturn:
    """Become a scheduler, with a new certificate. DIR/scheduler.json has its address once it listens."""
    from distributed.utils import get_ip_interface

    (folder / SCHEDULER).unlink(missing_ok=True)
    make_certificate(folder)
    host = ["--host", f"tls://{get_ip_interface(interface)}"] if interface else []
    file = ["--port", "0", "--scheduler-file", str(folder / SCHEDULER)]
    _become("distributed.cli.dask_scheduler", [*options(folder), *file, *host, *_DASHBOARD])


def start_workers(folder: Path, count: int | None, interface: str | None) -> NoReturn:
    """Become this machine's workers: one per CPU; on a machine with GPUs, one with a thread per GPU."""
    try:
        address = str(json.loads((folder / SCHEDULER).read_text())["address"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise CourseError(
            f"{folder / SCHEDULER} has no scheduler's address: start one with `./course cluster start DIR`, "
            "and copy DIR to this machine"
        ) from problem
    cards = len(find_gpus())
    workers = 1 if cards else count or len(os.sched_getaffinity(0))
    share = ["--nworkers", str(workers), "--nthreads", str(cards or 1)]
    announced = ["--resources", f"GPU={cards}"] if cards else []
    network = ["--interface", interface] if interface else []
    end = ["--death-timeout", _DEATH_SECONDS]
    _become(
        "distributed.cli.dask_worker",
        [address, *options(folder), *share, *announced, *network, *end, *_DASHBOARD],
    )


def _become(module: str, arguments: list[str]) -> NoReturn:
    path = os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, _WORKER_TTL: os.environ.get(_WORKER_TTL, "60s")}
    os.execve(sys.executable, [sys.executable, "-P", "-m", module, *arguments], environment)
