"""Connect a worker's sockets for it, from outside its walls, to the few addresses it may know.

A worker whose policy has `broker_connect` cannot connect: the kernel asks here instead. Its driver needs one
connection, to the driver in this process, which hands over the right to device memory that this process
shares. The address is read once, compared with a table, and that copy is connected to: what the worker
writes over its own meanwhile changes nothing.

The worker's own socket is connected where pidfd_getfd can fetch it. Container engines often refuse that call;
then a socket of this process's takes its place.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import select
import socket
import struct
import threading
import time

from common.core.errors import CourseError

# Names of abstract sockets that a worker may be connected to; PID is this process. NVIDIA's driver counts the
# zero that ends its text in the name. The number before the process's is its namespace's.
_NAMES = (rb"\0cuda-uvmfd-[0-9]{1,20}-PID\0*",)
_TYPES = (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
_SHORTEST_ADDRESS, _LONGEST_ADDRESS = 3, 110  # a family and a byte; struct sockaddr_un

# ioctl requests of a listener, with the layouts of what they read and write.
_RECEIVE, _SEND, _STILL_ASKED, _ADD_DESCRIPTOR = 0xC0502100, 0xC0182101, 0x40082102, 0x40182103
_QUESTION = struct.Struct("=QIIiIQ6Q")  # id, thread, flags, call, architecture, instruction, arguments
_ANSWER = struct.Struct("=QqiI")  # id, value, negative errno, flags
_ADDITION = struct.Struct("=QIIII")  # id, flags, descriptor here, descriptor there, its mode there
_REPLACE = 1  # of those flags: whatever has that number there is closed
_PIDFD_GETFD = 438  # the same on every architecture

_CONNECT_SECONDS = 2.0  # how long a listener may be too busy
_RETRY_SECONDS = 0.01
_END_SECONDS = 1.0
# So many questions are answered at once, then so many per second: a worker cannot keep this process busy.
_BURST, _PER_SECOND = 64, 50

_LISTENING = 1 << 16  # in the flags of /proc/net/unix

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class CannotConnect(CourseError):
    """This process may not look into its worker, so it can connect nothing for it."""


class Connections:
    """A thread that answers the questions of process `worker`, a child of this process that has not been
    waited for, on `listener`, which it closes. It ends when the worker does."""

    def __init__(self, listener: int, worker: int) -> None:
        self._descriptors = [listener]
        self._listener = listener
        self._names = [re.compile(name.replace(b"PID", b"%d" % os.getpid())) for name in _NAMES]
        self._tokens, self._counted = float(_BURST), time.monotonic()
        try:
            self._process = self._keep(os.pidfd_open(worker))
            self._about = self._keep(os.open(f"/proc/{worker}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
            # Its threads share this memory and it can start no other program, so that one look will do.
            self._memory = self._keep(os.open("mem", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._about))
        except OSError as problem:
            self._close()
            raise CannotConnect(
                f"connecting for the worker ({problem.strerror}): device memory cannot be shared with it. "
                "It takes Linux 5.9 and the right to read a child's memory: see kernel.yama.ptrace_scope, "
                "where 0 and 1 will do"
            ) from None
        self._copies = _can_copy(self._process)
        self._thread = threading.Thread(target=self._serve, name=f"connections of {worker}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Wait for the thread to end. Call it when the worker has been killed.

        The wait is bounded: a worker can make its own socket wait for a busy listener at the moment it is
        connected, and that lasts until the dead worker's other connections have been taken from the queue.
        """
        if threading.current_thread() is not self._thread:  # a collection of garbage may call from anywhere
            self._thread.join(_END_SECONDS)

    def _keep(self, descriptor: int) -> int:
        self._descriptors.append(descriptor)
        return descriptor

    def _close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)

    def _serve(self) -> None:
        waiting = select.poll()
        waiting.register(self._listener, select.POLLIN)
        waiting.register(self._process, select.POLLIN)
        try:
            while True:
                events = dict(waiting.poll())
                if self._process in events or not events.get(self._listener, 0) & select.POLLIN:
                    return
                self._pace()
                self._answer_one()
        except OSError:
            return  # the listener is beyond use, and without it every connect fails
        finally:
            self._close()

    def _pace(self) -> None:
        now = time.monotonic()
        self._tokens = min(_BURST, self._tokens + (now - self._counted) * _PER_SECOND) - 1
        self._counted = now
        if self._tokens < 0:
            self._ended_within(-self._tokens / _PER_SECOND)

    def _ended_within(self, seconds: float) -> bool:
        ready = select.poll()
        ready.register(self._process, select.POLLIN)
        return bool(ready.poll(seconds * 1000))

    def _answer_one(self) -> None:
        question = bytearray(_QUESTION.size)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, question)
        except OSError as problem:
            if problem.errno in (errno.ENOENT, errno.EINTR):
                return  # whoever asked has been killed
            raise
        identity, _, _, _, _, _, descriptor, address, length, *_ = _QUESTION.unpack(question)
        try:  # registers are wider than the numbers in them
            code = self._connect(identity, descriptor & 0xFFFFFFFF, address, length & 0xFFFFFFFF)
        except OSError as problem:
            code = problem.errno or errno.EPERM
        except ValueError:  # a table in /proc with a name in it that somebody made to look like a line
            code = errno.EPERM
        try:
            fcntl.ioctl(self._listener, _SEND, bytearray(_ANSWER.pack(identity, 0, -code, 0)))
        except OSError as problem:
            if problem.errno != errno.ENOENT:  # killed, or called away by a signal, while it waited
                raise

    def _connect(self, identity: int, descriptor: int, address: int, length: int) -> int:
        """The errno of a connect, 0 when it succeeded."""
        name = self._name_at(address, length)
        if name is None or not any(allowed.fullmatch(name) for allowed in self._names):
            return errno.EPERM
        fcntl.ioctl(self._listener, _STILL_ASKED, struct.pack("=Q", identity))
        way = self._connect_theirs if self._copies else self._connect_ours
        return way(identity, descriptor, name)

    def _connect_theirs(self, identity: int, descriptor: int, name: bytes) -> int:
        """Connect the worker's own socket, of which this process gets a second descriptor."""
        copy = _copy_descriptor(self._process, descriptor)
        try:
            theirs = socket.socket(fileno=copy)
        except OSError:
            os.close(copy)
            raise
        with theirs:
            if theirs.family != socket.AF_UNIX or theirs.type not in _TYPES:
                return errno.EPERM
            if not _listens_here(name, theirs.type):
                return errno.ECONNREFUSED
            patient = os.get_blocking(copy)
            try:  # the socket has one mode for the worker and for us
                return self._connect_socket(theirs, name, patient)
            finally:
                os.set_blocking(copy, patient)

    def _connect_ours(self, identity: int, descriptor: int, name: bytes) -> int:
        """Connect a new socket and put it in the place of the worker's, whose options are lost."""
        mode = self._mode_of_socket(descriptor)
        kind = next((kind for kind in _TYPES if _listens_here(name, kind)), None)
        if kind is None:
            return errno.ECONNREFUSED
        with socket.socket(socket.AF_UNIX, kind) as ours:
            code = self._connect_socket(ours, name, patient=not mode & os.O_NONBLOCK)
            if code == 0:
                os.set_blocking(ours.fileno(), not mode & os.O_NONBLOCK)
                place = (identity, _REPLACE, ours.fileno(), descriptor, mode & os.O_CLOEXEC)
                fcntl.ioctl(self._listener, _ADD_DESCRIPTOR, _ADDITION.pack(*place))
            return code

    def _mode_of_socket(self, descriptor: int) -> int:
        """The flags that a socket of the worker's was opened with."""
        try:
            target = os.readlink(f"fd/{descriptor}", dir_fd=self._about)
            opened = os.open(f"fdinfo/{descriptor}", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._about)
        except FileNotFoundError:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF)) from None
        with open(opened, encoding="ascii") as file:
            facts = dict(line.split(":", 1) for line in file if ":" in line)
        if not target.startswith("socket:"):
            raise OSError(errno.ENOTSOCK, os.strerror(errno.ENOTSOCK))
        return int(facts["flags"], 8)

    def _name_at(self, address: int, length: int) -> bytes | None:
        """The name in a Unix socket's address in the worker's memory; None for what is no such address."""
        if not _SHORTEST_ADDRESS <= length <= _LONGEST_ADDRESS or address >= 1 << 63:
            return None
        try:
            data = os.pread(self._memory, length, address)
        except OSError:
            return None  # nothing is mapped there
        family = int.from_bytes(data[:2], "little")
        return data[2:] if len(data) == length and family == socket.AF_UNIX else None

    def _connect_socket(self, connecting: socket.socket, name: bytes, patient: bool) -> int:
        """Never waits in the kernel; while the listener is too busy, a patient socket is tried again."""
        deadline = time.monotonic() + (_CONNECT_SECONDS if patient else 0)
        while True:
            connecting.setblocking(False)
            code = connecting.connect_ex(name)
            if code != errno.EAGAIN or time.monotonic() >= deadline or self._ended_within(_RETRY_SECONDS):
                return code


def serve_worker(listeners: list[int], worker: int) -> tuple[list[Connections], list[str]]:
    """The connections of a worker that sent these listeners (one, or none), and what stands in the way."""
    connections, problems = [], []
    while listeners:
        try:
            connections.append(Connections(listeners.pop(), worker))
        except CannotConnect as problem:
            problems.append(str(problem))
    return connections, problems


def _can_copy(process: int) -> bool:
    try:
        os.close(_copy_descriptor(process, 0))
    except OSError:
        return False
    return True


def _copy_descriptor(process: int, descriptor: int) -> int:
    copy = _libc.syscall(
        ctypes.c_long(_PIDFD_GETFD), ctypes.c_int(process), ctypes.c_uint(descriptor), ctypes.c_uint(0)
    )
    if copy < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(copy)


def _listens_here(name: bytes, kind: int) -> bool:
    """Whether all who listen on an abstract name are this process: anybody may take a name that is free."""
    shown = b"@" + name[1:].replace(b"\0", b"@")
    inodes = set()
    with open("/proc/self/net/unix", "rb") as table:
        for line in table:
            fields = line.rstrip(b"\n").split(maxsplit=7)
            if len(fields) < 8 or fields[7] != shown:
                continue
            if int(fields[4], 16) == kind and int(fields[3], 16) & _LISTENING:
                inodes.add(int(fields[6]))
    return bool(inodes) and inodes <= _own_sockets()


def _own_sockets() -> set[int]:
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            found.add(int(target[len("socket:[") : -1]))
    return found
