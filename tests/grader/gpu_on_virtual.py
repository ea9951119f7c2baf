"""The harness's GPU half on the virtual GPU: workers and the trusted library are real, torch's memory is not.

Device memory of this process is host memory here, and workers get at it by copies, as they do where a
driver cannot share it. Times are the virtual GPU's.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch

from common.build.program import Target, build_program
from common.gpu import support
from common.gpu.clocks import Clocks
from common.gpu.devices import Gpu
from common.sandbox.policy import Walls
from common.virtual_gpu import engine
from common.virtual_gpu.engine import Engine
from common.worker.process import Worker
from grader.building.build import build
from grader.building.libraries import Libraries
from grader.devices.device import GpuDevice, VirtualDevice
from grader.devices.on_gpu import arena, timed
from grader.devices.on_gpu import session as gpu
from grader.devices.on_gpu.memory import Copied
from grader.devices.on_gpu.session import GpuSession
from grader.devices.on_gpu.timed import Timing, TorchCall
from grader.records.record import Speed
from grader.spec import Exercise, Size
from grader.timing.measured import comparison, interleaved
from grader.timing.measured import measure as speed_gpu

_addresses = itertools.count(1 << 32, 1 << 32)
_CHECKS = {"init": False, "race": False}
TORCH_SECONDS = 40e-6  # what a call of a library is said to take


def support_library() -> Path:
    return build_program([support.SOURCE], Target.virtual("90"), kind="shared").path


def small_cache(folder: Path) -> Path:
    """Profiles with an L2 cache of 1 MB: to flush a real one before every cold call would take most of the
    time here."""
    profiles = json.loads(engine.PROFILES.read_text())
    for profile in profiles["profiles"].values():
        profile["l2_bytes"] = 1 << 20
    path = folder / "profiles.json"
    path.write_text(json.dumps(profiles))
    return path


class HostBuffer:
    """In place of memory that is shared with a worker."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor.clone()
        self.address = next(_addresses)
        self.bytes = max(1, tensor.numel() * tensor.element_size())

    def tensor(self) -> torch.Tensor:
        return self._tensor

    def write(self, tensor: torch.Tensor) -> None:
        self._tensor.copy_(tensor)

    def read_bytes(self) -> bytes:
        return self._tensor.view(torch.uint8).numpy().tobytes()

    def write_bytes(self, data: bytes) -> None:
        self._tensor.view(-1).view(torch.uint8).copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))

    def free(self) -> None:
        pass


class EngineSession(GpuSession):
    """A session whose worker is connected to an engine."""

    def __init__(self, library: Path) -> None:
        super().__init__(library)
        self._memory = Copied()
        self._engine: Engine | None = None

    def close(self) -> None:
        super().close()
        if self._engine is not None:
            self._engine.close()
        self._engine = None

    def _load(self) -> Worker:
        self._engine = Engine(options=_CHECKS)
        libraries = [support_library(), self._path]
        worker = Worker(
            self._engine.program, Walls.virtual(), libraries, self._engine.runtime, self._memory.descriptors
        )
        self._support, self._library = (worker.load(path) for path in libraries)
        return worker


class GpuOnVirtual(GpuDevice):
    """A GPU that is none: what is built for it is built for the engine."""

    def __init__(self) -> None:
        self._gpu = Gpu("NVIDIA H200", "90", "none")
        self._virtual = VirtualDevice()

    def compile(
        self, source: Path, scratch: Path, defines: Sequence[str] = (), *, arch: str | None = None
    ) -> Libraries:
        built = self.virtual.compile(source, scratch, defines, arch=arch)
        return dataclasses.replace(built, on_gpu=built.on_virtual)

    def session(self, program: Libraries) -> GpuSession:
        return EngineSession(program.gpu_library)


class HostGraph(TorchCall):
    """In place of a graph that torch captures."""

    def __init__(
        self,
        function: Callable[[Size, Mapping[str, torch.Tensor]], None],
        size: Size,
        count: int,
        where: arena.Arena,
    ) -> None:
        super().__init__(function, size, where)
        self._sets = [where.views(where.now(), number) for number in range(count)]

    def time(self) -> Timing:
        for buffers in self._sets:
            self._function(self._size, buffers)
        return Timing(TORCH_SECONDS * len(self._sets), TORCH_SECONDS * len(self._sets))


@pytest.fixture
def gpu_on_virtual(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Everything that needs a CUDA device has something here that does not."""
    monkeypatch.setattr(engine, "PROFILES", small_cache(tmp_path_factory.mktemp("device")))
    monkeypatch.setattr(arena, "WHERE", "cpu")
    for module in (arena, gpu):
        monkeypatch.setattr(module, "SharedBuffer", HostBuffer)
    monkeypatch.setattr(gpu, "library_path", support_library)
    monkeypatch.setattr(gpu, "changed_code", lambda pid, names: "")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(timed, "begin_timing", lambda: None)
    monkeypatch.setattr(timed, "end_timing", lambda: TORCH_SECONDS)
    monkeypatch.setattr(comparison, "TorchGraph", HostGraph)
    monkeypatch.setattr(speed_gpu, "GpuSession", EngineSession)
    monkeypatch.setattr(speed_gpu, "exclusive", nullcontext)
    monkeypatch.setattr(speed_gpu, "read_clocks", Clocks)
    monkeypatch.setattr(speed_gpu, "time_copy", lambda size: size / 2e12)
    monkeypatch.setattr(speed_gpu, "time_nothing", lambda: 2e-6)
    monkeypatch.setattr(speed_gpu, "time_empty_graph", lambda calls: calls * 0.5e-6)
    # Here the device's time is modelled and the host's is not: they have nothing to say about each other.
    monkeypatch.setattr(speed_gpu, "fits_clock", lambda base, mine: "")
    monkeypatch.setattr(speed_gpu, "fits_clock_alone", lambda mine: "")


@pytest.fixture
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few as the statistics can do with: what is tested is what becomes of them."""
    monkeypatch.setattr(speed_gpu, "PAIRS", 2)
    monkeypatch.setattr(interleaved, "_HOST_TURNS", 1)
    monkeypatch.setattr(interleaved, "_BATCHES", 1)
    monkeypatch.setattr(interleaved, "_TIMES_IN_A_BATCH", 2)


def library(source: Path) -> Path:
    built = build(source, Target.virtual("90"))
    assert built.library is not None, built.message
    return built.library


def measured(source: Path, exercise: Exercise) -> Speed:
    ours = EngineSession(library(source))
    return speed_gpu.measure(exercise, library(exercise.baseline), ours, "secret")
