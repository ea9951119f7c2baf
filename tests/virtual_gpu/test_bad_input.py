"""Whatever a student sends in: a clear error within seconds, and nothing left behind."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from common.build.toolchain import find_ninja
from tests.virtual_gpu.engine_client import PTX, EngineProcess
from tests.virtual_gpu.hostile.runner import answers, line_of, nothing_left_behind, run

ROOT = Path(__file__).resolve().parents[2]
INVALID_PTX, NOT_SUPPORTED = 218, 801


@pytest.fixture(autouse=True)
def clean(tmp_path: Path) -> Iterator[None]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with nothing_left_behind(scratch):
        yield


# ---- PTX ----

HEADER = """.version 8.8
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)
{
  .reg .pred %p<9>;
  .reg .b16 %h<9>;
  .reg .b32 %r<9>;
  .reg .f32 %f<9>;
  .reg .b64 %d<9>;
  .shared .align 128 .b8 box[256];
"""
LINE = HEADER.count("\n") + 1

# Not implemented, or no such form: refused at the launch, by name.
REFUSED = """
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [box], 32;
wgmma.hurry.sync.aligned;
mbarrier.forget.shared::cta.b64 [box], 32;
mbarrier.init.shared::cta.b64 [box];
cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [box], [%d1, {%r1, %r2}], [box];
frobnicate.u32 %r1, %r1, 3;
add.sparkly.u32 %r1, %r1, 3;
add.u77 %r1, %r1, 3;
add.u32 %r1, %r1;
add.u32 %r1, %r1, 1, 2, 3;
add.u64 %d1, %d1, %r1;
add.u32 %r1, %r1, %d1;
add.u32 %d1, %r1, %r1;
add.u32 %r1, %r1, %p1;
add.f32 %f1, %f1, %h1;
add.u32 5, %r1, %r2;
add.u32 %r1, [%d1], %r2;
add.u32 %r1, {%r1,%r2}, %r2;
mov.u32 %r1, %h1;
mov.b64 %d1, {%r1, %h1};
mov.b64 %d1, {%r1, %r2, %r3};
ld.global.v2.u32 {%r1,%r2,%r3}, [%d5];
ld.global.u32 %r1, [%p2];
ld.global.u32 %r1, %d2;
ld.global.u64 %r1, [%d2];
st.shared.u64 [box], %r1;
st.shared.v2.u32 [box], %r1;
st.const.u32 [a], %r1;
mma.sync.aligned.m7n7k7.row.col.f32.f16.f16.f32 {%f1,%f2}, {%r1,%r2}, {%r1}, {%f1,%f2};
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1,%f2,%f3}, {%r1,%r2}, {%r1}, {%f1,%f2,%f3,%f4};
ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2}, [box];
shfl.sync.sideways.b32 %r1, %r1, 1, 31, -1;
bar.sync 1, 2, 3, 4;
atom.global.add.u16 %h1, [%d1], %h2;
atom.global.cas.b32 %r1, [%d1], %r2;
cp.async.cg.shared.global [box], [%d1], 4;
cp.async.wait_group %r1;
lop3.b32 %r1, %r1, %r2, %r3, %r4;
cvt.u32.f32 %r1, %f1;
setp.lt.u32 %r1, %r1, %r2;
selp.b32 %r1, %r1, %r2, %r3;
div.f32 %f1, %f1, %f2;
redux.sync.add.f32 %f1, %f1, -1;
multimem.ld_reduce.global.add.u32 %r1, [%d1];
""".split("\n")[1:-1]

# Not PTX at all: the module does not load.
MALFORMED = """
mov.u32 %r1, %no_such_special;
add.u32 %r1, %r1, unknown;
bra nowhere;
call nowhere, ();
@%r1 add.u32 %r1, %r1, %r2;
.reg .b33 %q;
brx.idx %r1, nolist;
add.u32 %r1, %r1, %r2
}}}
""".split("\n")[1:-1]


@pytest.fixture(scope="module")
def engine() -> Iterator[EngineProcess]:
    process = EngineProcess()
    process.ready()
    yield process
    process.stop()


@pytest.mark.parametrize("instruction", REFUSED)
def test_an_instruction_that_is_not_implemented_is_refused_by_name(engine, instruction):
    program, harness = engine.program, engine.harness
    harness.ask("HarnessReset")
    loaded = program.ask("LoadModule", f"{HEADER}{instruction}\nret;\n}}\n".encode())
    assert loaded.error == 0, loaded.text()
    program.functions["k"] = program.ask("GetFunction", loaded.payload + b"k").number()
    assert program.launch("k").error == NOT_SUPPORTED
    (finding,) = harness.report()["findings"]
    assert finding["kind"] == "unsupported"
    assert f"'{instruction.split(' ')[0].rstrip(';')}'" in finding["message"]
    assert f"PTX line {LINE}" in finding["message"]
    assert program.ask("DeviceSync").error == 0  # the context is still good


@pytest.mark.parametrize("instruction", MALFORMED)
def test_ptx_that_is_not_ptx_is_refused_with_the_line(engine, instruction):
    loaded = engine.program.ask("LoadModule", f"{HEADER}{instruction}\nret;\n}}\n".encode())
    assert loaded.error == INVALID_PTX
    assert loaded.text().startswith("PTX line ")


def test_more_constants_than_a_module_may_have_are_refused(engine):
    def answer(size: int):
        variable = f".const .align 4 .b8 table[{size}];\n.visible .entry k("
        return engine.program.ask(
            "LoadModule", f"{HEADER}ret;\n}}\n".replace(".visible .entry k(", variable).encode()
        )

    assert answer(65_536).error == 0
    refused = answer(65_540)
    assert refused.error == INVALID_PTX
    assert "65540 bytes in __constant__ variables" in refused.text()


def test_more_static_shared_memory_than_a_block_may_have_is_refused_at_the_launch(engine):
    def answer(size: int):
        engine.harness.ask("HarnessReset")
        text = f"{HEADER}.shared .align 4 .b8 more[{size}];\nmov.u32 %r1, more;\nret;\n}}\n"
        loaded = engine.program.ask("LoadModule", text.encode())
        assert loaded.error == 0, loaded.text()
        engine.program.functions["k"] = engine.program.ask("GetFunction", loaded.payload + b"k").number()
        return engine.program.launch("k")

    fits = 49_152 - 256  # HEADER has a box of 256 bytes
    assert answer(fits).error == 0
    refused = answer(fits + 4)
    assert refused.error == INVALID_PTX
    assert "49156 bytes of static shared memory" in refused.text()


def test_a_module_that_is_cut_off_is_refused_wherever_the_cut_is(engine):
    for end in range(0, len(PTX.rstrip()) - 1, 37):
        loaded = engine.program.ask("LoadModule", PTX[:end].encode())
        assert loaded.error in (0, INVALID_PTX)
        assert loaded.error or "}" in PTX[:end].rstrip()[-1:] or ".entry" not in PTX[:end]


def test_bytes_that_are_no_text_are_refused(engine):
    for data in (b"\0" * 1000, b"\xff" * 1000, bytes(range(256)) * 50, b"\x7fELF" + b"\0" * 60):
        assert engine.program.ask("LoadModule", data).error != 0


# ---- a missing compiler ----


def said_without_a_tool(folder: Path, **variables: str) -> str:
    """What `./course run` says where a tool that it needs is missing."""
    program = folder / "empty.cu"
    program.write_text("int main() {}\n")
    ran = subprocess.run(
        [sys.executable, "-m", "grader", "run", "--device", "virtual", str(program)],
        cwd=ROOT,
        env={**os.environ, "COURSE_CACHE": str(folder / "cache"), **variables},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 125
    assert "Traceback" not in ran.stderr
    return ran.stderr


def test_a_missing_compiler_is_a_sentence(tmp_path):
    said = said_without_a_tool(tmp_path, COURSE_NVCC=str(tmp_path / "nowhere"))
    assert "error: " in said
    assert "nowhere" in said


def test_a_missing_host_compiler_is_a_sentence(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "ninja").symlink_to(find_ninja().path.resolve())
    assert "g++" in said_without_a_tool(tmp_path, PATH=str(tools))


# ---- kernels ----


@pytest.mark.parametrize("case", ["several_gpus", "texture"])
def test_an_unsupported_kernel_names_its_line_and_leaves_the_others_alone(case):
    ran = run("unsupported", case, "fine")
    assert answers(ran) == {"launch": "cudaErrorNotSupported", "malloc": "cudaSuccess", "fine": "cudaSuccess"}
    (finding,) = ran.report.findings
    assert (finding.kind, finding.line) == ("unsupported", line_of("unsupported", f"REFUSED_KERNEL({case},"))
    assert Path(finding.file).name == "unsupported.cu"


# Case, finding, where (the text of the source line), what the message says, error.
ENDLESS = [
    ("loop", "hang", "while (true) turns", "does not end", "LaunchTimeout"),
    ("loop_in_one_lane", "hang", "while (threadIdx.x == 5)", "waiting at the barrier", "LaunchTimeout"),
    ("recurse", "memory", "return deeper", "the stack overflows", "IllegalAddress"),
    ("print", "hang", "never stops talking", "does not end", "LaunchTimeout"),
    ("spin_global", "hang", "while (flag == 0) {", "polling with nothing left", "LaunchTimeout"),
    ("spin_shared", "hang", "while (shared_flag == 0)", "polling with nothing left", "LaunchTimeout"),
    ("spin_atomic", "hang", "while (atomicAdd(&sink, 0)", "polling with nothing left", "LaunchTimeout"),
    ("spin_pauses", "hang", "while (flag == 0) __nanosleep", "polling with nothing left", "LaunchTimeout"),
    ("deadlock", "hang", "bar.sync 1, 64", "all threads wait for each other", "LaunchTimeout"),
    ("grid_deadlock", "hang", "while (atomicAdd(arrived, 0u)", "polling with nothing left", "LaunchTimeout"),
    ("trap", "trap", 'asm volatile("trap;")', "trapped", "LaunchFailure"),
    ("assert", "trap", "assert(threadIdx.x < 7", "seven is too many", "Assert"),
]


@pytest.mark.parametrize(
    ("case", "kind", "line", "message", "error"), ENDLESS, ids=[row[0] for row in ENDLESS]
)
def test_a_kernel_that_does_not_end_well_says_where(case, kind, line, message, error):
    # Of CPU time and sleep. An engine that checks itself needs more until it gives up.
    ran = run("endless", case, timeout=600 if os.environ.get("VGPU_SANITIZER") else 30)
    assert not ran.timed_out
    assert answers(ran) == {case: f"cudaError{error}"}
    (finding,) = ran.report.findings
    assert (finding.kind, finding.line) == (kind, line_of("endless", line))
    assert message in finding.message
    assert finding.block == ((3, 0, 0) if case == "trap" else (0, 0, 0))


def test_a_spin_that_changes_memory_runs_into_the_budget():
    ran = run("endless", "spin_changes", max_warp_instructions=1_000_000)
    assert answers(ran) == {"spin_changes": "cudaErrorLaunchTimeout"}
    (finding,) = ran.report.findings
    assert (finding.kind, "warps 0-1" in finding.message) == ("hang", True)


def test_wild_format_strings_print_something_and_crash_nothing():
    ran = run("odd_kernels", "formats")
    assert answers(ran) == {"formats": "cudaSuccess"}
    lines = ran.stdout.splitlines()
    assert lines[0] == "plain 5 text x"
    assert "percent at the end %" in lines
    assert "unknown %y %q %! and more" in lines
    assert "(null)|(unreadable)|(unreadable)" in lines
    assert "abcdefgh" in lines
    assert "kocal" in lines
    assert "2.500000|3      |" in ran.stdout
    (finding,) = ran.report.findings
    assert (finding.kind, "0xdeadbeef" in finding.message) == ("memory", True)


@pytest.mark.parametrize("case", ["null_function", "host_function", "wrong_signature"])
def test_a_call_through_a_wrong_pointer_is_found(case):
    ran = run("odd_kernels", case)
    assert answers(ran) == {case.replace("_", " "): "cudaErrorIllegalInstruction"}
    (finding,) = ran.report.findings
    assert "function pointer" in finding.message


@pytest.mark.parametrize("case", ["registers", "instructions"])
def test_size_alone_is_no_fault(case):
    ran = run("odd_kernels", case)
    assert ran.stdout == f"{case}: cudaSuccess\nresults agree\n"
    assert ran.report.findings == ()


# ---- launches and memory ----


def test_impossible_launches_are_refused_and_the_next_one_runs():
    results = answers(run("configurations", "shapes"))
    assert results.pop("fine") == "cudaSuccess"
    assert set(results.values()) == {"cudaErrorInvalidValue"}
    assert len(results) == 11


def test_shared_memory_has_its_limits():
    results = answers(run("configurations", "shared"))
    good = {name for name, answer in results.items() if answer == "cudaSuccess"}
    assert good == {"opt in 227 KB", "227 KB"}  # 48 KB beside 48 KB need permission, as on an H200
    assert len(results) == 9


def test_clusters_that_no_device_has_are_refused():
    ran = run("configurations", "cluster")
    assert answers(ran) == {
        "clusters of 2": "cudaSuccess",
        "clusters of 3": "cudaErrorInvalidClusterSize",
        "clusters of 17": "cudaErrorInvalidClusterSize",
        "clusters of 0": "cudaErrorInvalidClusterSize",
    }
    assert "a grid of (4,1,1) blocks, which clusters of (3,1,1) do not divide" in ran.stderr
    assert "clusters of 17 blocks, where a device has at most 16" in ran.stderr


def test_a_kernel_built_for_clusters_runs_in_them():
    ran = run("configurations", "cluster_dims")
    assert "cluster_dims: cudaSuccess" in ran.stdout
    assert ran.report.findings == ()


def test_memory_that_the_machine_does_not_have_is_refused():
    ran = run("configurations", "big_allocations")
    assert ran.status == 0
    results = answers(ran)
    if results["10 GB"] == "cudaSuccess":
        assert "read 7" in ran.stdout
    for name in ("SIZE_MAX", "SIZE_MAX - 255", "2^63", "100 TB managed", "pitch"):
        assert results[name] == "cudaErrorMemoryAllocation"


def test_allocating_without_end_ends():
    ran = run("configurations", "allocate_for_ever")
    assert answers(ran)["1 GB for ever"] == "cudaErrorMemoryAllocation"
    assert "out of device memory" in ran.stderr


def test_local_arrays_work_up_to_what_a_gpu_has():
    ran = run("configurations", "local_arrays")
    assert answers(ran) == {
        "400 KB of local memory": "cudaSuccess",
        "1.2 GB of local memory": "cudaErrorNotSupported",
    }
    assert [finding.kind for finding in ran.report.findings] == ["unsupported"]


def test_a_thousand_streams_and_ten_thousand_launches():
    ran = run("configurations", "many_streams", "many_launches")
    assert answers(ran) == {"1000 streams": "cudaSuccess", "10000 launches": "cudaSuccess"}
    assert "last 9999" in ran.stdout
    assert ran.report.totals["launches"] == 11_000
    assert ran.report.findings == ()


# ---- host code ----


@pytest.mark.parametrize(
    ("case", "status"),
    [("exit", 5), ("_exit", 6), ("abort", -signal.SIGABRT), ("segfault", -signal.SIGSEGV), ("close_all", 0)],
)
def test_findings_outlive_a_program_that_goes_without_a_word(case, status):
    ran = run("host", case)
    assert ran.status == status
    (finding,) = ran.report.findings
    assert (finding.kind, finding.line) == ("memory", line_of("host", "to[64 + threadIdx.x]"))
    assert ran.report.program_exit == "closed"


def test_a_child_process_cannot_use_its_parents_device():
    results = answers(run("host", "fork"))
    assert results["malloc in the child"] != "cudaSuccess"
    assert results["sync in the parent"] == "cudaSuccess"
    assert results["copy in the parent"] == "cudaSuccess"


def test_eight_host_threads_launch_at_once():
    ran = run("host", "threads")
    assert "sum 25600 of 25600" in ran.stdout
    assert ran.report.findings == ()


@pytest.mark.parametrize("case", ["noise", "little_noise", "noise_later"])
def test_bytes_on_the_engines_socket_cost_the_program_its_device_and_nothing_else(case):
    ran = run("host", case)
    assert ran.status == 0
    assert "socket found\nsent some\n" in ran.stdout
    assert answers(ran)["sync"] == "cudaErrorDevicesUnavailable"
    assert len(ran.report.findings) == (case == "noise_later")


def test_a_page_mapped_over_device_memory_is_not_device_memory():
    ran = run("host", "map_over")
    assert "host sees 1234, device has its own" in ran.stdout


def test_a_wild_host_pointer_in_a_copy_is_the_programs_own_fault():
    assert run("host", "wild_copies").status == -signal.SIGSEGV


def test_host_output_without_end_is_cut_off_by_the_clock():
    ran = run("host", "print_forever", timeout=1)
    assert ran.timed_out
    assert len(ran.stdout) <= 16 << 20


def test_lengths_and_ids_out_of_the_blue_are_refused(engine):
    program = engine.program
    for name, body in [
        ("Launch", struct.pack("=QQ12I", 2**63, 2**63, *[2**32 - 1] * 11, 0)),
        ("Malloc", struct.pack("=QIIQ", 2**64 - 1, 77, 1, 2**63)),
        ("Free", struct.pack("=QIIQ", 2**64 - 1, 77, 1, 2**63)),
        ("GetFunction", struct.pack("=Q", 2**63) + b"\xff" * 100),
        ("StreamSync", struct.pack("=Q", 2**63)),
    ]:
        assert program.ask(name, body).error != 0
    assert program.ask("DeviceSync").error == 0
