"""A Slurm of three nodes on this machine, from Debian's packages slurm-wlm and munge, for one test."""

from __future__ import annotations

import contextlib
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.waiting import wait_until

NODES = 3
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "sinfo")
_SEARCH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
_MUNGE = "munge"  # the user of Debian's package; its daemon refuses to run as root

_CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdTimeout=10
KillWait=2
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/spool-%n
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
NodeName=DEFAULT CPUs=1 RealMemory=4000 State=UNKNOWN
NodeName=node[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{last}]
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """What it takes and is not here, in words; empty where a Slurm can be started."""
    if lacking := [name for name in PROGRAMS if shutil.which(name, path=_SEARCH) is None]:
        return f"needs Slurm ({', '.join(lacking)}): apt-get install slurm-wlm munge"
    return "" if os.geteuid() == 0 else "needs root, to start Slurm's daemons"


@dataclass
class SlurmHere:
    folder: Path
    daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": _SEARCH}

    def start(self) -> None:
        self.folder.chmod(0o755)  # munge's user passes through
        ports = _free_ports(NODES + 1)
        text = _CONF.format(
            host=socket.gethostname(),
            port=ports,
            folder=self.folder,
            nodes=NODES,
            first=ports + 1,
            last=ports + NODES,
        )
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "state").mkdir()
        self._start_munge()
        self._start("slurmctld", "slurmctld", "-D")
        for number in range(1, NODES + 1):
            (self.folder / f"spool-node{number}").mkdir()
            self._start(f"node{number}", "slurmd", "-D", "-N", f"node{number}")
        assert wait_until(lambda: self._idle() == NODES, 60), self.log()

    def kill_node(self, name: str) -> None:
        """The node's daemon and all that it runs: its jobs are lost with it."""
        os.killpg(self.daemons.pop(name).pid, signal.SIGKILL)
        for step in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                # The steps of a node name the socket below its spool folder.
                if f"spool-{name}" in _open_files(step.parent):
                    os.kill(int(step.parent.name), signal.SIGKILL)

    def close(self) -> None:
        subprocess.run(
            ["scancel", "--user", "root", "--full"], env=self.environment, check=False, capture_output=True
        )
        wait_until(lambda: not self._printed("squeue", "--noheader"), 15)
        for process in reversed(self.daemons.values()):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self) -> str:
        return "".join(f"{path.name}:\n{path.read_text()[-800:]}\n" for path in self.folder.glob("*.log"))

    def _start_munge(self) -> None:
        user = pwd.getpwnam(_MUNGE)
        place = self.folder / "munge"
        place.mkdir(mode=0o755)
        (place / "key").write_bytes(secrets.token_bytes(128))
        (place / "key").chmod(0o400)
        for path in (place, place / "key"):
            os.chown(path, user.pw_uid, user.pw_gid)
        become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        files = {
            "key-file": "key",
            "socket": "socket",
            "pid-file": "pid",
            "seed-file": "seed",
            "log-file": "log",
        }
        options = [f"--{option}={place / file}" for option, file in files.items()]
        self._start("munge", *become, "/usr/sbin/munged", "--foreground", *options)
        assert wait_until((place / "socket").exists, 20), self.log()

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / f"{name}.out.log").open("wb") as log:
            self.daemons[name] = subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )

    def _idle(self) -> int:
        return self._printed("sinfo", "--noheader", "--Node", "--states=idle").count("node")

    def _printed(self, *command: str) -> str:
        return subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False
        ).stdout


def _open_files(process: Path) -> str:
    found = []
    for handle in (process / "fd").iterdir():
        with contextlib.suppress(OSError):
            found.append(os.readlink(handle))
    return "\n".join([*found, (process / "cmdline").read_bytes().decode(errors="replace")])


def _free_ports(count: int) -> int:
    """The first of so many ports in a row that nobody listens on."""
    for first in range(17000, 30000, count):
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    stack.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return first
    raise AssertionError("no free ports")


@contextmanager
def slurm_here() -> Iterator[SlurmHere]:
    slurm = SlurmHere(Path(tempfile.mkdtemp(prefix="slurm")))  # a socket's path must be short
    try:
        slurm.start()
        yield slurm
    finally:
        slurm.close()
