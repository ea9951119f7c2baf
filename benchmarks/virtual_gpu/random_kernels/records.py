"""What a GPU answered to random kernels: a digest for each, by number, and the digest of each file's source.

Every file holds KERNELS_PER_FILE kernels. A file whose source differs from the one that was recorded is not
comparable: the generator has changed, and the record must be made again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import DATA
from benchmarks.virtual_gpu.random_kernels.kernels import KERNELS_PER_FILE, SUPPORT, file_text

RECORD = DATA / "virtual_gpu" / "random_kernels_h200.json"


@dataclass(frozen=True)
class KernelFile:
    """The file with this place in the series of a seed."""

    seed: int
    place: int

    @property
    def numbers(self) -> range:
        return range(self.place * KERNELS_PER_FILE, (self.place + 1) * KERNELS_PER_FILE)

    @property
    def text(self) -> str:
        return file_text(self.seed, self.numbers)

    @property
    def digest(self) -> str:
        return hashlib.sha256((SUPPORT.read_text() + self.text).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Record:
    """`files` has, for each place, the digest of the source and the digests of the kernels in order."""

    seed: int
    files: Sequence[tuple[str, Sequence[str]]]
    machine: Mapping[str, str]

    def expected(self, file: KernelFile) -> Sequence[str]:
        """The digests of a file's kernels."""
        if file.seed != self.seed or file.place >= len(self.files):
            raise ValueError(f"the record has seed {self.seed} and {len(self.files)} files, not {file}")
        source, digests = self.files[file.place]
        if source != file.digest:
            raise ValueError(
                f"file {file.place} of seed {file.seed} is not the one that was recorded: the generator has "
                "changed. Record it again: python -m benchmarks.virtual_gpu.random_kernels --device gpu"
            )
        return digests


def read_record(path: Path = RECORD) -> Record:
    document = json.loads(path.read_text())
    files = [(one["source"], one["kernels"].split()) for one in document["files"]]
    return Record(document["seed"], files, document["machine"])


def write_record(record: Record, path: Path = RECORD) -> None:
    files = [{"source": source, "kernels": " ".join(digests)} for source, digests in record.files]
    document = {"machine": record.machine, "seed": record.seed, "files": files}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def printed_digests(file: KernelFile, stdout: str) -> list[str]:
    """One for each kernel, in order; raises ValueError where the program printed something else."""
    pairs = [line.split() for line in stdout.splitlines()]
    if [pair[0] for pair in pairs] != [str(number) for number in file.numbers]:
        raise ValueError(f"file {file.place} did not run to its end: {stdout[-300:]!r}")
    return [pair[1] for pair in pairs]
