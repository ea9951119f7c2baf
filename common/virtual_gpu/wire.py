"""The harness's side of the protocol in protocol.h: one request, one reply, over a Unix stream socket."""

from __future__ import annotations

import array
import os
import select
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from common.core.cpu_time import OutOfTime, TimeLimit, wait_ready
from common.core.errors import CourseError

MAGIC = 0x31555056
VERSION = 2
_ROLE_HARNESS = 1
_REQUEST = struct.Struct("=IIII16x")  # magic, request, payload bytes, serial; no caller in a program
_REPLY = struct.Struct("=IiIII")  # magic, error, flags, payload bytes, serial
_HELLO = struct.Struct("=IIq")  # version, role, pid
_HELLO_REPLY = struct.Struct("=QQQQQ")  # device base and bytes, pinned base and bytes, staging bytes
_ALLOC = struct.Struct("=QQQ")  # bytes, alignment, bytes that nobody will touch
_ADDRESS = struct.Struct("=Q")
_RANGE = struct.Struct("=QQ")  # address, bytes
_ID = struct.Struct("=Q")
_STREAM = struct.Struct("=Ii")  # flags, priority
_CAPTURE = struct.Struct("=QI4x")  # stream, mode
_TWO_IDS = struct.Struct("=QQ")  # graph and flags; executable and stream
_MAX_DESCRIPTORS = 8
_Answer = tuple[int, bytes, list[int]]  # error, payload, descriptors


class Request(IntEnum):
    """Requests that a harness may make; the numbers are protocol.h's."""

    HELLO = 1
    STREAM_CREATE = 62
    CAPTURE_BEGIN = 80
    CAPTURE_END = 81
    GRAPH_INSTANTIATE = 83
    GRAPH_LAUNCH = 84
    GRAPH_NODE_COUNT = 88
    HARNESS_ALLOC = 200
    HARNESS_FREE = 201
    HARNESS_INITIALISE = 202
    HARNESS_REPORT = 203
    HARNESS_RESET = 204
    HARNESS_SYNC = 205
    HARNESS_OPTION = 206
    HARNESS_BEGIN_CALL = 207
    HARNESS_END_CALL = 208


class EngineDied(CourseError):
    """The engine process went away in the middle of a run."""


class EngineRefused(CourseError):
    """The engine answered a request of the harness with an error; `code` is its cudaError_t."""

    def __init__(self, code: int, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@dataclass(frozen=True)
class Greeting:
    """What the engine reports to a harness: where device memory lies, and descriptors of it and of the pinned
    memory that the program shares."""

    device_base: int
    device_bytes: int
    device_descriptor: int
    pinned_descriptor: int


class HarnessChannel:
    """A connection to an engine. Safe to share between threads: one request at a time."""

    def __init__(self, connection: socket.socket, limit: Callable[[], TimeLimit]) -> None:
        """`limit` is for requests that come without one of their own."""
        self._socket = connection
        self._limit = limit
        self._serial = 0
        self._lock = threading.Lock()
        self.gone = False  # the engine has closed its end

    def close(self) -> None:
        self._socket.close()

    def hello(self) -> Greeting:
        _, payload, descriptors = self._answer(
            Request.HELLO, _HELLO.pack(VERSION, _ROLE_HARNESS, os.getpid())
        )
        base, size, *_ = _HELLO_REPLY.unpack_from(payload)
        device, pinned = descriptors
        return Greeting(base, size, device, pinned)

    def allocate(self, name: str, size: int, align: int, unused: int = 0) -> int:
        """Of `size` bytes, `unused` will be touched by nobody, and take no memory."""
        payload = self._ask(Request.HARNESS_ALLOC, _ALLOC.pack(size, align, unused) + name.encode())
        return int(_ADDRESS.unpack_from(payload)[0])

    def free(self, address: int) -> None:
        self._ask(Request.HARNESS_FREE, _ADDRESS.pack(address))

    def initialise(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Tell the engine that the harness has written this memory: addresses, and bytes from each on."""
        for answer in self._answers(Request.HARNESS_INITIALISE, [_RANGE.pack(*one) for one in ranges]):
            _payload(Request.HARNESS_INITIALISE, answer)

    def report(self, limit: TimeLimit | None = None) -> str:
        return self._ask(Request.HARNESS_REPORT, limit=limit).decode(errors="replace")

    def reset(self) -> None:
        self._ask(Request.HARNESS_RESET)

    def option(self, key: str, value: object) -> None:
        self._ask(Request.HARNESS_OPTION, f"{key}={option_text(value)}".encode())

    def create_stream(self, *, blocking: bool) -> int:
        """A stream for the program to use, which it cannot destroy; with `blocking` it takes part in the
        default stream's order."""
        return self._made(Request.STREAM_CREATE, _STREAM.pack(0 if blocking else 1, 0))

    def begin_call(self, stream: int) -> None:
        """The program's next call begins, on a stream that `create_stream` made."""
        self._ask(Request.HARNESS_BEGIN_CALL, _ID.pack(stream))

    def end_call(self) -> None:
        self._ask(Request.HARNESS_END_CALL)

    def begin_capture(self, stream: int) -> None:
        self._ask(Request.CAPTURE_BEGIN, _CAPTURE.pack(stream, 0))

    def end_capture(self, stream: int) -> int:
        """The graph."""
        return self._made(Request.CAPTURE_END, _ID.pack(stream))

    def instantiate(self, graph: int) -> int:
        """The executable graph."""
        return self._made(Request.GRAPH_INSTANTIATE, _TWO_IDS.pack(graph, 0))

    def node_count(self, graph: int) -> int:
        return self._made(Request.GRAPH_NODE_COUNT, _ID.pack(graph))

    def launch_graph(self, executable: int, stream: int) -> None:
        self._ask(Request.GRAPH_LAUNCH, _TWO_IDS.pack(executable, stream))

    def _made(self, request: Request, body: bytes) -> int:
        return int(_ID.unpack_from(self._ask(request, body))[0])

    def synchronise(self, limit: TimeLimit | None = None) -> int:
        """Run everything queued; the cudaError_t that came of it. Raises OutOfTime."""
        ((error, _, _),) = self._exchange(Request.HARNESS_SYNC, [b""], limit or self._limit())
        return error

    def _ask(self, request: Request, body: bytes = b"", limit: TimeLimit | None = None) -> bytes:
        return _payload(request, self._answer(request, body, limit))

    def _answer(self, request: Request, body: bytes, limit: TimeLimit | None = None) -> _Answer:
        (answer,) = self._answers(request, [body], limit)
        return answer

    def _answers(
        self, request: Request, bodies: Sequence[bytes], limit: TimeLimit | None = None
    ) -> list[_Answer]:
        """Of requests that run nothing of the program's: silence is the engine's own fault."""
        try:
            return self._exchange(request, bodies, limit or self._limit())
        except OutOfTime as over:
            raise EngineDied(
                f"the engine of the virtual GPU does not answer {request.name}: {over}"
            ) from over

    def _exchange(self, request: Request, bodies: Sequence[bytes], limit: TimeLimit) -> list[_Answer]:
        """A request with each of the bodies, and the answers in this order. They are sent together: each by
        itself would wait for the engine to wake up."""
        answers: list[_Answer] = []
        with self._lock:
            first, self._serial = self._serial + 1, self._serial + len(bodies)
            try:
                self._send(
                    b"".join(
                        _REQUEST.pack(MAGIC, request, len(body), serial) + body
                        for serial, body in enumerate(bodies, first)
                    ),
                    limit,
                )
                for wanted in range(first, first + len(bodies)):
                    descriptors: list[int] = []
                    reply = self._receive(_REPLY.size, limit, descriptors)
                    magic, error, _, size, serial = _REPLY.unpack(reply)
                    payload = self._receive(size, limit, descriptors)
                    if magic != MAGIC or serial != wanted:
                        raise EngineDied(
                            "the engine of the virtual GPU answered in another protocol: rebuild it"
                        )
                    answers.append((error, payload, descriptors))
            except TimeoutError:
                raise
            except OSError as problem:
                self.gone = True
                raise EngineDied(f"the engine of the virtual GPU is gone ({problem})") from problem
        return answers

    def _send(self, data: bytes, limit: TimeLimit) -> None:
        """An engine that reads nothing must not hold this process up either."""
        left = memoryview(data)
        while left:
            wait_ready(self._socket.fileno(), select.POLLOUT, limit)
            try:
                left = left[self._socket.send(left, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                continue

    def _receive(self, size: int, limit: TimeLimit, descriptors: list[int]) -> bytes:
        data = bytearray()
        while len(data) < size:
            wait_ready(self._socket.fileno(), select.POLLIN, limit)
            chunk, ancillary, _, _ = self._socket.recvmsg(
                min(size - len(data), 1 << 20), socket.CMSG_LEN(_MAX_DESCRIPTORS * 4)
            )
            for level, kind, content in ancillary:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    numbers = array.array("i")
                    numbers.frombytes(content[: len(content) - len(content) % numbers.itemsize])
                    descriptors.extend(numbers)
            if not chunk:
                raise ConnectionResetError("it closed the connection")
            data += chunk
        return bytes(data)


def _payload(request: Request, answer: _Answer) -> bytes:
    error, payload, _ = answer
    if error:
        sentence = payload.decode(errors="replace") or f"{request.name} was refused with error {error}"
        raise EngineRefused(error, sentence)
    return payload


def option_text(value: object) -> str:
    """How the engine spells an option's value: switches are on and off."""
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
