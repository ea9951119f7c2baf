"""One file compiles to one code, whatever the folders are called in which that happens.

cicc, nvcc's compiler for device code, orders some of its work by the addresses of its data. Where those begin
is fixed (common/core/addresses.py), but they move with the length of each name that cicc meets: of the source
and the headers, of its own files, the folder it works in, the one for temporary files, and its own program.
So it meets the same names everywhere:

- the lines of its input are marked as lines of /compiled/source/kernel.cu, /compiled/include00/…, and what it
  writes gets the true names afterwards;
- it works in / and reaches its own files through an open folder: /proc/self/fd/9/kernel.ptx;
- it is started through the dynamic loader, of which Linux then says that it is the running program;
- its environment holds nothing else.
"""

from __future__ import annotations

import os
import re
import shlex
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_HERE = "/proc/self/fd/9"  # 9 is the highest number that every shell knows
_COMPILED = "/compiled"
_COMPILER = "cicc"
_INTERPRETER = 3  # a program header's kind: the name of the dynamic loader
_HEADER = struct.Struct("<IIQQQQ")
_MARK = "\x01"  # between the parts of a substitution: in no name
_SPECIAL = re.compile(r"[][\\.*^$]")
_ESCAPED = r"\\\g<0>"
_OPTIONS = ("-I", "-isystem", "-idirafter")


@dataclass(frozen=True)
class FixedNames:
    """The names for one compile with its files in `folder`. `true` has the true folder of each fixed name,
    `fixed` the other way round: several spellings may stand for a folder."""

    folder: Path
    true: dict[str, str]
    fixed: dict[str, str]

    @staticmethod
    def of(source: Path, preprocessing: str, workspace: Path, folder: Path) -> FixedNames:
        """For `source` and the folders that the preprocessor's command lists, which runs in `workspace`."""
        true = {f"{_COMPILED}/source": str(source.parent).rstrip("/")}
        for number, included in enumerate(_include_folders(preprocessing)):
            true[f"{_COMPILED}/include{number:02}"] = included.rstrip("/")
        fixed = {str(workspace): _COMPILED}  # g++ notes where it worked
        for name, path in true.items():
            fixed.setdefault(path, name)
            fixed.setdefault(os.path.realpath(path), name)  # g++ prefers shorter names for system headers
        return FixedNames(folder, true, {path: name for path, name in fixed.items() if "\n" not in path})

    def source(self, name: str) -> str:
        return f"{_COMPILED}/source/{name}"

    def mark(self, preprocessed: Path) -> str:
        """A command that gives a preprocessed file the fixed names."""
        longest_first = sorted(self.fixed.items(), key=lambda pair: -len(pair[0]))
        return self._substitute("marks.sed", r'# [0-9]* "', longest_first, preprocessed)

    def unmark(self, ptx: Path) -> str:
        """A command that gives PTX the true names."""
        written = [(name, _in_ptx(path)) for name, path in self.true.items()]
        return self._substitute("names.sed", r'[[:space:]]*\.file[[:space:]]*[0-9]* "', written, ptx)

    def macros(self) -> list[str]:
        """Options of g++ by which __FILE__ is a name without folders of this machine."""
        shortest_first = sorted(self.true.values(), key=len)  # g++ takes the last one that fits
        return [f"-fmacro-prefix-map={path}/=" for path in shortest_first if "=" not in path]

    def run(self, compiler: Path, command: str, memory: str) -> str:
        """The command for a shell: cicc, whose own files lie in the folder, under fixed names. `memory` is
        its allocator's setting."""
        (self.folder / _COMPILER).symlink_to(compiler)
        arguments = command.partition(" ")[2].replace(f'"{self.folder}/', f'"{_HERE}/')
        settings = shlex.join(["LC_ALL=C", f"TMPDIR={_HERE}", f"MALLOC_CONF={memory}"])
        program = f"{_loader(compiler)} {_HERE}/{_COMPILER}"
        return f"{{ cd / && env -i {settings} {program} {arguments} ; }} 9< {shlex.quote(str(self.folder))}"

    def _substitute(self, script: str, before: str, pairs: Iterable[tuple[str, str]], file: Path) -> str:
        lines = (
            rf"s{_MARK}^\({before}\){_SPECIAL.sub(_ESCAPED, old)}/{_MARK}\1{_escaped(new)}/{_MARK};t"
            for old, new in pairs
        )
        path = self.folder / script
        path.write_bytes(os.fsencode("\n".join(lines) + "\n"))
        new = f"{file}.new"
        substituted = shlex.join(["sed", "-f", str(path), str(file)])
        return f"LC_ALL=C {substituted} > {shlex.quote(new)} && {shlex.join(['mv', new, str(file)])}"


def _escaped(replacement: str) -> str:
    return re.sub(r"[\\&]", _ESCAPED, replacement)


def _in_ptx(name: str) -> str:
    """As cicc writes it: ptxas reads ASCII alone."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}" for byte in os.fsencode(name))


def _include_folders(preprocessing: str) -> list[str]:
    """Those of a g++ command, by kind: of the last one, how many there are differs between machines."""
    words = shlex.split(preprocessing)
    found: dict[str, list[str]] = {option: [] for option in _OPTIONS}
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option = next((option for option in _OPTIONS if word.startswith(option)), None)
        if option is not None:
            found[option].append(word.removeprefix(option) or following)
    return [folder for option in _OPTIONS for folder in found[option] if folder.startswith("/")]


def _loader(program: Path) -> str:
    """The dynamic loader that a program asks for, quoted for a shell; nothing where it asks for none,
    as a script does."""
    with program.open("rb") as file:
        header = file.read(64)
        if header[:5] != b"\x7fELF\x02":
            return ""
        (table,) = struct.unpack_from("<Q", header, 32)
        size, count = struct.unpack_from("<2H", header, 54)
        for number in range(count):
            file.seek(table + number * size)
            kind, _, offset, _, _, length = _HEADER.unpack(file.read(_HEADER.size))
            if kind == _INTERPRETER:
                file.seek(offset)
                return shlex.quote(os.fsdecode(file.read(length).rstrip(b"\0")))
    return ""
