"""NVIDIA's own assembler as a judge of which forms exist."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.virtual_gpu.ops.grammar import Form

_REGISTERS = {"8": "%c", "16": "%h", "32": "%r", "64": "%l", "p": "%p"}
_HEADER = """\
.version 9.0
.target sm_90
.address_size 64
.visible .entry forms() {
.reg .b8 %c<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %l<9>; .reg .pred %p<9>;
"""


def instruction(form: Form) -> str:
    """The form as PTX text, on registers of the widths its signature names."""
    name, signature = form
    opcode = name.partition("#")[0]
    operands = []
    for place, token in enumerate(signature.split()):
        if token.endswith("c"):
            continue  # the carry is not written
        width, _, count = token.partition("x")
        if token == "#":
            operands.append("0x96")
        elif token == "p|p":
            operands.append("%p0|%p8")
        elif count:
            elements = [f"{_REGISTERS[width]}{place + k}" for k in range(int(count))]
            operands.append("{" + ",".join(elements) + "}")
        else:
            operands.append(f"{_REGISTERS[width]}{place}")
    if ".bf16" in opcode and (small := re.search(r"\.[us]8", opcode)):
        # Only a register of exactly 8 bits will do; the tables keep it in a 16-bit slot.
        operands[0 if small.start() < opcode.index(".bf16") else 1] = "%c0"
    return f"{opcode} {', '.join(operands)};"


def refused(ptxas: Path, forms: Sequence[Form], folder: Path) -> dict[str, str]:
    """What the assembler says against each instruction that it does not take."""
    lines = [instruction(form) for form in forms]
    source = folder / "forms.ptx"
    source.write_text(_HEADER + "\n".join(lines) + "\nret;\n}\n")
    command = [str(ptxas), "-arch=sm_90", "-O0", "-o", str(folder / "forms.cubin"), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    first = _HEADER.count("\n") + 1
    found = re.findall(r"line (\d+);\s*(.*)", done.stdout + done.stderr)
    complaints = {lines[int(line) - first]: text for line, text in found if "fatal" not in text}
    assert done.returncode == 0 or complaints, done.stderr
    return complaints
