"""The Jupyter kernel of the course: this Python under the course's name, which every notebook asks for.

| who looks for it | finds it in |
|---|---|
| `./course notebook`, whatever the Python | a folder of ours, named first in JUPYTER_PATH |
| a Jupyter that was started from .venv | .venv/share/jupyter |
| any other Jupyter of this user, VS Code | the user's data folder, ~/.local/share/jupyter |

All clones share the user's data folder: a kernel of another clone that still works stays there, and a note is
printed. `jupyter kernelspec remove serving-kernels`, or deleting the folder, takes it away again.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from common.build.cache import default_cache

NAME = "serving-kernels"
SPEC = {
    "display_name": "Serving Kernels",
    "language": "python",
    "name": NAME,
}  # as in a notebook's metadata


def register() -> str:
    """Register in .venv and for the user's other Jupyters. A sentence if another clone's kernel stays."""
    _write(Path(sys.prefix) / "share" / "jupyter")
    from jupyter_core.paths import jupyter_data_dir

    users = Path(jupyter_data_dir())
    other = _python_of(users)
    if other and other != sys.executable and shutil.which(other):
        return (
            f"Jupyter outside .venv still uses the kernel of another clone, {other}: delete "
            f"{_place(users)} and run `./course notebook` here to have this one instead."
        )
    _write(users)
    return ""


def jupyter_path() -> Path:
    """A folder for JUPYTER_PATH in which Jupyter finds this Python as the course's kernel."""
    folder = default_cache().root / "jupyter" / sys.executable.strip("/").replace("/", "-")
    _write(folder)
    return folder


def _place(data: Path) -> Path:
    return data / "kernels" / NAME


def _write(data: Path) -> None:
    place = _place(data)
    place.mkdir(parents=True, exist_ok=True)
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": SPEC["display_name"],
        "language": SPEC["language"],
        "metadata": {"debugger": True},
    }
    (place / "kernel.json").write_text(json.dumps(spec, indent=1) + "\n")


def _python_of(data: Path) -> str:
    """The interpreter of the kernel that is registered there; "" for none that can be read."""
    try:
        return str(json.loads((_place(data) / "kernel.json").read_text())["argv"][0])
    except (OSError, ValueError, LookupError, TypeError):
        return ""
