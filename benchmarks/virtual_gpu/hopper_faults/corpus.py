"""The faulty programs of this folder, for sm_90a, with the markers of benchmarks/virtual_gpu/faults."""

from pathlib import Path

from benchmarks import DATA
from benchmarks.virtual_gpu.faults.corpus import Fault, read_fault

FOLDER = Path(__file__).resolve().parent
RECORD = DATA / "virtual_gpu" / "sanitizer_hopper_h200.json"


def hopper_faults() -> list[Fault]:
    return [read_fault(path) for path in sorted(FOLDER.glob("*.cu"))]
