"""`./course cluster start|join DIR`: a Dask cluster to grade on, of machines that you can log in to.

start   make a certificate in DIR and run a scheduler here, until Ctrl-C
join    run workers here for the scheduler of DIR, until Ctrl-C; on each node, with a copy of DIR

Then `./course grade CLASS --on DIR/scheduler.json`. Whoever has DIR can run programs on the nodes: it is
readable by its owner alone. Each node needs this course, in the same version.
"""

from __future__ import annotations

from pathlib import Path

from grader.cli.parser import Parser, count
from grader.cluster.choose import must_be_installed


def main(arguments: list[str]) -> int:
    parser = Parser("./course cluster", __doc__)
    parser.add_argument("what", choices=("start", "join"), metavar="start|join")
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--workers", metavar="N", type=count, help="with join: default one per CPU")
    parser.add_argument("--interface", metavar="NAME", help="the network to use, such as eth0 or ib0")
    options = parser.parse_args(arguments)
    must_be_installed()
    from grader.cluster.serve import start_scheduler, start_workers

    folder = options.folder.absolute()
    if options.what == "start":
        start_scheduler(folder, options.interface)
    start_workers(folder, options.workers, options.interface)
