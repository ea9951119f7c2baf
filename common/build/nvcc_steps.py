"""nvcc's own steps, side by side where nvcc runs them one after the other.

nvcc preprocesses a file for the host and for the device, splits off the host code (cudafe++), compiles the
device code to PTX (cicc), assembles or checks that (ptxas), packs it (fatbinary) and compiles the host code
(g++). A dry run lists the commands. What the host code needs of the device code are the names of its kernels,
which cicc writes early, and the packed code, which a linker can add. So host and device are compiled beside
each other, and a file takes as long as the longer of the two. Where only one compiler may run at once, cicc
writes the names of the kernels and the device code in one step.

Device code is compiled under names that are the same everywhere: common/build/nvcc/fixed_names.py says why.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common.build.nvcc.fixed_names import FixedNames
from common.build.toolchain import SAME_MEMORY
from common.build.unit import Unit, hash_file

STEPS_FOLDER = "steps"
SILENT = ("stubs",)  # steps that say what another says as well
_VARIABLE = re.compile(r"^#\$ ([A-Z_]\w*)=(.*)$")
_USED_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "CICC_PATH")
_OTHER_LINES = ("#$ rm ", "#$ _")
_BY_TOOL = {"cudafe++": "split", "cicc": "stubs", "ptxas": "assemble", "fatbinary": "pack"}
_LISTED = {"preprocess host", "split", "preprocess device", "stubs", "assemble", "pack", "host"}
# In nvcc's order, with what each step waits for.
_WAITS_FOR = {
    "preprocess host": (),
    "split": ("preprocess host",),
    "preprocess device": (),
    "device": ("preprocess device",),
    "assemble": ("device",),
    "pack": ("device",),  # and "assemble", where that writes something
    "stubs": ("preprocess device",),
    "host": ("split", "stubs"),
    "join": ("host", "pack"),
}
_PREPROCESSING = ("preprocess host", "preprocess device")
_UNDER_FIXED_NAMES = ("device", "stubs")
_SYNTAX_FLAG = "--fdevice-syntax-only"  # nvcc's, by which cicc ends when it has written the stubs
_SYNTAX_FLAG_OF_CICC = " --device-syntax-only"
_MODULE_ID_FLAG = " --gen_module_id_file"
_SEPARATE_FLAG = " --device-c"
_DRY_RUN_SECONDS = 60
_CICC = re.compile(r'^"?\$CICC_PATH/cicc"? ')

# In place of what fatbinary writes for the host code: the same, but for the data, which `join` adds.
_PACKED_LATER = """\
#include "fatbinary_section.h"
extern "C" {{
extern const unsigned long long {symbol}[] __attribute__((visibility("hidden")));
static const __fatBinC_Wrapper_t __fatDeviceText __attribute__((aligned(8), section(".nvFatBinSegment"))) = {{
    FATBINC_MAGIC, FATBINC_VERSION, {symbol}, 0}};
}}
"""
_PACKED = """\
.section .nv_fatbin, "a"
.align 8
.globl {symbol}
.hidden {symbol}
{symbol}:
.incbin "{file}"
.section .note.GNU-stack, "", %progbits
"""


@dataclass(frozen=True)
class Step:
    """A command for a shell; `after` names the steps whose files it reads, `true_names` the folders that it
    speaks of by other names."""

    name: str
    command: str
    after: tuple[str, ...]
    true_names: tuple[tuple[str, str], ...] = ()

    def in_true_names(self, said: str) -> str:
        for fixed, true in self.true_names:
            said = said.replace(f"{fixed}/", f"{true}/")
        return said


def steps_of(
    unit: Unit, folder: Path, output: Path, *, one_at_a_time: bool = False, alone: bool = False
) -> list[Step] | None:
    """What `unit`'s command runs to compile it into `output`, with all other files in `folder`, in nvcc's
    order. None where that is not nvcc compiling for one architecture as it is known here: then nvcc itself
    runs the steps. A source that is `alone` in its program compiles to the same code wherever it lies."""
    if "-c" not in unit.command or "-ccbin" not in unit.command:
        return None
    files = folder / STEPS_FOLDER
    files.mkdir()
    host_object, packed = files / "host.o", files / f"{unit.source.stem}.fatbin"
    variables, commands = _listed([*unit.command, "--keep", "--keep-dir", str(files), str(unit.source)])
    known = commands.keys() == _LISTED and _MODULE_ID_FLAG in commands["split"]
    if known and _SEPARATE_FLAG in commands["pack"]:
        return None  # its object has other names, by which device code is linked
    if not known or _SYNTAX_FLAG_OF_CICC not in commands["stubs"] or f'"{packed}"' not in commands["pack"]:
        return None
    if "CICC_PATH" not in variables or not _CICC.match(commands["stubs"]):
        return None
    writes_code = " -o " in commands["assemble"]
    mark = unit.manifest_key()
    symbol = f"packed_{mark[:16]}"
    _write_module_id(unit, files, hash_file(unit.source) if alone else mark)
    (files / f"{packed.name}.c").write_text(_PACKED_LATER.format(symbol=symbol))
    (files / "packed.s").write_text(_PACKED.format(symbol=symbol, file=packed))
    compiler = shlex.quote(unit.command[unit.command.index("-ccbin") + 1])
    joined = (host_object, files / "packed.s")
    names = FixedNames.of(unit.source, commands["preprocess device"], folder.parent, files)
    commands |= {
        "device": _device(unit, commands["stubs"], names, Path(variables["CICC_PATH"]), one_at_a_time),
        "stubs": _elsewhere(commands["stubs"], "-o", "--gen_c_file_name", "--gen_device_file_name"),
        "split": commands["split"].replace(_MODULE_ID_FLAG, ""),
        "pack": re.sub(r'--embedded-fatbin="[^"]*"', "", commands["pack"]),
        "host": re.sub(r'-o "[^"]*"\s*$', f"-o {shlex.quote(str(host_object))}", commands["host"]),
        "join": f"{compiler} -r -nostdlib {shlex.join(map(str, joined))} -o {shlex.quote(str(output))}",
    }
    for name in _PREPROCESSING:
        commands[name] += f" -MD -MF {shlex.quote(str(dependency_file(folder, name)))}"
        if alone:
            commands[name] += f" {shlex.join(names.macros())}"
    commands["preprocess device"] += f" && {names.mark(files / f'{unit.source.stem}.cpp1.ii')}"
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
    waits_for = _WAITS_FOR | ({"host": ("split", "device")} if one_at_a_time else {})
    return [
        Step(
            name,
            f"export {settings} && {commands[name]}",
            (*after, "assemble") if name == "pack" and writes_code else after,
            tuple(names.true.items()) if name in _UNDER_FIXED_NAMES else (),
        )
        for name, after in waits_for.items()
        if not (one_at_a_time and name == "stubs")
    ]


def _device(unit: Unit, stubs: str, names: FixedNames, place: Path, one_at_a_time: bool) -> str:
    """cicc's command for the device code. What it writes for the host goes under another name, which is the
    right one only if no other step writes that."""
    files = names.folder
    command = _elsewhere(stubs.replace(_SYNTAX_FLAG_OF_CICC, ""), "--stub_file_name")
    command = command.replace(f'"{unit.source}"', f'"{names.source(unit.source.name)}"')
    ptx, stub = files / f"{unit.source.stem}.ptx", files / f"{unit.source.stem}.cudafe1.stub.c"
    steps = [names.run(place / "cicc", _CICC.sub("cicc ", command), SAME_MEMORY), names.unmark(ptx)]
    if one_at_a_time:
        steps.append(shlex.join(["mv", f"{stub}.unused", str(stub)]))
    return " && ".join(steps)


def dependency_files(folder: Path) -> list[Path]:
    """What the steps of a unit in `folder` wrote about the headers they read."""
    return [dependency_file(folder, name) for name in _PREPROCESSING]


def dependency_file(folder: Path, name: str) -> Path:
    return folder / f"{name.replace(' ', '-')}.d"


def _listed(command: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The environment and the commands of a dry run, by the names of the steps; no commands where there is
    one that is not known, or two of a kind. Nothing of the source is read."""
    try:
        done = subprocess.run(
            [*command, _SYNTAX_FLAG, "--dryrun"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_DRY_RUN_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}, {}
    variables: dict[str, str] = {}
    commands: dict[str, str] = {}
    for line in done.stderr.splitlines() if done.returncode == 0 else ():
        if found := _VARIABLE.match(line):
            if found[1] in _USED_VARIABLES:
                variables[found[1]] = found[2]
        elif line.startswith("#$ ") and not line.startswith(_OTHER_LINES):
            text = line.removeprefix("#$ ").strip()
            name = _name(text)
            if name is None or name in commands:
                return {}, {}
            commands[name] = text
    return variables, commands


def _name(command: str) -> str | None:
    """Which of the steps a command is, by its tool."""
    tool = command.split()[0].strip('"').rpartition("/")[2]
    if tool in _BY_TOOL:
        return _BY_TOOL[tool]
    if " -E " in command:
        return "preprocess device" if " -D__CUDA_ARCH__=" in command else "preprocess host"
    return "host" if " -c " in command else None


def _elsewhere(command: str, *options: str) -> str:
    """The command with the files of these options renamed: another step writes those."""
    for option in options:
        command = re.sub(rf'( {re.escape(option)} "[^"]*)"', r'\1.unused"', command)
    return command


def _write_module_id(unit: Unit, folder: Path, identity: str) -> None:
    """The name that host and device code have for what is private to this file. cudafe++ would make one up
    for cicc to read, which would then have to wait for it."""
    name = re.sub(r"\W", "_", unit.source.name, flags=re.ASCII)
    mark = hashlib.sha256(identity.encode()).hexdigest()
    text = f"_{mark[:8]}_{len(name)}_{name}_{mark[8:16]}"
    (folder / f"{unit.source.stem}.module_id").write_text(text)
