"""Many calls in one CUDA graph, each on its own buffers: in a worker, or a library's in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from common.gpu.support import SharedBuffer, begin_replay, end_timing
from common.worker.process import Order
from grader.devices.captures import require_captured
from grader.devices.failures import CallFailed
from grader.devices.on_gpu.arena import Arena
from grader.devices.on_gpu.session import GpuSession
from grader.devices.on_gpu.timed import SECONDS, InWorker, Timing, TorchCall
from grader.spec import Call, OnBuffers, Size

# Orders before and after the call of this number.
Around = Callable[[int], tuple[Sequence[Order], Sequence[Order]]]


class WorkerGraph(InWorker):
    """All calls of the arena, captured in a worker from the stream that the entry point gets."""

    def __init__(
        self,
        session: GpuSession,
        entry: str,
        calls: Sequence[Call],
        arena: Arena,
        around: Around = lambda number: ((), ()),
    ) -> None:
        """Raises CallFailed, also when the calls cannot be captured. Overwrites the arena: one call runs
        before the capture as warm-up, which loads modules."""
        super().__init__(session, entry, calls[0], arena)
        ready = session.ask(
            entry,
            SECONDS,
            lambda: [self._one(), session.trusted("settle"), session.trusted("capture_stream")],
            [arena.buffer],
        )
        self._must_be_success(*ready)
        stream = session.last_address()

        def one_captured(number: int) -> list[Order]:
            base = session.opened(arena.buffer)
            before, after = around(number)
            one = session.order(entry, calls[number], lambda name: arena.address(base, number, name), stream)
            return [*before, one, *after]

        def calls_around() -> list[Order]:
            orders = [session.trusted("begin_capture")]
            for number in range(len(calls)):
                orders += one_captured(number)
            return [*orders, session.trusted("end_capture")]

        codes = session.ask(entry, SECONDS, calls_around, ())
        (nodes,) = session.ask(entry, SECONDS, lambda: [session.trusted("captured_nodes")], ())
        try:
            require_captured(entry, codes, nodes)
        except CallFailed:
            session.close()
            raise

    def replay(self, also: Sequence[SharedBuffer] = ()) -> None:
        """Run the graph without a clock; `also` is memory besides the arena that it uses."""
        trusted = self._session.trusted
        codes = self._session.ask(
            self._entry,
            SECONDS,
            lambda: [trusted("launch_graph"), trusted("settle")],
            [self._arena.buffer, *also],
        )
        self._must_be_success(*codes)

    def _orders(self) -> list[Order]:
        trusted = self._session.trusted
        return [trusted("begin_replay"), trusted("launch_graph"), trusted("end_timing")]


class TorchGraph(TorchCall):
    """As many calls of a library, captured by torch in this process."""

    def __init__(self, function: OnBuffers, size: Size, count: int, arena: Arena) -> None:
        import torch

        super().__init__(function, size, arena)
        sets = [arena.views(arena.now(), number) for number in range(count)]
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # warm-up: first calls may allocate and compile
            for _ in range(3):
                function(size, sets[0])
        torch.cuda.current_stream().wait_stream(aside)
        torch.cuda.synchronize()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            for buffers in sets:
                function(size, buffers)
        torch.cuda.synchronize()

    def time(self) -> Timing:
        begin_replay()
        self._graph.replay()
        seconds = end_timing()
        return Timing(seconds, seconds)

    def close(self) -> None:
        super().close()
        self._graph.reset()
