"""What the fused copy saves in a decoding step: the miniature engine with and without it, on a GPU.

    python -m benchmarks.copies.decode_step [--quick] [--out FOLDER]

For each batch and sequence length, both versions interleaved: host and device time of `prepare_for_replay`,
its time inside a graph, copies and replays per second, the latency of the whole step, and how busy the GPU is
while steps follow each other. Writes benchmarks/data/copies/decode_step_GPU.json.
"""

from __future__ import annotations

import functools
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from benchmarks import DATA
from benchmarks.output.options import described_parser
from benchmarks.timing.graphs import event_seconds, graph_times, in_turns, summary, write_result
from common.gpu.clocks import exclusive, read_clocks
from common.serving.batch import Batch
from common.serving.decode_engine import DecodeEngine
from common.serving.device import gpu
from common.serving.fused_copy import FIELDS

SHAPES = ((1, 64), (8, 512), (32, 2048), (128, 4096), (256, 8192), (256, 16_384))
MAX_SEQ_LEN = 16_384 + 1024
SLOTS = 1 << 16
WAYS = {"one by one": False, "fused": True}
_BATCHES = 8  # distinct ones, used in rotation
_BUSY_SECONDS = 1.0
_IN_A_ROW = 100


def synthetic_batch(engine: DecodeEngine, size: int, keys: int, seed: int) -> Batch:
    """Requests of about `keys` keys in random slots, the longest of exactly that many."""
    random = torch.Generator("cuda").manual_seed(seed)

    def numbers(low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, shape, dtype=torch.int32, device="cuda", generator=random)

    seq_lens = numbers(max(1, keys // 2), keys + 1, size)
    seq_lens[0] = keys
    sums = torch.zeros(size + 1, dtype=torch.int32, device="cuda")
    sums[1:] = torch.cumsum(seq_lens, 0)
    order = torch.randperm(SLOTS, device="cuda", generator=random)
    return Batch(
        input_ids=numbers(0, engine.vocabulary, size),
        out_loc=order[:size].to(torch.int32),
        positions=seq_lens - 1,
        seq_lens=seq_lens,
        cu_seqlens_k=sums,
        page_table=numbers(0, SLOTS, size, keys),
        requests=size,
    )


class Way:
    """An engine with one way to copy, and batches used in rotation."""

    def __init__(self, fused: bool, sizes: list[int]) -> None:
        self.engine = DecodeEngine(gpu(), sizes, MAX_SEQ_LEN, SLOTS, fused=fused)
        self.engine.capture()
        self._batches: list[Batch] = []
        self._turn = 0

    def use(self, size: int, keys: int) -> None:
        self._batches = [synthetic_batch(self.engine, size, keys, seed) for seed in range(_BATCHES)]

    def prepare(self) -> int:
        self._turn += 1
        return self.engine.prepare_for_replay(self._batches[self._turn % _BATCHES])

    def step(self) -> None:
        self.engine.replay(self.prepare())

    def prepares(self) -> list[Callable[[], object]]:
        """Each batch's copies, for a graph. They go to the same captured buffers, as in a server."""
        return [functools.partial(self.engine.prepare_for_replay, batch) for batch in self._batches]


def host_seconds(work: Callable[[], object]) -> float:
    """Until the call returns, with nothing on the GPU before it."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def wall_seconds(work: Callable[[], object]) -> float:
    """Until the GPU is done."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def in_a_row(work: Callable[[], object]) -> float:
    """Seconds each, when they follow each other without a wait."""

    def all_of_them() -> None:
        for _ in range(_IN_A_ROW):
            work()

    return wall_seconds(all_of_them) / _IN_A_ROW


MEASURES: dict[str, tuple[Callable[[Callable[[], object]], float], str]] = {
    "host time of prepare_for_replay": (host_seconds, "prepare"),
    "device time of prepare_for_replay": (event_seconds, "prepare"),
    "prepare_for_replay in a row": (in_a_row, "prepare"),
    "step latency": (wall_seconds, "step"),
    "step in a row": (in_a_row, "step"),
}


def measure_shape(ways: Mapping[str, Way], turns: int) -> dict[str, Any]:
    """All figures of one shape; both engines already have their batches."""
    out: dict[str, Any] = {}
    for what, (clock, method) in MEASURES.items():
        measures = {name: functools.partial(clock, getattr(way, method)) for name, way in ways.items()}
        few = turns if clock is not in_a_row else max(5, turns // 10)
        out[what] = summary(in_turns(measures, few), "one by one")
    inside = graph_times({name: way.prepares() for name, way in ways.items()}, turns)
    out["prepare_for_replay inside a graph"] = summary(inside, "one by one")
    for name, way in ways.items():
        prepare = out["prepare_for_replay in a row"][name]["microseconds"]
        step = out["step in a row"][name]["microseconds"]
        out.setdefault("a second", {})[name] = {
            "copies": round(len(FIELDS) / prepare * 1e6),
            "replays": round(1e6 / step),
        }
        busy, replay = utilisation(way)
        out.setdefault("GPU while replaying", {})[name] = {
            "nvidia-smi utilisation": busy,
            "replay alone, microseconds": round(replay * 1e6, 3),
            "share of the step in which the graph runs": round(min(1.0, replay * 1e6 / step), 3),
        }
    return out


def utilisation(way: Way) -> tuple[float | None, float]:
    """nvidia-smi's utilisation while steps follow each other, in per cent; seconds of a replay alone."""
    size = way.prepare()
    replay = in_a_row(lambda: way.engine.replay(size))
    answers: list[float] = []
    over = threading.Event()

    def ask() -> None:
        query = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
        while not over.wait(0.3):
            answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split()
            answers.extend(float(word) for word in answer[:1] if word.isdigit())

    asking = threading.Thread(target=ask)
    asking.start()
    deadline = time.monotonic() + _BUSY_SECONDS
    while time.monotonic() < deadline:
        for _ in range(20):
            way.step()
        torch.cuda.synchronize()
    over.set()
    asking.join()
    return (max(answers) if answers else None), replay


def main() -> None:
    parser = described_parser(__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples, and no file")
    parser.add_argument("--out", type=Path, default=DATA / "copies", help="the folder of the file")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("this is measured on a CUDA GPU, and torch finds none here")
    quick = arguments.quick
    turns = 12 if quick else 120
    shapes = []
    with exclusive():
        sizes = sorted({size for size, _ in SHAPES})
        ways = {name: Way(fused, sizes) for name, fused in WAYS.items()}
        for size, keys in SHAPES:
            for way in ways.values():
                way.use(size, keys)
            figures = measure_shape(ways, turns)
            shapes.append({"batch": size, "keys": keys, **figures})
            _tell(size, keys, figures)
        result = {"max_seq_len": MAX_SEQ_LEN, "clock_mhz": read_clocks().sm_mhz, "shapes": shapes}
    if not quick:
        print(f"written: {write_result(arguments.out, 'decode_step', result)}")


def _tell(size: int, keys: int, figures: Mapping[str, Any]) -> None:
    print(f"{size} × {keys:,}")
    for what in (*MEASURES, "prepare_for_replay inside a graph"):
        plain, fused = (figures[what][name] for name in WAYS)
        print(
            f"  {what:36} {plain['microseconds']:9.2f} us → {fused['microseconds']:9.2f} us   "
            f"{fused['ratio']:.2f}x ({fused['ratio_low']:.2f} to {fused['ratio_high']:.2f})"
        )


if __name__ == "__main__":
    main()
