"""A course in a temporary folder whose only exercise is a small kernel with two tunables; and stand-ins for
builders and benches, so that a search can be watched without compiling anything."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from common.build.program import Target
from grader.devices.device import VirtualDevice
from grader.spec import case
from grader.tuning import gates
from grader.tuning.builds import Built, Order
from grader.tuning.find import Tunable, find
from grader.tuning.gates import Footprint
from grader.tuning.search import SearchSetting
from grader.tuning.spec import Config, Limits
from grader.tuning.trial import Contender, TrialFailed
from tests.grader.course_fixtures import use_course

NAME = "09_scaled"
SPACE = 24  # configurations in all
CASE = "4,096 numbers"

TUNING = textwrap.dedent(
    '''
    """Numbers times two, through shared memory."""

    from grader.spec import STREAM, At, Call, Exact, case, i32
    from grader.tuning.spec import Limits, Tuning


    def inputs(size, rng):
        numbers = rng.normal(size.count)
        return Call(
            {"numbers": numbers, "out": numbers * 0 - 1}, ("out",),
            (At("numbers"), At("out"), i32(size.count), STREAM),
        )


    def reference(size, buffers):
        buffers["out"].copy_(buffers["numbers"] * 2)


    def indivisible(config):
        if 4096 % (config["THREADS"] * config["EACH"]):
            return "blocks do not divide the numbers"


    tuning = Tuning(
        entry="scale",
        tunables={"THREADS": (32, 64, 96, 128, 256, 512), "EACH": (1, 2, 4, 8)},
        defaults={"THREADS": 32, "EACH": 1},
        indivisible=indivisible,
        threads=lambda config: config["THREADS"],
        blocks_per_sm=lambda config: 1,
        shared_bytes=lambda config, size: 4 * config["THREADS"] * config["EACH"],
        kernel=lambda size: "scale_kernel",
        gated=Limits(registers=96, shared_bytes=8192, spills=False),
        inputs=inputs,
        reference=reference,
        compare=Exact(),
        cases=(case("4,096 numbers", count=4096), case("many", gpu_only=True, count=1 << 24)),
    )
    '''
)
KERNEL = textwrap.dedent(
    """
    #include <cuda_runtime.h>
    #ifndef THREADS
    #define THREADS 32
    #endif
    #ifndef EACH
    #define EACH 1
    #endif
    static_assert(4096 % (THREADS * EACH) == 0);
    __global__ void __launch_bounds__(THREADS) scale_kernel(const float* numbers, float* out) {
      extern __shared__ float mine[];
      for (int i = threadIdx.x; i < THREADS * EACH; i += THREADS) {
        mine[i] = numbers[blockIdx.x * THREADS * EACH + i];
        out[blockIdx.x * THREADS * EACH + i] = 2 * mine[i];
      }
    }
    extern "C" int scale(const float* numbers, float* out, int count, cudaStream_t stream) {
      constexpr int kBlock = THREADS * EACH;
      scale_kernel<<<count / kBlock, THREADS, 4 * kBlock, stream>>>(numbers, out);
      return cudaGetLastError();
    }
    """
)


@pytest.fixture
def tuned_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The course's folder, which is also the current one."""
    root = tmp_path / "course"
    exercise, solution = root / "exercises" / NAME, root / "solutions" / NAME
    for folder, file, content in ((exercise, "tuning.py", TUNING), (solution, "kernel.cu", KERNEL)):
        folder.mkdir(parents=True)
        (folder / file).write_text(content)
    return use_course(root, monkeypatch)


def setting_of(tunable: Tunable | None = None, limits: Limits | None = None) -> SearchSetting:
    """The small kernel on the virtual GPU, in the course that is current."""
    tunable = tunable or find("09")
    limits = limits or tunable.tuning.gated
    return SearchSetting(
        tunable, case(CASE, count=4096), Target.virtual(), limits, gates.multiprocessor(VirtualDevice())
    )


class FakeBuilder:
    """Everything compiles at once. `registers` says what each configuration takes."""

    at_once = 2

    def __init__(self, registers: Callable[[Config], int] = lambda config: 32) -> None:
        self._registers = registers
        self.orders: list[Order] = []

    def start(self, order: Order) -> Future[Built]:
        self.orders.append(order)
        taken = Footprint(order.before.threads, order.before.shared, self._registers(order.config))
        refusal = gates.after_build(taken, order.limits, order.sm)
        done: Future[Built] = Future()
        # The fake bench reads the configuration out of the library's path.
        library = None if refusal else Path("/".join(f"{n}={v}" for n, v in order.config.items()))
        done.set_result(Built(taken, library, refusal))
        return done


@dataclass
class FakeContender:
    """Takes the given seconds, sample by sample."""

    times: Callable[[], float]
    counted: Mapping[str, float] = field(default_factory=dict)
    taken: int = 0
    asked_to_count: int = 0
    closed: bool = False

    def seconds(self) -> float:
        self.taken += 1
        return self.times()

    def counters(self) -> Mapping[str, float]:
        self.asked_to_count += 1
        return self.counted

    def close(self) -> None:
        assert not self.closed, "closed twice"
        self.closed = True


class FakeBench:
    """`seconds` says what each configuration takes; what takes less than nothing is wrong."""

    def __init__(self, seconds: Callable[[Config], float], *, modelled: bool = True) -> None:
        self._seconds = seconds
        self.modelled = modelled
        self.entered: list[FakeContender] = []

    def enter(self, built: Built) -> Contender:
        assert built.library is not None
        config = {part.partition("=")[0]: int(part.partition("=")[2]) for part in built.library.parts}
        seconds = self._seconds(config)
        if seconds < 0:
            raise TrialFailed("its answer is wrong")
        self.entered.append(FakeContender(lambda: seconds))
        return self.entered[-1]
