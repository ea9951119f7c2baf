"""nvcc for a project's own Makefile or CMake: the same command line, and a program for the virtual GPU.

NVIDIA's nvcc compiles, with its flags for machine code replaced by those for PTX as plain text. Device code
is linked here (device_link.py), and the host's compiler links the program with the virtual GPU's runtime
library.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from common.build.nvcc.device_link import device_link_source
from common.build.nvcc.libraries import is_nvidias, refusal_of
from common.build.nvcc.options import (
    REPLACED,
    NvccLine,
    absent_libraries,
    is_runtime,
    link_words,
    read_nvcc_line,
)
from common.build.program import HOST_LINES, LINKED_SUFFIXES, Target, last_includes, runtime_words
from common.build.toolchain import find_host_compiler, find_nvcc
from common.core.errors import CourseError
from common.core.paths import REPOSITORY

LINK_LAUNCHER = REPOSITORY / "bin" / "c++"
# What nvcc makes that is not for this device, or is not compiled: as NVIDIA's nvcc makes it.
_UNTOUCHED = ("ptx", "cubin", "optix-ir", "ltoir", "cuda", "dryrun", "version", "V", "help", "h")
_WITHOUT_LINKING = ("c", "dc", "dw", "E", "M", "MM", "lib", "fatbin")
_LIBRARIES = re.compile(r"^#\$ LIBRARIES=(.*)$", re.MULTILINE)
# What nvcc's own link step would add: CMake reads it there.
_NVCC_LIBRARIES = "-lcudadevrt -lcudart_static -lrt -lpthread -ldl"
_FAILED = 1


def compile_as_nvcc(words: Sequence[str], target: Target) -> int:
    """Do what nvcc does with this command line, for `target`, and return its exit status."""
    line = read_nvcc_line(_expanded(words, "--options-file", "-optf"))
    if line.has(*_UNTOUCHED) or not (line.inputs or line.has("dlink")):
        return _run([str(find_nvcc().path), *words])
    if line.has("dlink"):
        return _device_link(line)
    if line.has(*_WITHOUT_LINKING):
        return _run([*_compiler(line, target), *line.words(without=REPLACED), *line.inputs])
    return _compile_and_link(line, target)


def link_as_host_compiler(words: Sequence[str]) -> int:
    """The host's compiler with these words, and with our runtime library where they link NVIDIA's."""
    given = _expanded(words)
    kept = [word for word in given if not (is_runtime(word) or is_nvidias(word))]
    added = [*last_includes(for_nvcc=False), *(runtime_words() if kept != given else ())]
    return _run([str(find_host_compiler().path), *kept, *added])


def _expanded(words: Sequence[str], *options: str) -> list[str]:
    """With the words of files that stand for words: `@FILE`, and the files of these options."""
    found: list[str] = []
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in options:
            named = value if equals else next(rest, "")
        elif word.startswith("@") and Path(word[1:]).is_file():
            named = word[1:]
        else:
            found.append(word)
            continue
        try:
            found += _expanded(shlex.split(Path(named).read_text()), *options)
        except OSError as problem:
            raise CourseError(f"cannot read {named}, a file of options: {problem.strerror}") from problem
    return found


def _compiler(line: NvccLine, target: Target) -> list[str]:
    """NVIDIA's nvcc with our flags, before the user's: of those that may occur once, the user's counts."""
    host = [] if line.has("ccbin") else ["-ccbin", str(find_host_compiler().path)]
    lines = [] if line.has("G", "lineinfo") else ["-lineinfo"]
    return [str(find_nvcc().path), *host, *lines, *HOST_LINES, *target.compile_flags()]


def _compile_and_link(line: NvccLine, target: Target) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        files: list[str] = []
        libraries = ""
        for number, name in enumerate(line.inputs):
            if Path(name).suffix in LINKED_SUFFIXES or ".so." in name:
                files.append(name)
                continue
            made = Path(scratch) / str(number) / f"{Path(name).stem}.o"
            made.parent.mkdir()
            options = line.words(without=(*REPLACED, "o", "l", "L", "Xlinker", "shared", "link"))
            pic = ["-Xcompiler", "-fPIC"] if line.has("shared") else []
            command = [*_compiler(line, target), *pic, *options, "-c", name, "-o", str(made)]
            status, said = _compile(command, line)
            libraries = libraries or said
            if status != 0:
                return status
            files.append(str(made))
        if line.has("v"):
            _say([str(LINK_LAUNCHER), *files], f"{libraries} {_NVCC_LIBRARIES}")
        files += _linked_device_code([Path(file) for file in files], line, Path(scratch))
        host = _host_compiler(line)
        words = [*files, *link_words(line), *runtime_words(), "-pthread", "-ldl", "-lrt"]
        status, said = _link([host, "-o", line.value("o") or "a.out", *words])
        if status != 0 and (absent := refusal_of(said) or absent_libraries(line)):
            print(f"error: {absent}", file=sys.stderr)
        return status


def _link(command: list[str]) -> tuple[int, str]:
    """The status, and what the linker said, which the user has seen."""
    sys.stdout.flush()
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    sys.stderr.write(done.stderr)
    return done.returncode, done.stderr


def _compile(command: list[str], line: NvccLine) -> tuple[int, str]:
    """The status, and nvcc's list of libraries if it was asked to say what it does."""
    if not line.has("v"):
        return _run(command), ""
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    sys.stderr.write(done.stderr)
    found = _LIBRARIES.search(done.stderr)
    return done.returncode, found[1].strip() if found else ""


def _say(words: Sequence[str], rest: str) -> None:
    print(f"#$ {shlex.join(words)} {rest}", file=sys.stderr, flush=True)


def _device_link(line: NvccLine) -> int:
    """The object that registers the device code of others. Where none has any, it is empty."""
    output = Path(line.value("o") or "a_dlink.o")
    files = [Path(name) for name in line.inputs if Path(name).suffix in (".o", ".a")]
    source = device_link_source([*files, *_static_libraries(line)]) or ""
    return _compile_c(source, output, line)


def _linked_device_code(files: Sequence[Path], line: NvccLine, scratch: Path) -> list[str]:
    """The same for a program that is linked in one step; nothing where nothing is to be linked."""
    objects = [file for file in files if file.suffix in (".o", ".a")]
    if not objects or (source := device_link_source([*objects, *_static_libraries(line)])) is None:
        return []
    output = scratch / "device_link.o"
    if _compile_c(source, output, line) != 0:
        raise CourseError("the device code of these files could not be linked")
    return [str(output)]


def _compile_c(source: str, output: Path, line: NvccLine) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "device_link.c").write_text(source)
        words = ["-x", "c", "-c", "-fPIC", f"{scratch}/device_link.c", "-o", str(output)]
        return _run([_host_compiler(line), *words])


def _static_libraries(line: NvccLine) -> list[Path]:
    folders = [Path(value) for option in line.options if option.name == "L" for value in option.values]
    names = [value for option in line.options if option.name == "l" for value in option.values]
    candidates = (
        folder / f"lib{name}.a" for folder in folders for name in names if not is_runtime(f"-l{name}")
    )
    return [library for library in candidates if library.is_file()]


def _host_compiler(line: NvccLine) -> str:
    chosen = line.value("ccbin")
    if chosen is None:
        return str(find_host_compiler().path)
    return str(Path(chosen) / "g++") if Path(chosen).is_dir() else shutil.which(chosen) or chosen


def _run(command: Sequence[str]) -> int:
    sys.stdout.flush()
    try:
        status = subprocess.run(command, check=False).returncode
    except OSError as problem:
        raise CourseError(f"{command[0]} cannot be run: {problem.strerror}") from problem
    return status if status >= 0 else _FAILED
