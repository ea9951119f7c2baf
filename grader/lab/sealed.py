"""A lab's key as students get it: it tells whether all answers about a kernel are right, and nothing else.

The student bundle has it as `sealed.json` beside the lab's kernels: for each kernel a salt, and the digests
of every right combination of fault, line and evidence. A digest takes a good part of a second, so that trying
all combinations for one kernel takes longer than finding the fault.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

from common.core.errors import CourseError
from grader.lab.lab import FaultLab
from grader.lab.sheet import read_key

FIELDS = ("fault", "line", "evidence")
# scrypt's: 16 MiB, and some 0.2 s on a small machine.
_COST, _BLOCK, _TIMES = 1 << 14, 8, 4


def sealed_key(lab: FaultLab) -> Path:
    return lab.folder / "sealed.json"


def seal(lab: FaultLab) -> str:
    """The text of a sealed key, with salts of its own."""
    key = read_key(lab)
    kernels = {}
    for kernel in lab.kernels:
        salt = secrets.token_hex(16)
        right = product(*(key[f"{kernel}.{field}"].credits for field in FIELDS))
        kernels[kernel] = {"salt": salt, "digests": sorted(_digest(salt, answers) for answers in right)}
    return json.dumps(kernels, indent=1) + "\n"


def compare(lab: FaultLab, answers: Mapping[str, Any]) -> dict[str, str]:
    """By kernel: "right", "not yet" where an answer is wrong, or which answers are missing."""
    path = sealed_key(lab)
    try:
        sealed = json.loads(path.read_text())
        return {kernel: _compared(sealed[kernel], answers.get(kernel)) for kernel in lab.kernels}
    except (OSError, ValueError, LookupError, TypeError) as problem:
        raise CourseError(
            f"{path} cannot be read: answers are compared with it, or with the key beside the solutions. "
            "Copy it from the folder that your course handed out."
        ) from problem


def _compared(sealed: Mapping[str, Any], given: object) -> str:
    entry = given if isinstance(given, Mapping) else {}
    missing = [field for field in FIELDS if not entry.get(field)]
    if missing:
        return f"still to do: {', '.join(missing)}"
    digest = _digest(sealed["salt"], tuple(entry[field] for field in FIELDS))
    return "right" if digest in sealed["digests"] else "not yet: fault, line or evidence is wrong"


def _digest(salt: str, answers: tuple[Any, ...]) -> str:
    words = "\n".join(str(answer).strip() for answer in answers).encode()
    return hashlib.scrypt(words, salt=bytes.fromhex(salt), n=_COST, r=_BLOCK, p=_TIMES).hex()
