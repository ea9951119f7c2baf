"""Dashboards show source code and run nothing for strangers: they listen on loopback alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.core.proc import all_processes
from grader.course.settings import Slurm
from tests.grader.cluster.dask_here import DaskHere
from tests.waiting import wait_until

pytest.importorskip("distributed", reason="needs Dask: pip install -r requirements/cluster.txt")

_LISTENING = "0A"  # in /proc/net/tcp
_LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}


def listening(leader: int) -> Iterator[tuple[str, int]]:
    """Addresses, as the kernel writes them, and ports of a process and those below it."""
    family = {leader}
    for process in sorted(all_processes(), key=lambda process: process.pid):
        if process.parent in family:
            family.add(process.pid)
    own = {os.readlink(link) for pid in family for link in Path(f"/proc/{pid}/fd").iterdir()}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            address, _, port = fields[1].partition(":")
            if fields[3] == _LISTENING and f"socket:[{fields[9]}]" in own:
                yield address, int(port, 16)


@pytest.fixture(scope="module")
def on_all_networks(tmp_path_factory) -> Iterator[DaskHere]:
    """A scheduler and a worker as they are without --interface."""
    cluster = DaskHere(tmp_path_factory.mktemp("cluster") / "dask", interface=())
    try:
        cluster.start_scheduler()
        cluster.add_worker()
        assert wait_until(lambda: cluster.identity()["workers"]), cluster.log()
        yield cluster
    finally:
        cluster.close()


def test_dashboards_of_the_scheduler_and_of_workers_listen_on_loopback_alone(on_all_networks):
    seen = on_all_networks.identity()
    [worker] = seen["workers"].values()
    leaders = (on_all_networks.scheduler.pid, on_all_networks.workers[0].pid)
    found = [one for leader in leaders for one in listening(leader)]
    for name, facts in (("scheduler", seen), ("worker", worker)):
        port = facts["services"]["dashboard"]
        where = {address for address, listens in found if listens == port}
        assert where, f"the {name}'s dashboard is not at port {port}: {found}"
        assert where <= _LOOPBACK, f"the {name}'s dashboard listens at {where}"
    assert {address for address, _ in found} - _LOOPBACK, "the rest of Dask does: networks are not loopback"


def test_so_do_those_of_slurms_jobs_and_of_their_scheduler():
    from distributed.security import Security

    from grader.cluster.slurm import _options

    made = _options(Slurm(), Security.temporary())
    assert made["scheduler_options"]["dashboard_address"] == "127.0.0.1:0"
    asked = made["worker_extra_args"]
    assert asked[asked.index("--dashboard-address") + 1] == "127.0.0.1:0"
