"""The virtual GPU from Python: named tensors, libraries in a worker process, reports as data."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from common.build.program import Target, build_program
from common.core.errors import CourseError
from common.virtual_gpu.device import Library, VirtualGpu
from common.virtual_gpu.places import shown_path
from common.virtual_gpu.render import render_finding, render_report
from common.virtual_gpu.report import Finding, Leak, Place, Report
from common.virtual_gpu.tensor import mark_initialised
from common.virtual_gpu.wire import EngineDied, EngineRefused
from common.worker.calls import Number, f32, i32, i64, stream
from common.worker.process import WorkerDied, WorkerTimeout
from tests.waiting import LONG, wait_until

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).parent / "api" / "library" / "entries.cu"


@pytest.fixture(scope="module")
def path() -> Path:
    return build_program([SOURCE], Target.virtual(), kind="shared").path


@pytest.fixture
def gpu() -> Iterator[VirtualGpu]:
    with VirtualGpu() as gpu:
        yield gpu


@pytest.fixture
def library(gpu: VirtualGpu, path: Path) -> Library:
    return gpu.load(path)


def gone(pid: int) -> bool:
    return wait_until(lambda: not Path(f"/proc/{pid}/exe").exists())


def test_an_entry_point_works_on_named_tensors(gpu, library):
    values = np.linspace(-1, 1, 1000, dtype=np.float32)
    x, y = gpu.from_numpy("x", values), gpu.tensor("y", (1000,), "float32")
    y.poison()
    result = library.call("scale", x, y, i32(1000), f32(3.0), stream)
    assert (result.returned, result.error, result.ok) == (0, "cudaSuccess", True)
    assert np.array_equal(y.numpy(), values * np.float32(3))
    assert np.array_equal(x.numpy(), values)
    assert torch.equal(y.torch(), torch.from_numpy(values) * 3)
    (launch,) = gpu.launches
    assert launch.grid == (8, 1, 1)
    assert launch.counters.global_store_bytes == 4000
    assert gpu.findings == ()
    gpu.reset()
    assert gpu.launches == ()


def test_an_access_past_a_tensor_names_it(gpu, library):
    gpu.tensor("before", (100,), "int32")
    tensor = gpu.tensor("scores", (100,), "int32")
    after = gpu.tensor("after", (100,), "int32", fill=5)
    library.call("fill", tensor, i64(101))
    (finding,) = gpu.findings
    assert (finding.kind, finding.allocation) == ("memory", "scores")
    assert Path(finding.file).name == "entries.cu"
    assert (after.numpy() == 5).all()


def test_memory_counts_as_written_only_when_the_harness_says_so(gpu, library):
    blank, out = gpu.tensor("blank", (64,), "float32"), gpu.tensor("out", (64,), "float32")
    blank.numpy()[:] = 1
    library.call("scale", blank, out, i32(64), f32(1), stream)
    assert {finding.kind for finding in gpu.findings} == {"init"}
    gpu.reset()
    blank.mark_initialised()
    library.call("scale", blank, out, i32(64), f32(1), stream)
    assert gpu.findings == ()


def test_a_poisoned_tensor_is_poisoned_whole_and_alone(gpu):
    before, after = gpu.tensor("before", (3,), fill=1), gpu.tensor("after", (3,), fill=2)
    tensor = gpu.tensor("scratch", ((5 << 18) + 3,))  # more than is written at once, and no whole pages
    beside = gpu.tensor("beside", (3,), fill=3)
    tensor.poison()
    assert (tensor.numpy().view(np.uint8) == 0xFF).all()
    assert [float(one.numpy().sum()) for one in (before, after, beside)] == [3, 6, 9]


def test_many_tensors_are_marked_as_written_at_once(gpu, library):
    blanks = [gpu.tensor(f"blank {number}", (64,), "float32") for number in range(100)]
    out = gpu.tensor("out", (64,), "float32", fill=0)
    mark_initialised(blanks)
    for blank in (blanks[0], blanks[-1]):
        library.call("scale", blank, out, i32(64), f32(1), stream)
    assert gpu.findings == ()
    blanks[1].free()
    with pytest.raises(EngineRefused):
        mark_initialised(blanks)
    assert gpu.report().launches  # and all of the answers have been read


def test_a_pointer_into_a_tensor_is_a_tensor_plus_bytes(gpu, library):
    x = gpu.tensor("x", (8,), "int32", fill=-1)
    assert library.call("fill", x + 16, i64(2)).ok
    assert x.numpy().tolist() == [-1, -1, -1, -1, 0, 1, -1, -1]


def test_torch_tensors_of_every_type_go_there_and_back(gpu):
    for name in ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int64", "bool"):
        dtype = getattr(torch, name)
        source = torch.arange(12).reshape(3, 4).t().to(dtype)  # not contiguous
        tensor = gpu.from_torch(name, source)
        assert tensor.shape == (4, 3)
        assert torch.equal(tensor.torch(), source)
    assert gpu.tensor("b", (2,), "bfloat16", fill=1.5).numpy().tolist() == [0x3FC0, 0x3FC0]


def test_views_outlive_the_device(path):
    with VirtualGpu() as gpu:
        x = gpu.tensor("x", (4,), "int32", fill=3)
        gpu.load(path).call("fill", x, i64(4))
        view = x.numpy()
    assert view.tolist() == [0, 1, 2, 3]
    with pytest.raises(EngineDied):
        gpu.tensor("y", (4,))


def test_every_c_type_arrives_as_it_was_given(library):
    wrapped = [Number("i8", -1), Number("u8", 255), Number("i16", -2), Number("u16", 65535), i32(-3)]
    wrapped += [Number("u32", 2**32 - 1), i64(-(2**40)), Number("u64", 2**63), f32(1.5), Number("f64", -0.1)]
    assert library.call("add_up", *wrapped).returned == 0
    bare = [number.value for number in wrapped]
    names = [number.type for number in wrapped]
    assert library.call("add_up", *bare, argtypes=names).returned == 0


def test_arguments_that_do_not_fit_are_refused_by_name(gpu, library):
    x = gpu.tensor("x", (4,), "int32")
    with pytest.raises(TypeError, match="fill: argument 2 is a bare 4: wrap it"):
        library.call("fill", x, 4)
    with pytest.raises(ValueError, match="argument 2: 2147483648 does not fit i32"):
        library.call("fill", x, i32(2**31))
    with pytest.raises(TypeError, match="argument 1 is pointer, but argtypes says f32"):
        library.call("fill", x, 4, argtypes=["f32", "i64"])
    with pytest.raises(TypeError, match="there is no type 'int'"):
        library.call("fill", x, 4, argtypes=["pointer", "int"])
    with pytest.raises(TypeError, match="2 arguments were given for 1"):
        library.call("fill", x, 4, argtypes=["pointer"])
    with pytest.raises(TypeError, match="argument 1 is a list"):
        library.call("fill", [1], i64(4))
    with pytest.raises(TypeError, match="not a whole number"):
        library.call("fill", x, Number("i64", 1.5))


def test_an_error_that_the_entry_point_returns_has_its_name(library):
    result = library.call("refuse")
    assert (result.returned, result.error, result.ok) == (1, "cudaErrorInvalidValue", False)


def test_missing_libraries_and_entry_points_are_sentences(gpu, library, tmp_path):
    with pytest.raises(CourseError, match="there is no entry point nothing"):
        library.call("nothing")
    with pytest.raises(CourseError, match="missing.so could not be loaded"):
        gpu.load(tmp_path / "missing.so")
    assert library.call("refuse").returned == 1  # the worker is still there


@pytest.mark.parametrize(("entry", "ending"), [("crash", "SIGABRT"), ("leave", "status 9")])
def test_a_worker_that_dies_says_how(gpu, library, entry, ending):
    x = gpu.tensor("x", (4,), "int32", fill=7)
    with pytest.raises(WorkerDied, match=ending) as caught:
        library.call(entry)
    assert caught.value.ending == ending
    with pytest.raises(WorkerDied):
        library.call("refuse")
    assert x.numpy().tolist() == [7, 7, 7, 7]
    assert gpu.report().findings == ()


def test_a_worker_that_hangs_is_killed_in_time(gpu, library):
    started = time.monotonic()
    with pytest.raises(WorkerTimeout, match="hang did not return within 0.5 s"):
        library.call("hang", timeout=0.5)
    assert time.monotonic() - started < LONG


@pytest.mark.xfail(platform.machine() == "aarch64", reason="on ARM the line is the next one", strict=True)
def test_host_code_cannot_read_device_memory(gpu, library):
    x = gpu.tensor("secret", (4,), "int32", fill=7)
    with pytest.raises(WorkerDied, match="SIGSEGV"):
        library.call("touch", x)
    (finding,) = gpu.findings
    assert (finding.kind, finding.allocation) == ("host", "secret")
    assert Path(finding.file).name == "entries.cu"
    assert "*device;" in SOURCE.read_text().splitlines()[finding.line - 1]


def test_what_a_library_prints_is_kept_apart(gpu, library):
    library.call("say", i32(2))
    assert gpu.output == "line 0 of what a library prints\nline 1 of what a library prints\n"


def test_endless_output_neither_hangs_nor_fills_the_disk(gpu, library):
    library.call("say", i32(3_000_000))
    assert len(gpu.output) == 1 << 20


def test_memory_that_nobody_touches_is_not_counted(gpu):
    """It has addresses of its own, and takes nothing of the machine's memory."""
    rows, apart = 3, 1 << 34  # bytes: together 32 GiB, more than this device has
    tensor = gpu.tensor("far", ((rows - 1) * apart + 64,), "uint8", unused=(rows - 1) * (apart - 64))
    tensor.numpy()[apart : apart + 64] = 7
    assert int(tensor.numpy()[apart + 63]) == 7
    assert int(tensor.numpy()[2 * apart + 63]) == 0
    tensor.free()


def test_too_large_a_tensor_and_unknown_options_are_sentences(gpu):
    with pytest.raises(EngineRefused, match="out of device memory"):
        gpu.tensor("huge", (1 << 45,))
    with pytest.raises(ValueError, match="no elements"):
        gpu.tensor("empty", (0, 4))
    with pytest.raises(TypeError, match="is not an element type"):
        gpu.tensor("odd", (4,), "float17")
    with pytest.raises(EngineRefused, match="bogus"):
        gpu.set_option("bogus", True)
    with pytest.raises(CourseError, match="no device profile"):
        VirtualGpu(profile="bogus")


def test_a_check_can_be_turned_off(path):
    with VirtualGpu(options={"init": False}) as gpu:
        blank, out = gpu.tensor("blank", (64,)), gpu.tensor("out", (64,))
        gpu.load(path).call("scale", blank, out, i32(64), f32(1), stream)
        assert gpu.findings == ()


def test_when_the_engine_is_killed_calls_say_so(gpu, library):
    os.kill(gpu._engine.pid, signal.SIGKILL)
    with pytest.raises(EngineDied, match="SIGKILL"):
        gpu.report()


def test_when_python_is_killed_worker_and_engine_go_too(path):
    script = (
        "import sys\n"
        "from common.virtual_gpu.device import VirtualGpu\n"
        "gpu = VirtualGpu()\n"
        "library = gpu.load(sys.argv[1])\n"
        "print(gpu._engine.pid, gpu._worker._process.pid, flush=True)\n"
        "library.call('hang')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        time.sleep(0.2)  # into the call
        parent.kill()
    assert len(pids) == 2
    assert all(gone(pid) for pid in pids)


RACE = Finding(
    kind="race",
    message="thread (0,1,0) reads stage[512] while thread (0,0,0) still writes it",
    advice="A thread may read what others copied only after a barrier: __syncthreads() between the wait and "
    "this line.",
    place=(Place("kernel.cu", 41),),
    other=(Place("kernel.cu", 33),),
    block=(7, 0, 0),
    thread=(0, 1, 0),
    count=96,
)


def test_a_finding_reads_as_a_sentence_with_its_line():
    assert render_finding(RACE, width=90) == (
        "race    kernel.cu:41   thread (0,1,0) reads stage[512] while thread (0,0,0) still writes\n"
        "        it (kernel.cu:33)\n"
        "        block (7,0,0), 96 times. A thread may read what others copied only after a\n"
        "        barrier: __syncthreads() between the wait and this line.\n"
    )


def test_an_inlined_line_is_shown_with_where_it_was_called():
    chain = (Place("cp_async.cuh", 12, "copy"), Place("kernel.cu", 41))
    inlined = replace(RACE, place=chain, kernel="k(int*)")
    text = render_finding(inlined)
    assert text.startswith("race    cp_async.cuh:12   thread")
    assert "kernel k, block (7,0,0), 96 times. Inlined at kernel.cu:41." in text


def test_both_sides_of_a_race_have_their_own_chain():
    chain = (Place("cp_async.cuh", 12, "copy"), Place("kernel.cu", 41))
    other = (Place("tile.cuh", 7, "read"), Place("kernel.cu", 52))
    text = render_finding(replace(RACE, place=chain, other=other), width=200)
    assert "Inlined at kernel.cu:41. The other access was inlined at kernel.cu:52." in text


def test_a_report_ends_with_its_leaks():
    leak = Leak("cudaMalloc #1", 0, 64, "cudaMalloc #1 was never freed.", (Place("main.cu", 22),))
    text = render_report(Report(findings=(RACE,), leaks=(leak,)))
    assert text.endswith("leak    main.cu:22   cudaMalloc #1 was never freed. (64 bytes)\n")
    assert render_report(Report()) == ""


def test_paths_below_the_folder_are_shown_relative_to_it(tmp_path):
    assert shown_path(str(tmp_path / "a" / "kernel.cu"), tmp_path) == "a/kernel.cu"
    assert shown_path("/usr/include/cuda_fp16.hpp", tmp_path) == "/usr/include/cuda_fp16.hpp"
    assert shown_path("kernel.cu", tmp_path) == "kernel.cu"
