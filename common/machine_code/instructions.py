"""Machine code of compute capability 8.0 to 9.0: 16 bytes per instruction, with its scheduling inside.

ptxas decides when an instruction may issue, and writes that beside it: how many cycles the warp stalls at
least before its next one.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

SIZE = 16
_OPCODE = 0xFFF
_NEVER = 15  # as a predicate
BRANCHES = frozenset({0x547, 0x947})
CALLS = frozenset({0x944})
# What an instruction does to memory, by the lowest 12 bits; anything else does nothing to it.
_MEMORY = {
    "load": {0x380, 0x980, 0x381, 0x981},
    "store": {0x385, 0x985, 0x386, 0x986},
    "update": {0x98A, 0x98E, 0x9A2, 0x9A3, 0x9A6, 0x3A8, 0x9A8, 0x3A9, 0x9A9},
    "copy": {0xFAE},  # from global to shared memory
    "shared load": {0x984, 0x83B},
    "shared store": {0x388, 0x988, 0x844},
}
_MEMORY_OF = {opcode: name for name, opcodes in _MEMORY.items() for opcode in opcodes}


@dataclass(frozen=True)
class Instruction:
    at: int  # byte offset in the kernel
    line: int  # of the PTX
    stall: int  # cycles
    memory: str  # a name from the table above, or ""
    target: int  # where a branch or a call goes, or -1
    calls: bool = False


def decode(code: bytes, lines: dict[int, int]) -> list[Instruction]:
    out = []
    line = 0
    for at in range(0, len(code) - SIZE + 1, SIZE):
        low, high = struct.unpack_from("<QQ", code, at)
        line = lines.get(at, line)
        opcode = low & _OPCODE
        target = -1
        if opcode in BRANCHES | CALLS:
            # A signed count of 4-byte steps from the next instruction: bits 16 to 23, then 34 to 81.
            steps = low >> 16 & 0xFF | low >> 34 << 8 | (high & 0x3FFFF) << 38
            steps -= steps >> 55 << 56
            target = at + SIZE + 4 * steps
        # Loads that no lane may run (their predicate is "not true") only order memory.
        memory = "" if low >> 12 & 15 == _NEVER else _MEMORY_OF.get(opcode, "")
        out.append(
            Instruction(at, line, stall=high >> 41 & 15, memory=memory, target=target, calls=opcode in CALLS)
        )
    return out
