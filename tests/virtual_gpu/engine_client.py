"""A program's and a harness's end of the engine's protocol, spoken byte by byte for the tests."""

from __future__ import annotations

import array
import json
import os
import re
import socket
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from common.build.engine.build import build_engine
from tests.waiting import LONG

FOLDER = Path(__file__).resolve().parents[2] / "common" / "virtual_gpu"
MAGIC, VERSION = 0x31555056, 2
PRINTF_PENDING, HOST_CALLBACK, STICKY = 1, 2, 4
DEVICE, PINNED, MANAGED = 0, 1, 2
ADDRESS, STAGING = 0, 1
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3
LEGACY, PER_THREAD = 0, 2
REQUEST, _REPLY = struct.Struct("=4IQI4x"), struct.Struct("=IiIII")


def request_numbers() -> dict[str, int]:
    """The numbers of `enum class Request`, from the header itself: {"Hello": 1, …}."""
    text = (FOLDER / "protocol.h").read_text()
    body = text[text.index("enum class Request") :].split("{", 1)[1].split("};", 1)[0]
    numbers: dict[str, int] = {}
    last = 0
    for name, value in re.findall(r"^\s*k(\w+)(?:\s*=\s*(\d+))?,", body, re.MULTILINE):
        last = int(value) if value else last + 1
        numbers[name] = last
    return numbers


REQUESTS = request_numbers()

# A kernel's way to its element: its number in %d4, its offset in bytes in %d5.
_TO_ELEMENT = """\
  .reg .pred %p<2>;
  .reg .b32 %r<7>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [a];
  ld.param.u64 %d2, [b];
  ld.param.u64 %d3, [c];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.s32 %r4, %r1, %r2, %r3;
  cvt.u64.u32 %d4, %r4;
  setp.ge.u64 %p1, %d4, %d3;
  @%p1 bra DONE;
  shl.b64 %d5, %d4, 2;
"""
# Kernels with three 64-bit parameters each: (destination, value or source, count).
PTX = """
.version 8.0
.target sm_80
.address_size 64

.visible .entry fill(.param .u64 a, .param .u64 b, .param .u64 c)
{
  TO_ELEMENT
  add.s64 %d6, %d1, %d5;
  cvt.u32.u64 %r5, %d2;
  st.global.u32 [%d6], %r5;
DONE:
  ret;
}

.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c)
{
  TO_ELEMENT
  add.s64 %d6, %d2, %d5;
  add.s64 %d7, %d1, %d5;
  ld.global.u32 %r5, [%d6];
  add.s32 %r6, %r5, 1;
  st.global.u32 [%d7], %r6;
DONE:
  ret;
}

.visible .entry spin(.param .u64 a, .param .u64 b, .param .u64 c)
{
LOOP:
  bra LOOP;
}

.visible .entry fail(.param .u64 a, .param .u64 b, .param .u64 c)
{
  trap;
  ret;
}
""".replace("  TO_ELEMENT\n", _TO_ELEMENT)


@dataclass
class Reply:
    """One answer of the engine."""

    error: int
    flags: int
    payload: bytes
    descriptors: list[int] = field(default_factory=list)

    def number(self) -> int:
        return int(struct.unpack_from("=Q", self.payload)[0])

    def text(self) -> str:
        return self.payload.decode()


class Peer:
    """One end of a connection to the engine."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self.serial = 0
        self.caller = (0, 0)  # offset and module of the code that calls the API
        end.settimeout(60)

    def send_raw(self, data: bytes) -> None:
        self.socket.sendall(data)

    def send(self, name: str | int, body: bytes = b"") -> None:
        number = REQUESTS[name] if isinstance(name, str) else name
        self.serial += 1
        self.send_raw(REQUEST.pack(MAGIC, number, len(body), self.serial, *self.caller) + body)

    def receive(self) -> Reply:
        descriptors: list[int] = []
        magic, error, flags, size, serial = _REPLY.unpack(self._read(_REPLY.size, descriptors))
        assert (magic, serial) == (MAGIC, self.serial)
        return Reply(error, flags, self._read(size, descriptors), descriptors)

    def ask(self, name: str | int, body: bytes = b"") -> Reply:
        self.send(name, body)
        return self.receive()

    def is_closed(self) -> bool:
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self.socket.close()

    def _read(self, size: int, descriptors: list[int]) -> bytes:
        data = b""
        while len(data) < size:
            chunk, ancillary, _, _ = self.socket.recvmsg(min(size - len(data), 1 << 20), socket.CMSG_LEN(64))
            for _, _, content in ancillary:
                numbers = array.array("i")
                numbers.frombytes(content)
                descriptors.extend(numbers)
            if not chunk:
                raise ConnectionResetError("the engine closed the connection")
            data += chunk
        return data


class Program(Peer):
    """A program with one module loaded, calling what the runtime library would."""

    def __init__(self, end: socket.socket) -> None:
        super().__init__(end)
        self.functions: dict[str, int] = {}
        self.staging: int | None = None

    def hello(self, version: int = VERSION, role: int = 0) -> Reply:
        reply = self.ask("Hello", struct.pack("=IIq", version, role, os.getpid()))
        if reply.descriptors:
            self.staging = reply.descriptors[0]
        return reply

    def load(self, *names: str) -> None:
        reply = self.ask("LoadModule", PTX.encode())
        assert reply.error == 0, reply.text()
        module = reply.payload
        for name in names:
            self.functions[name] = self.ask("GetFunction", module + name.encode()).number()

    def malloc(self, size: int, kind: int = DEVICE, stream: int | None = None) -> int:
        reply = self.ask("Malloc", struct.pack("=QIIQ", size, kind, stream is not None, stream or 0))
        assert reply.error == 0, reply.text()
        return reply.number()

    def free(self, address: int, kind: int = DEVICE, stream: int | None = None) -> int:
        return self.ask("Free", struct.pack("=QIIQ", address, kind, stream is not None, stream or 0)).error

    def launch(
        self, kernel: str, a: int = 0, b: int = 0, c: int = 0, stream: int = LEGACY, block: int = 32
    ) -> Reply:
        body = struct.pack("=QQ12I", self.functions[kernel], stream, 1, 1, 1, block, 1, 1, 0, 0, 0, 0, 0, 24)
        return self.ask("Launch", body + struct.pack("=QQQ", a, b, c))

    def copy(
        self,
        dst: int,
        src: int,
        size: int,
        *,
        sides: tuple[int, int],
        kind: int,
        stream: int = 0,
        wait: bool = True,
    ) -> int:
        body = struct.pack("=8Q4I", dst, src, size, size, size, 1, stream, 0, *sides, not wait, kind)
        return self.ask("Copy", body).error

    def write(self, address: int, data: bytes, stream: int = LEGACY, wait: bool = True) -> int:
        assert self.staging is not None
        os.pwrite(self.staging, data, 0)
        return self.copy(
            address, 0, len(data), sides=(ADDRESS, STAGING), kind=TO_DEVICE, stream=stream, wait=wait
        )

    def read(self, address: int, size: int, stream: int = LEGACY) -> bytes:
        assert self.staging is not None
        error = self.copy(0, address, size, sides=(STAGING, ADDRESS), kind=TO_HOST, stream=stream)
        assert error == 0, error
        return os.pread(self.staging, size, 0)

    def words(self, address: int, count: int, stream: int = LEGACY) -> list[int]:
        return list(struct.unpack(f"={count}I", self.read(address, 4 * count, stream)))

    def stream(self, flags: int = 0) -> int:
        return self.ask("StreamCreate", struct.pack("=Ii", flags, 0)).number()

    def event(self, flags: int = 0) -> int:
        return self.ask("EventCreate", struct.pack("=II", flags, 0)).number()

    def on(self, name: str, *ids: int) -> Reply:
        """A request that takes ids alone."""
        return self.ask(name, struct.pack(f"={len(ids)}Q", *ids))


class Harness(Peer):
    """The trusted end."""

    def hello(self) -> Reply:
        return self.ask("Hello", struct.pack("=IIq", VERSION, 1, os.getpid()))

    def allocate(self, name: str, size: int, align: int = 256, unused: int = 0) -> int:
        reply = self.ask("HarnessAlloc", struct.pack("=QQQ", size, align, unused) + name.encode())
        assert reply.error == 0, reply.text()
        return reply.number()

    def report(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.ask("HarnessReport").payload)
        return data


@cache
def engine_binary() -> str:
    return os.environ.get("VGPU_ENGINE") or str(build_engine().engine)


class EngineProcess:
    """A running engine with both ends of its sockets in this process."""

    def __init__(self, arguments: Sequence[str] = (), harness: bool = True) -> None:
        program, program_end = socket.socketpair()
        trusted, trusted_end = socket.socketpair()
        command = [engine_binary(), "--program-fd", str(program_end.fileno())]
        if harness:
            command += ["--harness-fd", str(trusted_end.fileno())]
        self.process = subprocess.Popen(
            [*command, *arguments],
            pass_fds=(program_end.fileno(), trusted_end.fileno()),
            stderr=subprocess.PIPE,
            text=True,
        )
        program_end.close()
        trusted_end.close()
        self.program, self.harness = Program(program), Harness(trusted)
        if harness:
            self.harness.hello()

    def ready(self, *kernels: str) -> Program:
        """The program's end, with hello said and the module loaded."""
        assert self.program.hello().error == 0
        if kernels:
            self.program.load(*kernels)
        return self.program

    def end(self) -> tuple[int, str]:
        """Close both ends and wait: the engine's status and what it said."""
        self.program.close()
        self.harness.close()
        return self.wait()

    def wait(self) -> tuple[int, str]:
        _, said = self.process.communicate(timeout=LONG)
        return self.process.returncode, said

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def stop(self) -> None:
        self.program.close()
        self.harness.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
