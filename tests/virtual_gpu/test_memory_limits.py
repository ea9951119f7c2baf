"""Limits on memory count what is really used, in the worker, in the engine and in the parent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from common.build.program import Target, build_program
from common.sandbox.policy import Walls
from common.sandbox.watchdog import Limits
from common.virtual_gpu import memory_share
from common.virtual_gpu.device import VirtualGpu
from common.virtual_gpu.engine import Engine
from common.virtual_gpu.wire import EngineDied, EngineRefused
from common.worker.calls import i32
from common.worker.process import WorkerStopped

MIB = 1 << 20
LONG_NAME = "k" * 60_000
SOURCE = f"""
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <cuda_runtime.h>

// Fills pinned memory that was never allocated, and lets go of each piece: no page of it stays mapped.
extern "C" int fill_pinned(int mebibytes) {{
  void* first = nullptr;
  cudaMallocHost(&first, 4096);
  char* at = static_cast<char*>(first) + (1 << 20);
  for (int i = 0; i < mebibytes; ++i, at += 1 << 20) {{
    memset(at, 1, 1 << 20);
    madvise(at, 1 << 20, MADV_DONTNEED);
  }}
  return 0;
}}

__global__ void prints() {{
  for (int i = 0; i < 200; ++i)
    printf("%d: a line of some length, printed by every thread of every block, again and again\\n", i);
}}
extern "C" int print_without_end() {{
  cudaDeviceSetLimit(cudaLimitPrintfFifoSize, size_t{{1}} << 40);
  prints<<<64, 1024>>>();
  return cudaGetLastError();
}}

extern "C" __global__ void {LONG_NAME}() {{}}
extern "C" int launch_long_names(int count) {{
  for (int i = 0; i < count; ++i) {LONG_NAME}<<<1, 1>>>();
  return cudaGetLastError();
}}
"""


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("memory") / "memory.cu"
    source.write_text(SOURCE)
    return build_program([source], Target.virtual("90"), kind="shared").path


def test_pinned_memory_counts_though_nobody_maps_it(path: Path):
    walls = Walls.virtual(memory_bytes=256 * MIB)
    with VirtualGpu(walls=walls, libraries=[path]) as gpu:
        library = gpu.load(path)
        assert library.call("fill_pinned", i32(16)).ok
        with pytest.raises(WorkerStopped, match="used more than 256 MiB of memory"):
            library.call("fill_pinned", i32(4000))


def peak_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) << 10


def test_a_huge_buffer_for_printf_is_not_filled(path: Path):
    with VirtualGpu(libraries=[path]) as gpu:
        assert gpu.load(path).call("print_without_end").ok
        assert peak_bytes(gpu.pids[0]) < 400 * MIB


def test_long_names_make_no_long_report(path: Path):
    with VirtualGpu(libraries=[path]) as gpu:
        assert gpu.load(path).call("launch_long_names", i32(2000)).ok
        text = gpu.harness.report()
        assert len(text) < 32 * MIB
        assert gpu.launches[0].kernel.startswith("kkkk")
        assert len(gpu.launches[0].kernel) < 4096


def reports_without_end(engine: Engine) -> None:
    while True:
        engine.report()


def test_an_engine_that_takes_too_much_for_itself_is_ended():
    with Engine(memory_bytes=256 * MIB) as engine:
        watchdog = engine._watchdog
        assert watchdog is not None
        watchdog._limits = Limits(memory_bytes=MIB)  # less than it has by now
        with pytest.raises(EngineDied, match="used more than 1 MiB of memory and was ended"):
            reports_without_end(engine)


@pytest.mark.parametrize(("at_once", "devices"), [(1, 2), (2, 1), (2, 2), (16, 2)])
def test_devices_at_once_are_offered_no_more_than_the_machine_has(at_once: int, devices: int, monkeypatch):
    """By gradings that run at once, and by a submission's device beside the baseline's."""
    available = 40 << 30
    monkeypatch.setattr(memory_share, "available_bytes", lambda: available)
    monkeypatch.setenv(memory_share.AT_ONCE, str(at_once))
    offered = memory_share.memory_share("h200", devices)
    assert at_once * devices * offered <= 0.6 * available
    assert at_once * devices * (offered + MIB) > 0.6 * available, "and no less than its share"


def test_two_devices_of_two_gradings_give_together_what_one_alone_would(path: Path, monkeypatch):
    monkeypatch.setattr(memory_share, "available_bytes", lambda: 2 << 30)
    monkeypatch.setenv(memory_share.AT_ONCE, "2")
    offered = memory_share.memory_share("h200", 1)
    assert 2 * offered <= 2 << 30
    one, other = (VirtualGpu(walls=Walls.virtual(), libraries=[path]) for _ in range(2))
    with one, other:
        for gpu in (one, other):
            gpu.harness.free(gpu.harness.allocate("all but a little", offered - 16 * MIB, 256))
            with pytest.raises(EngineRefused, match="memory"):
                gpu.harness.allocate("more", offered + 16 * MIB, 256)
