"""nvcc's command line, read: its options with their values, and its input files.

What is not in the table passes for an option without a value, as nvcc's switches are.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

from common.build.nvcc.libraries import absent_among, is_nvidias
from common.build.nvcc.nvrtc import WHEEL as NVRTC_WHEEL
from common.build.nvcc.nvrtc import nvrtc_words
from common.build.toolchain import NVCC_VARIABLES
from common.core.errors import CourseError

# Long names of options that take a value, and the short ones.
_VALUED = {
    "output-file": "o",
    "pre-include": "include",
    "library": "l",
    "define-macro": "D",
    "undefine-macro": "U",
    "include-path": "I",
    "system-include": "isystem",
    "library-path": "L",
    "output-directory": "odir",
    "compiler-bindir": "ccbin",
    "archiver-binary": "arbin",
    "libdevice-directory": "ldir",
    "target-directory": "target-dir",
    "optimization-info": "opt-info",
    "optimize": "O",
    "Ofast-compile": "Ofc",
    "dopt": "dopt",
    "ftemplate-backtrace-limit": "ftemplate-backtrace-limit",
    "ftemplate-depth": "ftemplate-depth",
    "compiler-options": "Xcompiler",
    "linker-options": "Xlinker",
    "archive-options": "Xarchive",
    "ptxas-options": "Xptxas",
    "nvlink-options": "Xnvlink",
    "Xcudafe": "Xcudafe",
    "threads": "t",
    "split-compile": "split-compile",
    "split-compile-extended": "split-compile-extended",
    "fdevice-time-trace": "fdevice-time-trace",
    "keep-dir": "keep-dir",
    "time": "time",
    "run-args": "run-args",
    "input-drive-prefix": "idp",
    "dependency-drive-prefix": "ddp",
    "drive-prefix": "dp",
    "dependency-target-name": "MT",
    "dependency-output": "MF",
    "gpu-architecture": "arch",
    "gpu-code": "code",
    "generate-code": "gencode",
    "maxrregcount": "maxrregcount",
    "Werror": "Werror",
    "diag-error": "diag-error",
    "diag-suppress": "diag-suppress",
    "diag-warn": "diag-warn",
    "jump-table-density": "jtd",
    "frandom-seed": "frandom-seed",
    "sanitize": "sanitize",
    "options-file": "optf",
    "cudart": "cudart",
    "cudadevrt": "cudadevrt",
    "x": "x",
    "std": "std",
    "machine": "m",
    "static-global-template-stub": "static-global-template-stub",
    "device-entity-has-hidden-visibility": "device-entity-has-hidden-visibility",
    "relocatable-device-code": "rdc",
    "entries": "e",
    "ftz": "ftz",
    "prec-div": "prec-div",
    "prec-sqrt": "prec-sqrt",
    "fmad": "fmad",
    "default-stream": "default-stream",
}
_SHORT = {**_VALUED, **{short: short for short in _VALUED.values()}}
# Their value may follow without a space or a "=".
_GLUED = ("I", "D", "U", "L", "l", "O", "m", "t")
# Switches that begin like one of those.
_GLUED_SWITCHES = ("-link", "-lib", "-lineinfo", "-lto", "-ltoir")
# Long names of switches that somebody here asks for.
_SWITCHES = {
    "compile": "c",
    "device-c": "dc",
    "device-w": "dw",
    "device-link": "dlink",
    "device-debug": "G",
    "generate-line-info": "lineinfo",
    "verbose": "v",
    "preprocess": "E",
    "generate-dependencies": "M",
    "generate-nonsystem-dependencies": "MM",
}


@dataclass(frozen=True)
class Option:
    """`name` is the short one, without dashes; `words` are as they were written."""

    name: str
    value: str | None
    words: tuple[str, ...]

    @property
    def values(self) -> list[str]:
        """Of an option that takes a list."""
        return (self.value or "").split(",")


@dataclass(frozen=True)
class NvccLine:
    """A command line: options and input files, each in order."""

    options: tuple[Option, ...]
    inputs: tuple[str, ...]

    def has(self, *names: str) -> bool:
        return any(option.name in names for option in self.options)

    def value(self, name: str) -> str | None:
        """Of the last such option."""
        found = [option.value for option in self.options if option.name == name]
        return found[-1] if found else None

    def words(self, *, without: Container[str] = ()) -> list[str]:
        """The options as they were written, but for those with these names."""
        return [word for option in self.options if option.name not in without for word in option.words]


def read_nvcc_line(words: Sequence[str]) -> NvccLine:
    """Raises CourseError where the last option lacks its value."""
    options: list[Option] = []
    inputs: list[str] = []
    rest = iter(words)
    for word in rest:
        if word.startswith("-") and word != "-":
            options.append(_option(word, rest))
        else:
            inputs.append(word)
    return NvccLine(tuple(options), tuple(inputs))


def _option(word: str, rest: Iterator[str]) -> Option:
    name, equals, value = word.lstrip("-").partition("=")
    if name in _SHORT:
        if equals:
            return Option(_SHORT[name], value, (word,))
        following = next(rest, None)
        if following is None:
            raise CourseError(f"nvcc's option {word} needs a value")
        return Option(_SHORT[name], following, (word, following))
    if not word.startswith("--") and word[1:2] in _GLUED and word not in _GLUED_SWITCHES:
        return Option(word[1], word[2:].removeprefix("="), (word,))
    return Option(_SWITCHES.get(name, name), value if equals else None, (word,))


def split_flags(texts: Sequence[str]) -> list[str]:
    """Flags that were written into one word, as a shell would split them."""
    words: list[str] = []
    for text in texts:
        try:
            words += shlex.split(text)
        except ValueError as problem:
            raise CourseError(f"flags for nvcc, {text!r}: {problem}") from problem
    return words


def flags_of_environment() -> list[str]:
    """What nvcc adds to every command line by itself."""
    return split_flags([os.environ.get(name, "") for name in NVCC_VARIABLES])


# For the virtual GPU there is one architecture, whatever machine code a project asks for; and its own runtime
# library in place of NVIDIA's.
REPLACED = ("arch", "code", "gencode", "cudart", "cudadevrt", "dlto", "lto", "Xptxas", "maxrregcount")

_NVRTC = "-lnvrtc"
_DRIVER = "-lcuda"
_RUNTIME = ("cudart", "cudart_static", "cudadevrt", "cuda")  # ours has the functions of all of them


def link_words(line: NvccLine, *, on_virtual: bool = True) -> list[str]:
    """What of these options the host's linker, g++, is given. Of NVIDIA's libraries a GPU has all, and the
    runtime library is linked anyway."""
    choose = present if on_virtual else _without_runtime
    words: list[str] = []
    for option in line.options:
        if option.name in ("L", "l"):
            words += choose(f"-{option.name}{value}" for value in option.values)
        elif option.name == "Xlinker":
            words += [word for value in option.values for word in ("-Xlinker", value)]
        elif option.name == "Xcompiler":
            words += [value for value in option.values if value]
        elif option.name in ("shared", "pg", "g"):
            words += option.words
    return words


def present(words: Iterable[str]) -> list[str]:
    """Words for the linker, but for libraries of NVIDIA's: those that the virtual GPU has are part of its
    runtime library, and many projects name more of the others than they use. NVRTC needs no GPU."""
    found: list[str] = []
    for word in words:
        if word == _NVRTC:
            found += nvrtc_words()
        elif not (is_runtime(word) or is_nvidias(word)):
            found.append(word)
    return found


def _without_runtime(words: Iterable[str]) -> list[str]:
    return [word for word in words if not is_runtime(word) or word == _DRIVER]


def is_runtime(word: str) -> bool:
    """Whether a word for the linker is NVIDIA's runtime library or driver, in whose place ours is linked."""
    name = re.sub(r"^-l|\.(so|a)[.\d]*$", "", word.rpartition("/")[2]).removeprefix("lib")
    return (word.startswith("-l") or "/" in word) and name in _RUNTIME


def absent_libraries(line: NvccLine, words: Iterable[str] = ()) -> str:
    """A sentence about those of NVIDIA's libraries that these options and words for the linker name; empty
    where they name none."""
    named = [f"-l{value}" for option in line.options if option.name == "l" for value in option.values]
    named += words
    absent = [word for word in absent_among(named) if word != _NVRTC or not nvrtc_words()]
    if not absent:
        return ""
    if absent == [_NVRTC]:
        return f"NVRTC (-lnvrtc) is not there: install NVIDIA's wheel {NVRTC_WHEEL}, or CUDA 13 with NVRTC."
    return (
        f"the virtual GPU has none of these libraries, which are for real GPUs: {' '.join(absent)}. "
        "A program that calls them can only be built for a GPU."
    )
