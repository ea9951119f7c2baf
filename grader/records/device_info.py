"""The device that a record was made on."""

from __future__ import annotations

import re
from dataclasses import dataclass

VIRTUAL, GPU = "virtual", "gpu"
KINDS = (VIRTUAL, GPU)


@dataclass
class DeviceInfo:
    """`kind` is one of KINDS; `name` the card, or the profile that the virtual GPU models."""

    kind: str
    name: str
    driver: str = ""
    compiler: str = ""

    @property
    def modelled(self) -> bool:
        """Whether times are the cost model's, and not measured. Kinds are compared here and nowhere else."""
        return self.kind == VIRTUAL

    @property
    def file_stem(self) -> str:
        """For names of files: "nvidia-h200"; "virtual-h200" for the profile h200."""
        plain = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")
        return f"virtual-{plain}" if self.modelled else plain or GPU

    def __str__(self) -> str:
        """ "virtual GPU (h200)", "NVIDIA H200"; without a name, any of the kind."""
        if self.modelled:
            return f"virtual GPU ({self.name})" if self.name else "the virtual GPU"
        return self.name or "a GPU"
