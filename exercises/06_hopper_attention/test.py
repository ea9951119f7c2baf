"""Checks the kernel.cu beside this file, as `./course check 06` does for your own: `python test.py`."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
COURSE = HERE.parents[1] / "course"

if __name__ == "__main__":
    command = [str(COURSE), "check", HERE.name.partition("_")[0], str(HERE / "kernel.cu"), *sys.argv[1:]]
    sys.exit(subprocess.run(command, check=False).returncode)
