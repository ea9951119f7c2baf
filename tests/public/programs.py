"""The programs in a folder: how each is built, and how it is run."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from common.core.paths import REPOSITORY

BIN, COURSE = REPOSITORY / "bin", REPOSITORY / "course"
_MAIN = re.compile(r"\bmain\s*\(")
_RUN_TARGET = re.compile(r"^run\s*:", re.MULTILINE)
_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")
_SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c")


@dataclass(frozen=True)
class Program:
    """Commands that build it in `folder`, one after the other, and the one that runs it. Where that is known
    only after the build, `executables_in` is where this leaves programs, and `run` their arguments."""

    name: str
    folder: Path
    build: Sequence[Sequence[str]]
    run: Sequence[str] | None
    executables_in: Path | None = None


def find_programs(root: Path, work: Path, arguments: Mapping[str, str]) -> Iterator[Program]:
    """Every folder below `root` that holds a Makefile, a CMakeLists.txt or CUDA sources with a main(). A
    folder inside a program's is part of it."""
    for current, folders, _ in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        folder = Path(current)
        name = str(folder.relative_to(root)) if folder != root else folder.name
        words = shlex.split(arguments.get(name, ""))
        found = list(_programs_in(folder, name, work, words, name in arguments))
        if found:
            folders.clear()
            yield from found


def _programs_in(
    folder: Path, name: str, work: Path, words: Sequence[str], has_words: bool
) -> Iterator[Program]:
    mains = [path for path in sorted(folder.glob("*.c*")) if path.suffix in _SOURCES and _has_main(path)]
    cuda = any(folder.glob("*.cu"))
    makefile = next((folder / one for one in _MAKEFILES if (folder / one).is_file()), None)
    if makefile is not None and cuda:
        build = ("make", f"NVCC={BIN / 'nvcc'}")
        if not has_words and _RUN_TARGET.search(makefile.read_text(errors="replace")):
            yield Program(name, folder, [["make", "clean"], build], [*build, "run"])
        else:
            yield Program(name, folder, [["make", "clean"], build], list(words) or None, folder)
    elif (folder / "CMakeLists.txt").is_file() and cuda:
        made = work / re.sub(r"\W", "_", name)
        compilers = [f"-DCMAKE_CUDA_COMPILER={BIN / 'nvcc'}", f"-DCMAKE_CXX_COMPILER={BIN / 'c++'}"]
        options = [*compilers, "-DCMAKE_CUDA_ARCHITECTURES=90", "-DFETCHCONTENT_FULLY_DISCONNECTED=ON"]
        configure = ["cmake", "-S", str(folder), "-B", str(made), *options]
        yield Program(name, folder, [configure, ["cmake", "--build", str(made)]], list(words) or None, made)
    elif len(mains) == 1 and cuda:
        files = [str(path) for path in sorted(folder.iterdir()) if path.suffix in _SOURCES]
        yield Program(name, folder, [], _course_run(files, words))
    else:
        for main in (path for path in mains if path.suffix == ".cu"):
            yield Program(f"{name}/{main.name}", folder, [], _course_run([str(main)], words))


def _course_run(files: Sequence[str], words: Sequence[str]) -> list[str]:
    """Objects of device code are linked only where one file uses another's."""
    separate = ["--nvcc", "-rdc=true"] if sum(file.endswith(".cu") for file in files) > 1 else []
    return [str(COURSE), "run", "--device", "virtual", *files, *separate, "--", *words]


def _has_main(path: Path) -> bool:
    return _MAIN.search(path.read_text(errors="replace")) is not None
