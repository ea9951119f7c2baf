"""Streams run lazily and in the least helpful order that the program's own joins allow."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator

import pytest

from tests.virtual_gpu.engine_client import (
    ADDRESS,
    HOST_CALLBACK,
    PER_THREAD,
    PINNED,
    TO_HOST,
    EngineProcess,
    Program,
)
from tests.waiting import wait_until

NON_BLOCKING = 1
COUNT = 32
ILLEGAL_STATE, NOT_READY, INVALID_HANDLE, INVALID_VALUE, NOT_PERMITTED = 401, 600, 400, 1, 800
RELAXED = 2  # a mode of captures
# cudaErrorStreamCapture… and its neighbours
UNSUPPORTED, INVALIDATED, UNMATCHED, UNJOINED = 900, 901, 903, 904
ISOLATION, IMPLICIT, CAPTURED, UPDATE_FAILURE = 905, 906, 907, 910


@pytest.fixture
def engine() -> Iterator[EngineProcess]:
    engine = EngineProcess()
    yield engine
    engine.stop()


@pytest.fixture
def program(engine: EngineProcess) -> Program:
    return engine.ready("fill", "add", "fail")


class Buffers:
    """A source of zeros and a result of zeros; a producer fills the one, a consumer adds 1 into the other."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.source, self.result = program.malloc(4 * COUNT), program.malloc(4 * COUNT)
        for address in (self.source, self.result):
            program.write(address, bytes(4 * COUNT))

    def produce(self, stream: int, value: int = 7) -> None:
        assert self.program.launch("fill", self.source, value, COUNT, stream).error == 0

    def consume(self, stream: int) -> None:
        assert self.program.launch("add", self.result, self.source, COUNT, stream).error == 0

    def seen(self) -> int:
        """What the consumer read."""
        values = set(self.program.words(self.result, COUNT))
        assert len(values) == 1
        return values.pop() - 1


@pytest.fixture
def buffers(program: Program) -> Buffers:
    return Buffers(program)


def test_work_of_one_stream_runs_in_order(program: Program, buffers: Buffers) -> None:
    stream = program.stream()
    buffers.produce(stream)
    buffers.consume(stream)
    assert program.on("StreamSync", stream).error == 0
    assert buffers.seen() == 7


@pytest.mark.parametrize("sync", ["the consumer's stream", "the device"])
def test_a_missing_join_shows_stale_data(program: Program, buffers: Buffers, sync: str) -> None:
    producer, consumer = program.stream(NON_BLOCKING), program.stream(NON_BLOCKING)
    buffers.produce(producer)
    buffers.consume(consumer)
    waited = program.ask("DeviceSync") if sync == "the device" else program.on("StreamSync", consumer)
    assert waited.error == 0
    assert buffers.seen() == 0


def test_data_overwritten_too_early_shows(program: Program, buffers: Buffers) -> None:
    reader, writer = program.stream(NON_BLOCKING), program.stream(NON_BLOCKING)
    buffers.consume(reader)
    buffers.produce(writer, 9)
    program.ask("DeviceSync")
    assert buffers.seen() == 9


def test_an_event_joins_two_streams(program: Program, buffers: Buffers) -> None:
    producer, consumer = program.stream(NON_BLOCKING), program.stream(NON_BLOCKING)
    event = program.event()
    buffers.produce(producer)
    assert program.on("EventRecord", event, producer).error == 0
    assert program.on("StreamWait", consumer, event).error == 0
    buffers.consume(consumer)
    program.on("StreamSync", consumer)
    assert buffers.seen() == 7


def test_a_wait_covers_only_what_came_before_the_record(program: Program, buffers: Buffers) -> None:
    producer, consumer = program.stream(NON_BLOCKING), program.stream(NON_BLOCKING)
    event = program.event()
    program.on("EventRecord", event, producer)
    buffers.produce(producer)
    program.on("StreamWait", consumer, event)
    buffers.consume(consumer)
    program.ask("DeviceSync")
    assert buffers.seen() == 0


@pytest.mark.parametrize("stream_kind", ["blocking", "per thread"])
def test_the_legacy_stream_joins_blocking_streams_on_both_sides(
    program: Program, buffers: Buffers, stream_kind: str
) -> None:
    first = program.stream() if stream_kind == "blocking" else PER_THREAD
    buffers.produce(first)
    buffers.consume(0)
    program.ask("DeviceSync")
    assert buffers.seen() == 7
    buffers.produce(0, 8)
    buffers.consume(first)
    program.ask("DeviceSync")
    assert buffers.seen() == 8


def test_the_legacy_stream_does_not_join_a_non_blocking_stream(program: Program, buffers: Buffers) -> None:
    stream = program.stream(NON_BLOCKING)
    buffers.produce(stream)
    buffers.consume(0)
    program.ask("DeviceSync")
    assert buffers.seen() == 0


def test_the_legacy_stream_waits_for_a_destroyed_stream(program: Program, buffers: Buffers) -> None:
    stream = program.stream()
    buffers.produce(stream)
    assert program.on("StreamDestroy", stream).error == 0
    buffers.consume(0)
    program.ask("DeviceSync")
    assert buffers.seen() == 7
    assert program.on("StreamSync", stream).error == INVALID_HANDLE


def test_pinned_memory_read_before_a_wait_is_stale(engine: EngineProcess) -> None:
    greeting = engine.program.hello()
    program = engine.program
    program.load("fill")
    base = struct.unpack_from("=5Q", greeting.payload)[2]
    device, pinned = program.malloc(64), program.malloc(64, PINNED)
    program.write(device, b"x" * 64)
    offset = pinned - base
    page = offset & ~(mmap.PAGESIZE - 1)
    with mmap.mmap(greeting.descriptors[1], mmap.PAGESIZE, offset=page) as view:
        at = offset - page
        sides = (ADDRESS, ADDRESS)
        assert program.copy(pinned, device, 64, sides=sides, kind=TO_HOST, wait=False) == 0
        assert view[at : at + 64] == bytes(64)
        program.on("StreamSync", 0)
        assert view[at : at + 64] == b"x" * 64


def test_small_pageable_copies_take_their_bytes_along(program: Program) -> None:
    stream = program.stream(NON_BLOCKING)
    a, b = program.malloc(16), program.malloc(16)
    program.write(a, b"a" * 16, stream, wait=False)
    program.write(b, b"b" * 16, stream, wait=False)
    program.on("StreamSync", stream)
    assert program.read(a, 16) == b"a" * 16


@pytest.mark.parametrize("what", ["StreamQuery", "EventQuery"])
def test_polling_ends(program: Program, buffers: Buffers, what: str) -> None:
    stream = program.stream(NON_BLOCKING)
    event = program.event()
    buffers.produce(stream)
    program.on("EventRecord", event, stream)
    target = stream if what == "StreamQuery" else event
    answers = [program.on(what, target).error for _ in range(6)]
    assert answers[0] == NOT_READY
    assert answers[-1] == 0
    assert program.words(buffers.source, COUNT) == [7] * COUNT


def test_a_free_in_stream_order_waits_its_turn(
    engine: EngineProcess, program: Program, buffers: Buffers
) -> None:
    stream = program.stream(NON_BLOCKING)
    address = program.malloc(4 * COUNT, stream=stream)
    program.launch("fill", address, 5, COUNT, stream)
    assert program.free(address, stream=stream) == 0
    assert program.free(address, stream=stream) == 1
    assert program.on("StreamSync", stream).error == 0
    report = engine.harness.report()
    assert len(report["launches"]) == 1
    (finding,) = report["findings"]
    assert "a second time" in finding["message"]
    assert program.copy(buffers.source, address, 8, sides=(ADDRESS, ADDRESS), kind=3) == 1
    assert "freed by cudaFreeAsync" in engine.harness.report()["findings"][-1]["message"]


def test_callbacks_run_in_the_program_and_in_order(program: Program, buffers: Buffers) -> None:
    stream = program.stream()
    buffers.produce(stream)
    assert program.ask("HostFunction", struct.pack("=QQQ", stream, 0x1234, 0x77)).error == 0
    buffers.consume(stream)
    asked = program.on("StreamSync", stream)
    assert (asked.error, asked.flags & HOST_CALLBACK) == (0, HOST_CALLBACK)
    function, data, token = struct.unpack("=QQQ", asked.payload)
    assert (function, data) == (0x1234, 0x77)
    # Another wait meanwhile gets the same callback, by its token.
    assert program.on("StreamSync", stream).payload == asked.payload
    assert program.ask("CallbackDone", asked.payload).error == 0
    assert program.ask("CallbackDone", struct.pack("=QQQ", function, data, token)).error == 1
    done = program.on("StreamSync", stream)
    assert (done.error, done.flags) == (0, 0)
    assert buffers.seen() == 7


def test_a_queue_that_nobody_waits_for_stays_bounded(engine: EngineProcess, program: Program) -> None:
    address = program.malloc(4 * COUNT)
    for value in range(4200):
        program.launch("fill", address, value, COUNT)
    assert 0 < engine.harness.report()["totals"]["launches"] < 4200
    program.ask("DeviceSync")
    assert program.words(address, COUNT) == [4199] * COUNT


def test_a_program_that_watches_memory_instead_of_waiting_gets_its_result(
    engine: EngineProcess, program: Program, buffers: Buffers
) -> None:
    buffers.produce(0)
    assert engine.harness.report()["launches"] == []
    assert wait_until(lambda: len(engine.harness.report()["launches"]) == 1)
    assert "watched memory" in engine.harness.report()["messages"][0]


def test_two_runs_are_alike() -> None:
    def run() -> list[tuple[int, str]]:
        engine = EngineProcess()
        try:
            program = engine.ready("fill", "add")
            buffers = Buffers(program)
            streams = [program.stream(NON_BLOCKING) for _ in range(4)]
            for step in range(12):
                (buffers.produce if step % 3 else buffers.consume)(streams[step * 5 % 4])
            program.ask("DeviceSync")
            return [(launch["stream"], launch["kernel"]) for launch in engine.harness.report()["launches"]]
        finally:
            engine.stop()

    assert run() == run()


# --- modelled time -----------------------------------------------------------------------------------


def elapsed(program: Program, start: int, end: int) -> float:
    reply = program.on("EventElapsed", start, end)
    assert reply.error == 0
    return float(struct.unpack("=f", reply.payload)[0])


def test_event_times_are_modelled_and_want_a_wait(program: Program, buffers: Buffers) -> None:
    stream = program.stream()
    start, middle, end = (program.event() for _ in range(3))
    assert program.on("EventElapsed", start, end).error == INVALID_HANDLE
    program.on("EventRecord", start, stream)
    buffers.produce(stream)
    program.on("EventRecord", middle, stream)
    buffers.produce(stream)
    buffers.produce(stream)
    program.on("EventRecord", end, stream)
    assert program.on("EventElapsed", start, end).error == NOT_READY
    program.on("EventSync", end)
    one, two = elapsed(program, start, middle), elapsed(program, middle, end)
    assert 0.0026 <= one < 0.1  # milliseconds: the launch floor, at least
    assert one < two < 2 * one  # a second launch right behind the first costs a gap, not a whole start
    untimed = program.event(2)
    program.on("EventRecord", untimed, stream)
    program.on("EventSync", untimed)
    assert program.on("EventElapsed", start, untimed).error == INVALID_HANDLE


# --- graphs ------------------------------------------------------------------------------------------


def begin(program: Program, stream: int, mode: int = 0) -> int:
    return program.ask("CaptureBegin", struct.pack("=QII", stream, mode, 0)).error


def test_a_captured_graph_runs_when_it_is_launched_and_again(
    engine: EngineProcess, program: Program, buffers: Buffers
) -> None:
    stream = program.stream()
    assert begin(program, stream) == 0
    buffers.produce(stream)
    buffers.consume(stream)
    graph = program.on("CaptureEnd", stream).number()
    assert program.on("GraphNodeCount", graph).number() == 2
    executable = program.on("GraphInstantiate", graph, 0).number()
    assert program.on("GraphDestroy", graph).error == 0
    assert engine.harness.report()["launches"] == []
    for _ in range(3):
        assert program.on("GraphLaunch", executable, stream).error == 0
    program.on("StreamSync", stream)
    assert buffers.seen() == 7
    launches = engine.harness.report()["launches"]
    assert [launch["graph"] for launch in launches] == [True] * 6
    assert program.on("GraphExecDestroy", executable).error == 0
    assert program.on("GraphLaunch", executable, stream).error == 1


@pytest.mark.parametrize("joined", [True, False])
def test_a_fork_in_a_capture_keeps_its_joins(program: Program, buffers: Buffers, joined: bool) -> None:
    main, side = program.stream(), program.stream()
    fork, produced, join = (program.event() for _ in range(3))
    assert begin(program, main) == 0
    program.on("EventRecord", fork, main)
    program.on("StreamWait", side, fork)
    buffers.produce(main)
    program.on("EventRecord", produced, main)
    if joined:
        program.on("StreamWait", side, produced)
    buffers.consume(side)
    program.on("EventRecord", join, side)
    program.on("StreamWait", main, join)
    graph = program.on("CaptureEnd", main)
    assert graph.error == 0
    executable = program.on("GraphInstantiate", graph.number(), 0).number()
    program.on("GraphLaunch", executable, main)
    program.on("StreamSync", main)
    assert buffers.seen() == (7 if joined else 0)


def test_a_fork_that_does_not_come_back_is_unjoined(program: Program, buffers: Buffers) -> None:
    main, side = program.stream(), program.stream()
    fork = program.event()
    begin(program, main)
    program.on("EventRecord", fork, main)
    program.on("StreamWait", side, fork)
    buffers.produce(side)
    assert program.on("CaptureEnd", side).error == UNMATCHED
    begin(program, main)
    assert program.on("CaptureEnd", main).error == INVALIDATED
    begin(program, main)
    program.on("EventRecord", fork, main)
    program.on("StreamWait", side, fork)
    buffers.produce(side)
    assert program.on("CaptureEnd", main).error == UNJOINED


def test_waiting_inside_a_capture_breaks_it(program: Program, buffers: Buffers) -> None:
    stream = program.stream()
    begin(program, stream)
    assert struct.unpack_from("=I", program.on("CaptureInfo", stream).payload)[0] == 1
    buffers.produce(stream)
    assert program.on("StreamSync", stream).error == UNSUPPORTED
    assert struct.unpack_from("=I", program.on("CaptureInfo", stream).payload)[0] == 2
    assert program.launch("fill", buffers.source, 1, COUNT, stream).error == INVALIDATED
    assert program.on("CaptureEnd", stream).error == INVALIDATED
    assert program.on("CaptureEnd", stream).error == ILLEGAL_STATE
    assert program.on("StreamSync", stream).error == 0


def test_calls_that_a_capture_forbids_are_refused(program: Program, buffers: Buffers) -> None:
    stream, other = program.stream(), program.stream(NON_BLOCKING)
    outside, inside = program.event(), program.event()
    program.on("EventRecord", outside, other)
    assert begin(program, 0) == UNSUPPORTED

    def broken_by(call: int, expected: int) -> None:
        assert call == expected
        assert program.on("CaptureEnd", stream).error == INVALIDATED
        assert begin(program, stream) == 0

    assert begin(program, stream) == 0
    assert begin(program, stream) == ILLEGAL_STATE
    broken_by(program.launch("fill", buffers.source, 1, COUNT, 0).error, IMPLICIT)
    broken_by(program.ask("DeviceSync").error, UNSUPPORTED)
    broken_by(program.ask("Malloc", struct.pack("=QIIQ", 8, 0, 0, 0)).error, UNSUPPORTED)
    broken_by(program.write(buffers.source, bytes(8), stream, wait=False), UNSUPPORTED)
    broken_by(program.on("StreamWait", stream, outside).error, ISOLATION)
    program.on("EventRecord", inside, stream)
    assert program.on("EventSync", inside).error == CAPTURED
    assert program.on("CaptureEnd", stream).error == 0


def test_an_executable_graph_takes_new_arguments_of_the_same_shape(
    program: Program, buffers: Buffers
) -> None:
    stream = program.stream()

    def capture(*values: int) -> int:
        begin(program, stream)
        for value in values:
            buffers.produce(stream, value)
        return program.on("CaptureEnd", stream).number()

    executable = program.on("GraphInstantiate", capture(1), 0).number()
    assert program.on("GraphExecUpdate", executable, capture(2)).error == 0
    assert program.on("GraphExecUpdate", executable, capture(3, 4)).error == UPDATE_FAILURE
    program.on("GraphLaunch", executable, stream)
    program.on("StreamSync", stream)
    assert program.words(buffers.source, COUNT) == [2] * COUNT


def test_the_order_of_a_capture_is_changed_on_its_own_stream_alone(program):
    first, second, event = program.stream(), program.stream(), program.event()
    program.ask("CaptureBegin", struct.pack("=QII", first, RELAXED, 0))
    address = program.malloc(4 * COUNT)
    assert program.launch("fill", address, 1, COUNT, stream=first).error == 0
    program.on("EventRecord", event, first)
    program.on("StreamWait", second, event)
    none = struct.pack("=II", 0, 1)
    assert program.ask("CaptureDepend", struct.pack("=Q", second) + none).error == NOT_PERMITTED
    assert program.ask("CaptureDepend", struct.pack("=Q", first) + none).payload == b""
    no_such_node = struct.pack("=QIIi", first, 1, 1, 7)
    assert program.ask("CaptureDepend", no_such_node).error == INVALID_VALUE
    no_such_event = struct.pack("=QQII", first, 999, 0, 0)
    assert program.ask("CaptureEvent", no_such_event).error == INVALID_HANDLE
