"""A private JupyterLab with its own folders, token and port. Its end stops every process it started."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from common.core.paths import REPOSITORY
from common.core.process import kill_session
from grader.course.jupyter_kernel import jupyter_path
from grader.nbgrader.validating import SETTINGS

_START_SECONDS = 120  # a busy machine imports slowly
_TOKEN = "of-this-test-alone"
# All cells on the page, not only the visible ones.
_SETTINGS: dict[str, dict[str, object]] = {
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}


@dataclass(frozen=True)
class JupyterServer:
    root: Path
    url: str

    def address(self, path: str = "lab") -> str:
        separator = "&" if "?" in path else "?"
        return f"{self.url}{path}{separator}token={_TOKEN}"

    def notebook(self, path: str) -> str:
        """An empty workspace, without tabs from earlier pages."""
        return self.address(f"lab/tree/{path}?reset")


@contextlib.contextmanager
def running_jupyter(root: Path, own: Path, **variables: str) -> Iterator[JupyterServer]:
    """JupyterLab on `root`. Its user data goes to `own`, so that the user's own settings have no effect."""
    log = own / "jupyter.log"
    environment = _environment(own, variables)
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--port=0"]
    command += [f"--IdentityProvider.token={_TOKEN}", f"--ServerApp.root_dir={root}"]
    with log.open("wb") as said:
        process = subprocess.Popen(
            command,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield JupyterServer(root, _address_of(process, own / "runtime", log))
    finally:
        _stop(process)


def _environment(own: Path, variables: Mapping[str, str]) -> dict[str, str]:
    settings = own / "settings"
    for name, values in _SETTINGS.items():
        file = settings / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    own_folders = {
        "JUPYTER_CONFIG_DIR": own / "config",
        "JUPYTER_DATA_DIR": own / "data",
        "JUPYTER_RUNTIME_DIR": own / "runtime",
        "JUPYTERLAB_SETTINGS_DIR": settings,
        "JUPYTERLAB_WORKSPACES_DIR": own / "workspaces",
        "IPYTHONDIR": own / "ipython",
    }
    return {
        **os.environ,
        **{name: str(path) for name, path in own_folders.items()},
        "JUPYTER_PATH": str(jupyter_path()),
        "JUPYTER_CONFIG_PATH": str(SETTINGS),  # as `./course notebook` starts it: no news, no updates
        "PYTHONPATH": os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH", "")))),
        "PATH": os.pathsep.join(
            (str(Path(sys.executable).parent), os.environ["PATH"])
        ),  # alembic, for nbgrader
        **variables,
    }


def _address_of(process: subprocess.Popen[bytes], runtime: Path, log: Path) -> str:
    """Jupyter writes its address to a file once it listens."""
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        for file in runtime.glob("jpserver-*.json"):
            with contextlib.suppress(ValueError):  # half written
                return str(json.loads(file.read_text())["url"])
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-4000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM first: Jupyter then ends its notebooks' kernels, which have their own sessions."""
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(20)
    kill_session(process.pid)
    process.wait()
