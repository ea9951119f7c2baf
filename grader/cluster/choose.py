"""Where a class is graded, from `--on` or the setting `on`: this machine, a Dask cluster, or Slurm.

here                    this machine (the default); needs no further package
FILE                    a Dask scheduler by its file: `./course cluster start DIR` writes DIR/scheduler.json
tls://HOST:PORT         the same by its address
                        (either without TLS only on this machine, unless the site allows it)
slurm                   jobs that this command submits and ends; their options are in course.toml
"""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from common.core.errors import CourseError
from grader.classes.executor import Executor
from grader.classes.local_processes import LocalProcesses
from grader.cluster.certificate import security_beside
from grader.course import environment
from grader.course.settings import Settings, choose_device
from grader.records.device_info import VIRTUAL, DeviceInfo

if TYPE_CHECKING:
    from grader.cluster.dask_cluster import DaskCluster

HERE, SLURM = "here", "slurm"
GROUP = "cluster"
_CONNECT_SECONDS = 30
_ENCRYPTED = ("tls", "wss")  # of Dask's kinds of addresses; tcp, ws and ucx are not
_USUAL = "tcp://"  # what Dask adds to an address without a kind


@dataclass(frozen=True)
class Place:
    """Where a class is graded, and the device that grades there."""

    executor: Executor
    device: DeviceInfo


def is_elsewhere(on: str | None, settings: Settings) -> bool:
    """Whether other machines do the work."""
    return (on or settings.on or HERE) != HERE


def check_jobs(jobs: int | None, on: str | None, settings: Settings) -> None:
    """Raises CourseError for `--jobs` on a cluster: before it is asked for machines."""
    if jobs and is_elsewhere(on, settings):
        raise CourseError(
            "--jobs is for this machine; a cluster has as many at once as its workers have threads"
        )


@contextmanager
def executor_for(on: str | None, settings: Settings, device: str | None) -> Iterator[Place]:
    """The place, until the end of the block."""
    place = on or settings.on or HERE
    if place == HERE:
        yield Place(LocalProcesses(), choose_device(device, settings))
        return
    if place != SLURM:
        _address_for(place, settings)  # a wrong one is said before anything is installed
    must_be_installed()
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what a user can fix is said in sentences
    with (_slurm if place == SLURM else _dask)(place, settings) as cluster:
        yield Place(cluster, _modelled(settings, device) or cluster.device())


def device_of(on: str | None, settings: Settings, device: str | None) -> DeviceInfo:
    """The device that `executor_for` would grade on. Only the GPU of a cluster has to be asked for; of Slurm,
    by one job."""
    if not is_elsewhere(on, settings):
        return choose_device(device, settings)
    if modelled := _modelled(settings, device):
        return modelled
    one_job = dataclasses.replace(settings, slurm=dataclasses.replace(settings.slurm, jobs=1))
    with executor_for(on, one_job, device) as place:
        return place.device


def _modelled(settings: Settings, device: str | None) -> DeviceInfo | None:
    """The virtual GPU, the same on every machine; None where a GPU of the cluster grades."""
    chosen = DeviceInfo(device or settings.official_device or VIRTUAL, settings.profile)
    return chosen if chosen.modelled else None


def must_be_installed() -> None:
    """Dask, which is installed when it is first needed."""
    environment.ensure([GROUP])
    try:
        import dask_jobqueue  # noqa: F401
    except ImportError as problem:
        raise CourseError(
            "Dask is not installed in this Python: `./course` without COURSE_PYTHON installs it, or "
            f"`pip install -r requirements/{GROUP}.txt`"
        ) from problem


@contextmanager
def _dask(place: str, settings: Settings) -> Iterator[DaskCluster]:
    from grader.cluster.dask_cluster import DaskCluster

    cluster = DaskCluster(_connecting(place, settings), without_walls=settings.cluster.missing_walls)
    try:
        yield cluster
    finally:
        cluster.close()


def _address_for(place: str, settings: Settings) -> str:
    """The scheduler's address, if submissions may be sent there."""
    address = _address_of(place)
    kind = urlsplit(address).scheme
    if kind not in _ENCRYPTED and not _is_here(address) and not settings.cluster.unencrypted:
        raise CourseError(
            f"{address} is another machine, and {kind}:// encrypts nothing: others could read submissions "
            "and hidden cases in transit, and run programs on the nodes. Start the scheduler with TLS "
            "(docs/teaching.md), or set unencrypted = true under [cluster] in course.toml."
        )
    return address


@contextmanager
def _slurm(place: str, settings: Settings) -> Iterator[DaskCluster]:
    from grader.cluster.slurm import slurm_cluster

    with slurm_cluster(settings) as cluster:
        yield cluster


def _connecting(place: str, settings: Settings) -> Callable[[], Any]:
    """A function that connects to a scheduler. One that is started again may have another address in its
    file, and another certificate."""
    from grader.cluster.client import SchedulerClient

    def connect() -> Any:
        address, security = _address_for(place, settings), security_beside(place)
        try:
            return SchedulerClient(address, security=security, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, TypeError, ValueError, RuntimeError) as problem:
            raise CourseError(
                f"the Dask scheduler at {address} does not answer: {problem}. Is it running, can this "
                "machine reach it, and does Dask's configuration name the files for TLS (docs/teaching.md)?"
            ) from problem

    return connect


def _address_of(place: str) -> str:
    """An address as it is; of a scheduler's file, the address in it."""
    if "://" in place:
        if urlsplit(place).scheme not in ("tcp", "tls"):
            raise CourseError(f"--on {place}: a scheduler's address begins with tls:// or tcp://")
        return place
    try:
        address = str(json.loads(Path(place).read_text())["address"])
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise CourseError(
            f"--on {place} is neither {HERE}, {SLURM}, an address (tls://HOST:PORT) nor a scheduler's file: "
            f"{problem}"
        ) from problem
    return address if "://" in address else _USUAL + address


def _is_here(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
