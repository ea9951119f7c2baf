"""NVRTC, NVIDIA's compiler as a library: programs that link -lnvrtc make PTX with it while they run."""

from __future__ import annotations

import functools
from pathlib import Path

from common.build.toolchain import find_nvcc, library_folders

WHEEL = "nvidia-cuda-nvrtc"


@functools.cache
def find_nvrtc() -> Path | None:
    """The library, from the toolkit or from NVIDIA's wheel; None where neither has it."""
    folders = library_folders(find_nvcc().root)
    found = (path for folder in folders for path in sorted(folder.glob("libnvrtc.so*")))
    return next(found, None)


def nvrtc_words() -> list[str]:
    """What links it, for the host's linker; nothing where it is not there."""
    library = find_nvrtc()
    return [str(library), f"-Wl,-rpath,{library.parent}"] if library else []
