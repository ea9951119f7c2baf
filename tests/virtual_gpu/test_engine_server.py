"""The engine as a process: its protocol, its limits, and that nothing is left of it."""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from common.build.resources import write_for_engine
from common.virtual_gpu.profiles import DEFAULT_PROFILE, PROFILES, profiles
from tests.virtual_gpu.engine_client import (
    ADDRESS,
    DEVICE,
    MAGIC,
    ON_DEVICE,
    PINNED,
    PTX,
    REQUEST,
    REQUESTS,
    STICKY,
    TO_DEVICE,
    TO_HOST,
    EngineProcess,
)
from tests.waiting import wait_until

INVALID_VALUE, OUT_OF_MEMORY, NOT_PERMITTED, NOT_SUPPORTED = 1, 2, 800, 801
LAUNCH_FAILURE = 719
MIB = 1 << 20

Start = Callable[..., EngineProcess]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts engines; none may be left when the test ends, however it ends."""
    started: list[EngineProcess] = []

    def start_one(*arguments: str, harness: bool = True) -> EngineProcess:
        started.append(EngineProcess(arguments, harness))
        return started[-1]

    yield start_one
    for engine in started:
        engine.stop()


def header(op: int = 1, payload: int = 0, magic: int = MAGIC) -> bytes:
    return REQUEST.pack(magic, op, payload, 1, 0, 0)


# --- what a program may send -------------------------------------------------------------------------


def test_hello_describes_the_device_and_hands_over_memory_that_cannot_shrink(start: Start) -> None:
    reply = start("--profile", "a100").program.hello()
    assert reply.error == 0
    assert reply.payload[40:].startswith(b"NVIDIA A100")
    assert len(reply.descriptors) == 2
    for descriptor in reply.descriptors:
        assert fcntl.fcntl(descriptor, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK
        with pytest.raises(PermissionError):
            os.truncate(descriptor, 0)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (header(magic=0xDEADBEEF), "magic"),
        (header(payload=(256 << 20) + 1), "at most"),
        (header(REQUESTS["DeviceSync"]), "not a hello"),
        (b"GET / HTTP/1.1\r\n\r\n", "magic"),
    ],
)
def test_bytes_that_are_not_the_protocol_close_the_connection(start: Start, data: bytes, reason: str) -> None:
    engine = start(harness=False)
    engine.program.send_raw(data)
    assert engine.program.is_closed()
    status, said = engine.wait()
    assert status == 0
    assert reason in said


@pytest.mark.parametrize("cut", [1, 15, 16, 20])
def test_a_request_that_is_cut_off_ends_the_engine_quietly(start: Start, cut: int) -> None:
    engine = start(harness=False)
    engine.program.send_raw((header(payload=16) + bytes(16))[:cut])
    engine.program.close()
    assert engine.wait() == (0, "")


def test_a_request_that_arrives_in_pieces_is_served(start: Start) -> None:
    program = start().ready()
    for byte in header(REQUESTS["MemInfo"]):
        program.send_raw(bytes([byte]))
        time.sleep(0.002)
    program.serial = 1
    assert len(program.receive().payload) == 16


def test_requests_that_arrive_together_are_each_served(start: Start) -> None:
    program = start().ready()
    program.send_raw(header(REQUESTS["MemInfo"]) * 3)
    program.serial = 1
    assert [program.receive().error for _ in range(3)] == [0, 0, 0]


def test_a_hello_of_another_version_is_refused_with_a_reason(start: Start) -> None:
    reply = start().program.hello(version=999)
    assert reply.error == INVALID_VALUE
    assert "different builds" in reply.text()


@pytest.mark.parametrize("op", [0, 19, 255, 256, 0xFFFFFFFF])
def test_an_unknown_request_is_answered_not_supported(start: Start, op: int) -> None:
    program = start().ready()
    assert program.ask(op).error == NOT_SUPPORTED
    assert program.ask("MemInfo").error == 0


def test_a_program_may_not_use_the_harness_requests(start: Start) -> None:
    program = start().ready()
    for name, number in REQUESTS.items():
        if number >= REQUESTS["HarnessAlloc"]:
            assert program.ask(name, bytes(16)).error == NOT_PERMITTED, name


def test_no_payload_whatever_brings_the_engine_down(start: Start) -> None:
    rng = random.Random(7)
    engine = start("--memory-limit", str(MIB), "--quiet")
    program = engine.ready("fill")
    for op in sorted(set(REQUESTS.values()) - {REQUESTS["Hello"]}):
        for size in (0, 1, 8, 16, 24, 32, 64, 80, 88, 96, 600):
            for filler in (bytes(size), b"\xff" * size, rng.randbytes(size)):
                program.ask(op, filler)
    assert engine.is_alive()
    assert engine.end()[0] == 0


def test_random_bytes_never_crash_the_engine(start: Start) -> None:
    rng = random.Random(11)
    for _ in range(5):
        engine = start("--quiet", harness=False)
        engine.ready()
        engine.program.send_raw(rng.randbytes(rng.randrange(1, 4096)))
        assert engine.end()[0] == 0


# --- memory ------------------------------------------------------------------------------------------


def test_the_memory_limit_is_kept_and_said_once(start: Start) -> None:
    program = start("--memory-limit", str(MIB)).ready()
    first = program.malloc(MIB // 2)
    refused = program.ask("Malloc", struct.pack("=QIIQ", MIB, DEVICE, 0, 0))
    assert refused.error == OUT_OF_MEMORY
    assert "1 MiB asked for" in refused.text()
    assert "--memory-limit" in refused.text()
    assert program.ask("Malloc", struct.pack("=QIIQ", MIB, DEVICE, 0, 0)).payload == b""
    assert program.free(first) == 0
    assert program.malloc(MIB) != 0


def test_absurd_sizes_are_refused(start: Start) -> None:
    program = start().ready()
    for size in (1 << 40, 1 << 62, (1 << 64) - 1, (1 << 64) - 600):
        assert program.ask("Malloc", struct.pack("=QIIQ", size, DEVICE, 0, 0)).error == OUT_OF_MEMORY


def test_ten_gigabytes_cost_nothing_until_they_are_touched(start: Start) -> None:
    engine = start("--memory-limit", str(20 << 30))
    program = engine.ready()
    address = program.malloc(10 << 30)
    assert program.write(address + (10 << 30) - 4, b"abcd") == 0
    assert program.read(address + (10 << 30) - 4, 4) == b"abcd"
    pages = int(Path(f"/proc/{engine.process.pid}/statm").read_text().split()[1])
    assert pages * mmap.PAGESIZE < 100 * MIB


def test_neighbours_lie_as_far_apart_as_they_are_large(start: Start) -> None:
    program = start().ready()
    small, large, behind = program.malloc(100), program.malloc(10 * MIB), program.malloc(100)
    assert large - (small + 100) >= 64 << 10
    assert behind - (large + 10 * MIB) >= 10 * MIB


def test_freed_memory_rests(start: Start) -> None:
    program = start().ready()
    first = program.malloc(100)
    assert first % 256 == 0
    program.free(first)
    assert all(program.malloc(100) != first for _ in range(10))


def test_freed_memory_is_used_again_after_a_while_and_reads_as_zero(start: Start) -> None:
    program = start().ready()
    seen = set()
    for _ in range(200):
        address = program.malloc(4096)
        seen.add(address)
        assert program.read(address, 4096) == bytes(4096)
        program.write(address, b"\xab" * 4096)
        program.free(address)
    assert len(seen) < 100


def test_wrong_frees_are_findings(start: Start) -> None:
    engine = start()
    program = engine.ready()
    address, pinned = program.malloc(64), program.malloc(64, PINNED)
    named = engine.harness.allocate("k_cache", 64)
    assert program.free(0) == 0
    assert program.free(address) == 0
    for wrong in (address, pinned, address + 4096, named):
        assert program.free(wrong) == INVALID_VALUE
    messages = [finding["message"] for finding in engine.harness.report()["findings"]]
    assert any("cudaMalloc #1 a second time" in m for m in messages)
    assert any("cudaMallocHost #1, which is not its to free" in m for m in messages)
    assert any("past the end of" in m for m in messages)
    assert any("k_cache" in m for m in messages)


def test_a_copy_past_the_end_names_the_allocation_and_the_distance(start: Start) -> None:
    engine = start()
    program = engine.ready()
    address = program.malloc(1000)
    assert program.write(address + 8, bytes(1000)) == INVALID_VALUE
    (finding,) = engine.harness.report()["findings"]
    assert finding["kind"] == "memory"
    assert finding["allocation"] == "cudaMalloc #1"
    assert "8 past its end" in finding["message"]


def test_a_copy_in_the_wrong_direction_is_refused(start: Start) -> None:
    engine = start()
    program = engine.ready()
    a, b = program.malloc(64), program.malloc(64)
    assert program.copy(a, b, 64, sides=(ADDRESS, ADDRESS), kind=TO_HOST) == INVALID_VALUE
    assert program.copy(a, b, 64, sides=(ADDRESS, ADDRESS), kind=TO_DEVICE) == INVALID_VALUE
    assert program.copy(a, b, 64, sides=(ADDRESS, ADDRESS), kind=ON_DEVICE) == 0
    assert "cudaMemcpyDeviceToHost" in engine.harness.report()["findings"][0]["message"]


def test_memory_that_nothing_wrote_is_reported_when_it_is_fetched(start: Start) -> None:
    engine = start()
    program = engine.ready()
    a, b, c = program.malloc(256), program.malloc(256), program.malloc(256)
    program.write(a, bytes(8))
    program.copy(b, a, 256, sides=(ADDRESS, ADDRESS), kind=ON_DEVICE)
    program.read(a, 256)  # partly written: silent
    program.read(b + 4, 4)  # copied from written bytes: silent
    assert engine.harness.report()["findings"] == []
    program.read(b + 8, 64)
    program.read(c, 256)
    findings = engine.harness.report()["findings"]
    assert [f["kind"] for f in findings] == ["init", "init"]
    assert {f["allocation"] for f in findings} == {"cudaMalloc #2", "cudaMalloc #3"}


def test_a_long_fetch_in_pieces_is_judged_as_one(start: Start) -> None:
    engine = start()
    program = engine.ready()
    address = program.malloc(24 * MIB)
    program.write(address, bytes(8))
    for piece in range(3):
        program.read(address + piece * 8 * MIB, 8 * MIB)
    assert engine.harness.report()["findings"] == []


def test_the_harness_sees_device_memory_under_the_names_it_gave(start: Start) -> None:
    engine = start()
    greeting = engine.harness.hello()
    base = greeting.number()
    program = engine.ready()
    address = engine.harness.allocate("tokens", 4096, align=4096)
    assert address % 4096 == 0
    with mmap.mmap(greeting.descriptors[0], 4096, offset=address - base) as view:
        view[:4] = b"seed"
        assert engine.harness.ask("HarnessInitialise", struct.pack("=QQ", address, 4096)).error == 0
        assert program.read(address, 4) == b"seed"
        program.write(address, b"done")
        assert view[:4] == b"done"
    assert program.write(address + 4094, b"done") == INVALID_VALUE
    assert engine.harness.report()["findings"][0]["allocation"] == "tokens"
    assert engine.harness.report()["leaks"] == []


def test_what_was_never_freed_is_listed_apart(start: Start, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    engine = start("--report", str(report), harness=False)
    program = engine.ready()
    program.free(program.malloc(8))
    program.malloc(16)
    status, said = engine.end()
    assert status == 0
    assert "cudaMalloc #2, 16 bytes" in said
    data = json.loads(report.read_text())
    assert data["program_exit"] == "closed"
    assert [(leak["allocation"], leak["bytes"]) for leak in data["leaks"]] == [("cudaMalloc #2", 16)]
    assert data["findings"] == []
    assert list(tmp_path.iterdir()) == [report]


# --- errors and reports ------------------------------------------------------------------------------


def test_a_kernel_error_sticks_and_drops_what_was_queued(start: Start) -> None:
    engine = start()
    program = engine.ready("fill", "fail")
    address = program.malloc(128)
    assert program.launch("fail").error == 0
    assert program.launch("fill", address, 7, 32).error == 0
    reply = program.ask("DeviceSync")
    assert reply.error == LAUNCH_FAILURE
    assert reply.flags & STICKY
    again = program.ask("Malloc", struct.pack("=QIIQ", 8, DEVICE, 0, 0))
    assert (again.error, again.flags & STICKY) == (LAUNCH_FAILURE, STICKY)
    report = engine.harness.report()
    assert [launch["error_name"] for launch in report["launches"]] == ["cudaErrorLaunchFailure"]
    assert report["totals"]["launches_dropped"] == 1
    assert report["leaks"] == []


def test_a_launch_that_cannot_be_is_refused_at_the_call(start: Start) -> None:
    program = start().ready("fill")
    assert program.launch("fill", block=0).error != 0
    refused = program.launch("fill", block=1025)
    assert refused.error != 0
    assert program.ask("DeviceSync").error == 0


def test_ptx_that_does_not_parse_is_refused_with_the_line(start: Start) -> None:
    program = start().ready()
    reply = program.ask("LoadModule", b"this is not PTX")
    assert reply.error == 218
    assert "line" in reply.text()


def test_the_report_holds_a_launch_with_its_figures(start: Start) -> None:
    engine = start("--profile", "h100")
    program = engine.ready("fill")
    program.launch("fill", program.malloc(128), 7, 32)
    assert engine.harness.ask("HarnessSync").error == 0
    report = engine.harness.report()
    assert (report["profile"], report["device"]) == ("h100", "NVIDIA H100 80GB HBM3")
    (launch,) = report["launches"]
    assert launch["kernel"].startswith("fill")
    assert (launch["grid"], launch["block"]) == ([1, 1, 1], [32, 1, 1])
    assert launch["counters"]["warp_instructions"] > 0
    assert launch["modelled_seconds"] >= 2.66e-6
    assert launch["cost"]["limiter"] in launch["cost"]["terms"]
    assert engine.harness.ask("HarnessReset").error == 0
    assert engine.harness.report()["launches"] == []


def test_many_launches_are_summed_up_and_the_report_stays_small(start: Start) -> None:
    engine = start()
    program = engine.ready("fill")
    address = program.malloc(128)
    for _ in range(5000):
        program.launch("fill", address, 7, 32)
    program.ask("DeviceSync")
    report = engine.harness.report()
    assert report["totals"]["launches"] == 5000
    assert report["totals"]["launches_listed"] == 4096
    assert report["kernels"][0]["launches"] == 5000
    assert all(not launch["lines"] for launch in report["launches"][200:])


def test_registers_come_from_ptxas_where_they_are_known(start: Start, tmp_path: Path) -> None:
    resources = tmp_path / "resources.json"
    resources.write_text(json.dumps({"kernels": {"fill": {"registers": 77, "spill_stores": 0}}}))
    engine = start("--resources", str(resources))
    program = engine.ready("fill", "add")
    program.launch("fill", program.malloc(128), 7, 32)
    program.ask("DeviceSync")
    (launch,) = engine.harness.report()["launches"]
    assert (launch["registers"], launch["registers_estimated"]) == (77, False)


@pytest.mark.parametrize("comment", ["", "// caf\u00e9\n"])
def test_where_the_device_code_is_named_no_other_is_loaded(
    start: Start, tmp_path: Path, comment: str
) -> None:
    code = (comment + PTX).encode("latin-1")
    engine = start("--resources", str(write_for_engine((), tmp_path, code)))
    program = engine.ready()
    other = program.ask("LoadModule", code + b"// more\n")
    assert (other.error, program.ask("LoadModule", code).error) == (NOT_SUPPORTED, 0)
    assert "device code that is not in the submitted file" in other.text()


def test_a_host_fault_says_where_the_pointer_points(start: Start) -> None:
    engine = start()
    program = engine.ready()
    address = program.malloc(64)
    body = struct.pack("=QQQ512sII", address + 4, 0x1234, 0x77, b"/tmp/a.out", 0, 0)
    assert program.ask("HostFault", body).error == 0
    (finding,) = engine.harness.report()["findings"]
    assert (finding["kind"], finding["allocation"]) == ("host", "cudaMalloc #1")
    assert "4 bytes from its start" in finding["message"]
    assert (finding["host_module"], finding["host_offset"]) == ("/tmp/a.out", 0x77)


def test_a_place_in_host_code_is_taken_for_no_more_than_it_is(start: Start, tmp_path: Path) -> None:
    engine = start()
    program = engine.ready()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    known = program.ask("CodeModule", str(pipe).encode()).number()
    assert program.ask("CodeModule", str(pipe).encode()).number() == known
    assert program.ask("CodeModule", b"x" * 5000).number() == 0
    for module in (known, known + 1, 0xFFFFFFFF):
        program.caller = (0x40, module)
        assert program.free(0x1234) == 1
    findings = engine.harness.report()["findings"]
    assert [(finding.get("host_module"), finding["count"]) for finding in findings] == [
        (str(pipe), 1),
        (None, 2),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--profile", "gtx480"], "a100, h100, h200, l4, rtx4090"),
        (["--profiles", "/nowhere.json"], "/nowhere.json"),
        (["--memory-limit", "lots"], "wants a number"),
        (["--option", "race"], "KEY=VALUE"),
        (["--option", "rays=on"], "rays"),
        (["--frobnicate"], "usage"),
        (["--harness-fd", "999"], "not a stream socket"),
    ],
)
def test_wrong_arguments_are_explained(start: Start, arguments: list[str], words: str) -> None:
    engine = EngineProcess(arguments, harness=False)
    status, said = engine.wait()
    engine.stop()
    assert status == 1
    assert words in said


def test_a_profile_with_a_name_too_many_or_too_few_is_refused(start: Start, tmp_path: Path) -> None:
    whole = json.loads(PROFILES.read_text())
    for change, words in (({"warmth": 1}, '"warmth" is not known'), ({"sms": None}, '"sms" is missing')):
        changed = {**whole["profiles"]["h200"], **change}
        entry = {name: value for name, value in changed.items() if value is not None}
        file = tmp_path / "profiles.json"
        file.write_text(json.dumps({"default": "h200", "profiles": {"h200": entry}}))
        engine = EngineProcess(["--profiles", str(file)], harness=False)
        assert words in engine.wait()[1]
        engine.stop()


def test_the_engine_has_the_profiles_that_python_reads(start: Start) -> None:
    engine = start()
    assert engine.harness.report()["profile"] == DEFAULT_PROFILE
    assert engine.harness.report()["device"] == profiles()[DEFAULT_PROFILE].name


def test_every_profile_loads(start: Start) -> None:
    for profile in profiles():
        assert start("--profile", profile).program.hello().error == 0


# --- nothing is left behind --------------------------------------------------------------------------


def spinning(start: Start, *, harness: bool) -> EngineProcess:
    """An engine in the midst of a kernel that never ends."""
    engine = start(harness=harness)
    program = engine.ready("spin")
    assert program.launch("spin").error == 0
    program.send("DeviceSync")
    time.sleep(0.3)
    assert engine.is_alive()
    return engine


def test_a_program_that_goes_in_the_middle_of_a_kernel_takes_the_engine_along(start: Start) -> None:
    engine = spinning(start, harness=False)
    engine.program.close()
    assert wait_until(lambda: not engine.is_alive())


def test_a_harness_that_goes_in_the_middle_of_a_kernel_takes_the_engine_along(start: Start) -> None:
    engine = spinning(start, harness=True)
    engine.harness.close()
    assert wait_until(lambda: not engine.is_alive())


def test_the_harness_is_served_after_a_program_died_in_the_middle_of_a_kernel(start: Start) -> None:
    engine = spinning(start, harness=True)
    engine.program.close()
    report = engine.harness.report()
    assert report["launches"] == []
    assert wait_until(lambda: engine.harness.report()["program_exit"] == "closed")
    assert engine.end()[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_engine_in_the_middle_of_a_kernel(start: Start, number: signal.Signals) -> None:
    engine = spinning(start, harness=True)
    engine.process.send_signal(number)
    assert wait_until(lambda: not engine.is_alive())


KILLED_PROGRAM = """
import os, signal, socket, sys
from tests.virtual_gpu.engine_client import Program
program = Program(socket.socket(fileno=int(sys.argv[1])))
program.hello()
program.load("spin")
program.launch("spin")
program.send("DeviceSync")
print("running", flush=True)
signal.pause()
"""


def test_kill_9_of_the_program_in_the_middle_of_a_kernel_leaves_no_process(start: Start) -> None:
    engine = start(harness=False)
    end = engine.program.socket
    with subprocess.Popen(
        [sys.executable, "-c", KILLED_PROGRAM, str(end.fileno())],
        pass_fds=[end.fileno()],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    ) as program:
        engine.program.close()
        assert program.stdout is not None
        assert program.stdout.readline() == b"running\n"
        time.sleep(0.2)
        assert engine.is_alive()
        program.kill()
    assert wait_until(lambda: not engine.is_alive())


def test_a_program_that_does_not_read_its_replies_cannot_stall_the_harness(start: Start) -> None:
    engine = start()
    program = engine.ready()
    program.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    program.socket.setblocking(False)
    try:
        for _ in range(100_000):
            program.socket.send(header(REQUESTS["MemInfo"]))
    except BlockingIOError:
        pass
    assert engine.harness.report()["program_exit"] == "running"


def test_a_launch_takes_well_under_a_millisecond(start: Start) -> None:
    program = start().ready("fill")
    address = program.malloc(128)
    best = 1.0
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(100):
            program.launch("fill", address, 7, 32)
        best = min(best, (time.perf_counter() - began) / 100)
    assert best < 0.0005
