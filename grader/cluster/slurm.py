"""Grades as jobs of Slurm. dask-jobqueue submits them; the scheduler runs in this process and ends with it.

Everything between this machine and the jobs is encrypted, with a certificate that is made for the run. Jobs
get it in their script, which Slurm shows to nobody but their owner: there need be no shared folder.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from grader.cluster.dask_cluster import DaskCluster
from grader.course.settings import Settings, Slurm

_LOOPBACK = "127.0.0.1:0"  # the dashboard is for this machine alone
_REPLACE_SECONDS = 30.0
_REFUSED_SECONDS = 600.0  # without a worker, while sbatch takes no job
_DEATH_SECONDS = 60  # a job whose scheduler is gone ends after that
_FOLDER = "SERVING_KERNELS_TLS"
_CONFIGURATION = {"distributed.scheduler.worker-ttl": "60s"}  # a node that froze is given up after that


@contextmanager
def slurm_cluster(settings: Settings) -> Iterator[DaskCluster]:
    """Jobs, from now to the end of the block."""
    import dask
    from dask_jobqueue import SLURMCluster
    from dask_jobqueue.slurm import SLURMJob
    from distributed import Status
    from distributed.security import Security

    from grader.cluster.client import SchedulerClient

    for program in ("sbatch", "scancel"):
        if shutil.which(program) is None:
            raise CourseError(f"there is no {program} here: --on slurm works where Slurm's commands are")
    wanted = settings.slurm
    certificate = Security.temporary()

    submissions = _Submissions()

    class Job(SLURMJob):
        async def start(self) -> None:
            try:
                await super().start()
            except (OSError, RuntimeError, ValueError) as problem:
                submissions.refused[self.name] = _last_words(str(problem))
                self.status = Status.failed  # the cluster waits for others when it is closed
                raise
            submissions.accepted += 1

    class Cluster(SLURMCluster):
        job_cls = Job

        def _get_worker_security(self, security: Any) -> Any:
            """Where the job's script puts the certificate."""
            files = {"ca_file": "cert.pem", "worker_cert": "cert.pem", "worker_key": "key.pem"}
            places = {f"tls_{name}": f"${_FOLDER}/{file}" for name, file in files.items()}
            return Security(require_encryption=True, **places)

    with dask.config.set(_CONFIGURATION):
        try:
            jobs = Cluster(security=certificate, **_options(wanted, certificate))
        except (OSError, ValueError, RuntimeError) as problem:
            raise CourseError(f"no jobs could be prepared for Slurm: {problem}") from problem
        replacing = _Replacing(jobs, wanted.jobs, submissions)
        replacing()
        cluster = DaskCluster(
            lambda: SchedulerClient(jobs, set_as_default=False),
            without_walls=settings.cluster.missing_walls,
            keep_up=replacing,
        )
        try:
            yield cluster
        finally:
            cluster.close()
            jobs.close(timeout=_DEATH_SECONDS)


def _options(wanted: Slurm, certificate: Any) -> dict[str, Any]:
    """Of dask-jobqueue, from the course's settings. One worker per CPU: each loss costs one submission."""
    gpus = [f"--gres=gpu:{wanted.gpus}"] if wanted.gpus else []
    announced = ["--resources", f"GPU={wanted.gpus}"] if wanted.gpus else []
    return {
        "cores": wanted.cpus,
        "processes": 1 if wanted.gpus else wanted.cpus,
        "memory": wanted.memory,
        "walltime": wanted.walltime,
        "queue": wanted.partition or None,
        "account": wanted.account or None,
        "interface": wanted.interface or None,
        "python": wanted.python or sys.executable,
        "job_name": "serving-kernels",
        "job_extra_directives": ["--output=/dev/null", *gpus, *wanted.directives],
        "job_script_prologue": [*_certificate_lines(certificate), *_course_lines(), *wanted.prologue],
        "worker_extra_args": ["--dashboard-address", _LOOPBACK, *announced],
        "scheduler_options": {"dashboard_address": _LOOPBACK},
        "death_timeout": _DEATH_SECONDS,
        "local_directory": f"${_FOLDER}",
        "log_directory": None,
    }


def _certificate_lines(certificate: Any) -> list[str]:
    """Shell that writes the certificate into a private folder, which goes when the job ends."""
    files = {"cert.pem": certificate.tls_worker_cert, "key.pem": certificate.tls_worker_key}
    return [
        "umask 077",
        f"{_FOLDER}=$(mktemp -d)",
        f"trap 'rm -rf \"${_FOLDER}\"' EXIT",
        *(f'cat > "${_FOLDER}/{name}" <<END\n{text.strip()}\nEND' for name, text in files.items()),
    ]


def _course_lines() -> list[str]:
    """The course lies on the nodes where it lies here, or PYTHONPATH is set in the site's prologue."""
    return [f'export PYTHONPATH="{REPOSITORY}${{PYTHONPATH:+:$PYTHONPATH}}"', "export PYTHONSAFEPATH=1"]


@dataclass
class _Submissions:
    """What sbatch made of the jobs: how many it took, and why it refused others."""

    accepted: int = 0
    refused: dict[Any, str] = field(default_factory=dict)  # by the job's name


def _last_words(problem: str) -> str:
    """What sbatch wrote, of a message that also has the command and its exit status."""
    said = problem.rpartition("stderr:")[2]
    return "; ".join(line.strip() for line in said.splitlines() if line.strip())


class _Replacing:
    """Asks for jobs, and from time to time for those that have ended. Raises CourseError where Slurm takes
    none."""

    def __init__(self, jobs: Any, count: int, submissions: _Submissions) -> None:
        self._jobs, self._count, self._asked = jobs, count, 0.0
        self._submissions, self._taken, self._since = submissions, 0, time.monotonic()

    def __call__(self) -> None:
        self._check()
        if time.monotonic() - self._asked > _REPLACE_SECONDS:
            self._asked = time.monotonic()
            self._jobs.scale(jobs=self._count)

    def _check(self) -> None:
        """End at once where sbatch has taken no job yet: it will not take the same job later. After that, a
        refusal may pass, as when Slurm's controller is started again."""
        made, now = self._submissions, time.monotonic()
        if made.accepted != self._taken or self._jobs.scheduler_info["workers"]:
            self._taken, self._since = made.accepted, now
        if not made.refused:
            return
        reason = next(iter(made.refused.values()))
        for name in list(made.refused):
            del made.refused[name]
            for known in (self._jobs.workers, self._jobs.worker_spec):
                known.pop(name, None)
        if not made.accepted or now - self._since > _REFUSED_SECONDS:
            raise CourseError(
                f"Slurm took no job: {reason}. The options of jobs are under [slurm] in course.toml."
            )
