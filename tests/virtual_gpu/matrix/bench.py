"""How long each tensor-core operation takes: python -m tests.virtual_gpu.matrix.bench [PART OF THE NAME]"""

from __future__ import annotations

import re
import sys

import numpy as np

from tests.virtual_gpu.matrix.library import BUILDS, SLOT_BYTES, build

REPEATS, ATTEMPTS = 2000, 15


def main(wanted: str) -> None:
    for variant in BUILDS:
        library = build(variant)
        for name, signature in library.forms().items():
            if wanted not in name:
                continue
            slots = sum(int(count) for count in re.findall(r"x(\d+)", signature)) or len(signature.split())
            file = np.zeros((slots, SLOT_BYTES), np.uint8)
            best = min(library.run_in_place(name, file, range(slots), REPEATS) for _ in range(ATTEMPTS))
            print(f"{variant:9} {best / REPEATS * 1e9:7.0f} ns  {name}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
