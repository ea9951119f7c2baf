"""What fuzzers begin with: honest inputs of every kind, made anew for each run."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from common.core.paths import REPOSITORY
from tests.virtual_gpu.engine_client import (
    DEVICE,
    MAGIC,
    MANAGED,
    PER_THREAD,
    PINNED,
    PTX,
    REQUEST,
    REQUESTS,
    EngineProcess,
    Harness,
    Peer,
    Program,
)

SAMPLES = Path(__file__).parents[1] / "ptx" / "samples"
_FRAME = struct.Struct("=BBH")
_PROTOCOL = (REPOSITORY / "common" / "virtual_gpu" / "protocol.h").read_text()
# Where device memory and pinned memory lie, and where they lie in an engine beside a sanitizer.
_MOVED, _USUAL = (
    [int(number, 16) for number in re.findall(r"k(?:Device|Pinned)Base = (0x[0-9a-f]+)ull", part)]
    for part in _PROTOCOL.split("#else")[:2]
)
_ARENA = 1 << 36


def ptx() -> Iterator[bytes]:
    yield PTX.encode()
    yield (SAMPLES / "grammar.ptx").read_bytes()
    for body in (*BODIES, *HOPPER, *TEXTURES):
        yield _entry(body).encode()


def connection() -> Iterator[bytes]:
    """Requests as they arrive, behind a byte that says in what pieces."""
    for size, op in itertools.product((0, 1, 16, 5000), (1, 20, 60, 255)):
        yield bytes([size % 8]) + (REQUEST.pack(MAGIC, op, size, 1, 0, 0) + bytes(size)) * 3


def fatbin() -> Iterator[bytes]:
    """Containers with PTX for two architectures and machine code between them."""
    entries = b"".join(
        struct.pack("=HHIQIIHHIIIQ", kind, 257, 64, len(text), 0, 0, 0, 0, capability, 0, 0, 0)
        + bytes(16)
        + text
        for kind, capability, text in ((1, 80, b"old ptx\0"), (2, 90, b"machine!"), (1, 90, b"new ptx\0"))
    )
    yield struct.pack("=IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


def requests() -> Iterator[bytes]:
    """What a program and its harness say to the engine in the dialogues below."""
    for dialogue in DIALOGUES:
        frames: list[bytes] = []
        engine = EngineProcess()
        try:
            program, harness = _NotedProgram(engine.program.socket), _NotedHarness(engine.harness.socket)
            program.frames = harness.frames = frames
            harness.serial = 1  # its hello has been said
            program.hello()
            dialogue(program, harness)
        finally:
            engine.stop()
        yield b"".join(frames)


def moved(seed: bytes) -> bytes:
    """The same requests for an engine beside a sanitizer: its addresses are others."""
    usual = dict(zip(_USUAL, _MOVED, strict=True))

    def new(found: re.Match[bytes]) -> bytes:
        (number,) = struct.unpack("=Q", found[0])
        for base, other in usual.items():
            if base <= number < base + _ARENA:
                return struct.pack("=Q", number - base + other)
        return found[0]

    return re.sub(rb"(?s).{5}[\x10\x18]\0\0", new, seed)


class _Noted(Peer):
    frames: list[bytes]
    by_harness = False

    def send_raw(self, data: bytes) -> None:
        _, op, size, *_ = REQUEST.unpack_from(data)
        if op != REQUESTS["Hello"]:
            self.frames.append(_FRAME.pack(op, self.by_harness, size) + data[REQUEST.size :])
        super().send_raw(data)


class _NotedProgram(_Noted, Program):
    pass


class _NotedHarness(_Noted, Harness):
    by_harness = True


def _memory(program: Program, harness: Harness) -> None:
    for kind in (DEVICE, PINNED, MANAGED):
        address = program.malloc(4096, kind)
        program.ask("Pointer", struct.pack("=Q", address + 8))
        program.ask("Memset", struct.pack("=5Q4I", address, 64, 16, 4, 0, 7, 4, 0, 0))
        program.free(address, kind)
    there, here = program.malloc(1 << 16), program.malloc(1 << 16, PINNED)
    program.write(there, b"0123456789abcdef")
    program.copy(here, there, 4096, sides=(0, 0), kind=2)
    program.read(there, 64)
    program.ask("MemInfo")
    ordered = program.malloc(256, DEVICE, stream=PER_THREAD)
    program.free(ordered, DEVICE, stream=PER_THREAD)
    for limit in range(7):
        program.ask("SetLimit", struct.pack("=IIQ", limit, 0, 4096))
        program.ask("GetLimit", struct.pack("=IIQ", limit, 0, 0))


def _launches(program: Program, harness: Harness) -> None:
    program.load("fill", "add", "fail")
    address = program.malloc(4096)
    program.launch("fill", address, 7, 32)
    program.launch("add", address, address, 32, block=64)
    program.ask("DeviceSync")
    function = program.functions["fill"]
    program.on("FuncAttributes", function)
    program.ask("FuncSetAttribute", struct.pack("=Qii", function, 8, 1 << 15))
    program.ask("Occupancy", struct.pack("=QQiI", function, 0, 128, 0))
    program.ask("GetSymbol", struct.pack("=Q", 1) + b"nothing")
    program.ask("HostFunction", struct.pack("=QQQ", 0, 0x1234, 0x77))
    program.ask("DeviceSync")
    program.launch("fail")
    program.ask("DeviceSync")
    program.ask("TakePrintf")


def _streams(program: Program, harness: Harness) -> None:
    program.load("fill")
    address = program.malloc(4096)
    one, other, event, end = program.stream(), program.stream(1), program.event(), program.event()
    program.launch("fill", address, 7, 32, stream=one)
    program.on("EventRecord", event, one)
    program.on("StreamWait", other, event)
    program.launch("fill", address, 8, 32, stream=other)
    program.on("EventRecord", end, other)
    program.on("EventSync", end)
    program.on("EventElapsed", event, end)
    program.on("StreamQuery", one)
    program.on("EventQuery", event)
    program.on("StreamSync", other)
    program.on("EventDestroy", event)
    program.on("StreamDestroy", one)


def _graphs(program: Program, harness: Harness) -> None:
    program.load("fill", "add")
    address, stream = program.malloc(4096), program.stream()
    program.ask("CaptureBegin", struct.pack("=QII", stream, 0, 0))
    program.launch("fill", address, 7, 32, stream=stream)
    inside = program.malloc(256, DEVICE, stream=stream)
    program.launch("add", inside, address, 32, stream=stream)
    program.free(inside, DEVICE, stream=stream)
    program.on("CaptureInfo", stream)
    graph = program.on("CaptureEnd", stream).number()
    program.on("GraphNodeCount", graph)
    executable = program.on("GraphInstantiate", graph, 0).number()
    program.on("GraphLaunch", executable, stream)
    program.on("GraphExecUpdate", executable, graph)
    program.on("GraphLaunch", executable, stream)
    program.on("StreamSync", stream)
    program.on("GraphExecDestroy", executable)
    program.on("GraphDestroy", graph)
    program.ask("DeviceReset")


def _bounded(program: Program, harness: Harness) -> None:
    program.load("fill")
    address = harness.allocate("x", 4096)
    harness.ask("HarnessInitialise", struct.pack("=QQ", address, 4096))
    stream = harness.ask("StreamCreate", struct.pack("=Ii", 1, 0)).number()
    harness.ask("HarnessBeginCall", struct.pack("=Q", stream))
    program.launch("fill", address, 7, 32, stream=stream)
    program.ask("DeviceSync")
    harness.ask("HarnessEndCall")
    harness.ask("HarnessSync")
    harness.report()
    harness.ask("HarnessReset")
    harness.ask("HarnessFree", struct.pack("=Q", address))


def _load(program: Program, *bodies: str) -> None:
    """A module for each, in place of those that Program.load has; the kernels' names count from k0."""
    for number, body in enumerate(bodies):
        loaded = program.ask("LoadModule", _entry(body).encode())
        assert loaded.error == 0, loaded.text()
        program.functions[f"k{number}"] = program.ask("GetFunction", loaded.payload + b"k").number()


def _textures(program: Program, harness: Harness) -> None:
    _load(program, *TEXTURES)
    address = program.malloc(4096)
    program.write(address, bytes(range(256)) * 16)
    for linear, surface in ((0, 0), (1, 0), (0, 1)):
        width, height = (256, 1) if linear else (16, 16)
        texels = struct.pack("=QQ6I", address, 64, width, height, 1, 1, 32, _FLOAT)
        how = struct.pack("=9I4f4x", 0, linear, surface, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0)
        made = program.ask("TextureCreate", texels + how)
        assert made.error == 0, made.text()
        for number, body in enumerate(TEXTURES):
            if (linear, surface) == ("1d" in body, "sust" in body):
                _launch(program, f"k{number}", made.number())
        program.ask("DeviceSync")
        program.on("TextureDestroy", made.number())


def _blas(program: Program, harness: Harness) -> None:
    address = program.malloc(4096)
    program.write(address, bytes(1024))
    view = struct.pack("=Q3q2I", address, 1, 4, 16, 0, 0)
    number = struct.pack("=Q3q2I", 0, 0, 0, 0, 0, 0)
    scalar = struct.pack("=Q2d", 0, 1.0, 0.5)
    for op, shape in enumerate(_BLAS_SHAPES):
        is_number = op >= _BLAS_FIRST_NUMBER
        a = struct.pack("=Q3q2I", address, 1, 4, 16, 0, shape)
        sizes = (4, 1, 0, 1) if is_number else (4, 4, 4, 2)
        call = struct.pack("=4I4q", op, 0, 0, 0, *sizes) + a + view + (number if is_number else view)
        call += scalar * 2 + struct.pack("=2I", 0, 0) + number * 2 + struct.pack("=Q", 0)
        done = program.ask("Blas", call + b"cublasSgemm".ljust(40, b"\0"))
        assert done.error == 0, (op, done.text())
    program.ask("DeviceSync")


def _hopper(program: Program, harness: Harness) -> None:
    _load(program, *HOPPER)
    for name in program.functions:
        _launch(program, name, 0)
    program.ask("DeviceSync")


def _launch(program: Program, name: str, first: int) -> None:
    """A group of four warps, as the kernels below take them."""
    shape = struct.pack("=QQ12I", program.functions[name], 0, 1, 1, 1, 128, 1, 1, 0, 0, 0, 0, 0, 12)
    launched = program.ask("Launch", shape + struct.pack("=QI", first, 0))
    assert launched.error == 0, launched.text()


DIALOGUES: Sequence[Callable[[Program, Harness], None]] = (
    _memory,
    _launches,
    _streams,
    _graphs,
    _bounded,
    _textures,
    _blas,
    _hopper,
)
_FLOAT = 2  # ChannelFormat
# The shape of a for each BlasOp, and the first of them whose result is a number: a solver's is triangular.
_BLAS_SHAPES, _BLAS_FIRST_NUMBER = (0, 64 | 8, *[0] * 9), 6

# One line of each family of instructions that reads or writes memory in its own way.
BODIES = (
    "ld.param.u32 %r1, [p]; ld.param.u64 %d1, [p]; ld.global.u32 %r1, [%d1];",
    "st.global.v2.u32 [%d1], {%r1, %r2};",
    "mov.u32 %r1, s; st.shared.u32 [%r1+4], %r2; ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [s]; bar.sync 0;",
    "atom.global.add.u32 %r1, [%d1], %r2; red.shared.max.s32 [s], %r2;",
    "atom.shared.cas.b32 %r1, [s], %r2, %r3;",
    "cp.async.ca.shared.global [%r1], [%d1], 16; cp.async.commit_group; cp.async.wait_group 0;",
    "st.local.u32 [l], %r1; ld.local.u32 %r2, [l+8]; cvta.to.global.u64 %d1, %d2; ld.u32 %r1, [%d1];",
    "shfl.sync.bfly.b32 %r1|%p1, %r2, 1, 31, -1; vote.sync.ballot.b32 %r1, %p1, -1; activemask.b32 %r1;",
    "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [s];",
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, "
    "{%r1, %r2}, {%f1, %f2, %f3, %f4};",
    "L: setp.lt.u32 %p1, %r1, 8; add.u32 %r1, %r1, 1; @%p1 bra L;",
    "div.s32 %r1, %r2, %r3; rem.u32 %r1, %r1, %r4;",
    "prmt.b32 %r1, %r2, %r3, %r4; bfe.u32 %r1, %r2, %r3, %r4; shf.l.wrap.b32 %r1, %r2, %r3, %r4;",
)
# Barriers that count bytes, the copy engine and the tensor cores of Hopper.
_BARRIER = (
    "mov.u32 %r1, s; mov.u32 %r2, %tid.x; setp.ne.u32 %p3, %r2, 0; mov.u32 %r2, s; add.u32 %r2, %r2, 256; "
    "mov.u64 %d1, g; @%p3 bra READY; mbarrier.init.shared::cta.b64 [%r1], 1; "
    "fence.mbarrier_init.release.cluster; READY: bar.sync 0; @%p3 bra WAIT; "
)
_WAIT = (
    "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra WAIT; ld.shared.u32 %r3, [%r2];"
)
_FOUR = "{%f1, %f2, %f3, %f4}"
HOPPER = (
    f"{_BARRIER} mbarrier.arrive.shared::cta.b64 %d2, [%r1]; mbarrier.pending_count.b64 %r4, %d2; "
    "mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %d2; mbarrier.inval.shared::cta.b64 [%r1]; WAIT:",
    f"{_BARRIER} mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64; "
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%d1], 64, [%r1]; " + _WAIT,
    f"{_BARRIER} prefetch.tensormap [m]; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 64; "
    "mov.u64 %d3, m; mov.u32 %r5, 0; cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx"
    "::bytes [%r2], [%d3, {%r5, %r5}], [%r1]; " + _WAIT,
    f"{_BARRIER} mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 128; mov.u64 %d3, i; mov.u32 %r5, 0; "
    "cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
    "[%r2], [%d3, {%r5, %r5, %r5}], [%r1], {1}; " + _WAIT,
    f"{_BARRIER} st.shared.u32 [%r2], %r1; st.shared.u32 [%r2+4], %r1; st.shared.u32 [%r2+8], %r1; "
    "st.shared.u32 [%r2+12], %r1; fence.proxy.async.shared::cta; "
    "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r2], 16; "
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r2], 16; "
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; WAIT:",
    "mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 4; mov.u32 %r3, s; add.u32 %r3, %r3, %r2; mov.u64 %d1, 0; "
    "st.shared.v2.u64 [%r3], {%d1, %d1}; fence.proxy.async.shared::cta; bar.sync 0; mov.u32 %r3, s; "
    "shr.u32 %r3, %r3, 4; cvt.u64.u32 %d1, %r3; or.b64 %d1, %d1, 0x0000001000080000; setp.eq.u32 %p1, 0, 1; "
    "mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1; "
    f"wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {_FOUR}, %d1, %d1, %p1, "
    "1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
    "setmaxnreg.inc.sync.aligned.u32 240; griddepcontrol.wait; elect.sync %r1|%p1, -1; mov.u32 %r1, s; "
    "mapa.shared::cluster.u32 %r2, %r1, 0; st.shared::cluster.u32 [%r2], %r1; "
    "barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %r3, %cluster_ctarank;",
)
# Of the object in the first parameter.
TEXTURES = (
    f"ld.param.u64 %d1, [p]; mov.f32 %f5, 0f3F000000; tex.2d.v4.f32.f32 {_FOUR}, [%d1, {{%f5, %f5}}];",
    f"ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; tex.1d.v4.f32.s32 {_FOUR}, [%d1, {{%r1}}];",
    f"ld.param.u64 %d1, [p]; mov.f32 %f5, 0f40000000; tld4.r.2d.v4.f32.f32 {_FOUR}, [%d1, {{%f5, %f5}}]; "
    "txq.width.b32 %r1, [%d1];",
    "ld.param.u64 %d1, [p]; mov.u32 %r1, 4; suld.b.2d.b32.trap {%r2}, [%d1, {%r1, %r1}]; "
    "sust.b.2d.b32.trap [%d1, {%r1, %r1}], {%r2};",
)
# 16 x 8 numbers of 32 bits, in boxes of 4 x 4: common/virtual_gpu/tensor_map.h.
_TENSOR_MAP = (0x0207_70616D74 | 7 << 32, 0x0101_0101_0400, "g", 7 << 32 | 15, 0, 0x0303 << 32, 0, 64)
# Pixels of 4 numbers, 8 of them along W and 4 images: 8 at a time, from a bounding box that begins at -1.
_PIXEL_MAP = (
    *(0x0307_70616D74, 0x0101_0101_0101_0400, "g", 7 << 32 | 3, 3, 0xFFFF_FF03 << 32, 8 << 16 | 0xFF),
    *(16, 128, *[0] * 7),
)


def _entry(body: str) -> str:
    words = ", ".join(map(str, (*_TENSOR_MAP, *[0] * 8)))
    pixels = ", ".join(map(str, _PIXEL_MAP))
    return (
        ".version 8.3\n.target sm_90a\n.address_size 64\n"
        ".global .align 64 .u32 g[256] = {1, 2, 3};\n"
        f".global .align 64 .u64 m[16] = {{{words}}};\n"
        f".global .align 64 .u64 i[16] = {{{pixels}}};\n"
        ".visible .entry k(.param .u64 p, .param .u32 q)\n{\n"
        ".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<8>;\n"
        ".shared .align 16 .b8 s[4096]; .local .align 8 .b8 l[64];\n"
        f"{body}\nret;\n}}\n"
    )
