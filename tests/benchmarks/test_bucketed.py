"""The benchmarks of the bucketed cache: what they measure is right, and every chart can be drawn."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from benchmarks import DATA
from benchmarks.bucketed import accuracy, drift, latency, plots, profile
from benchmarks.bucketed.allocations import BUDGETS, bench_widths, by_importance, shuffled
from benchmarks.bucketed.context import Context
from benchmarks.bucketed.exact import exact_attention, held_by, quantized_at, row_errors
from benchmarks.bucketed.stored import cache_bytes, stored
from benchmarks.bucketed.worlds import SINKS, NormalWorld, SkewedWorld
from benchmarks.output import charts
from common.serving.bucketed.backends import TorchBackend

CPU = torch.device("cpu")
MADE_UP = {"device": "no device: figures of a test", "driver": None}


def wall_clock(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


@pytest.fixture(scope="module")
def small() -> Context:
    return Context(2, 2, 150, 32, "cpu")


def test_exact_attention_is_torchs(small: Context):
    by_token = (small.keys.transpose(1, 2), small.values.transpose(1, 2))
    out, weights = exact_attention(small.queries, *by_token)
    wanted = torch.nn.functional.scaled_dot_product_attention(
        small.queries.float().unsqueeze(2), small.keys.float(), small.values.float()
    )
    assert row_errors(out, wanted.squeeze(2)).max() < 1e-5
    assert torch.allclose(weights.sum(1), torch.full((2,), 2.0))


def test_buckets_hold_every_token_at_its_width_in_no_more_bytes_than_theory_says(small: Context):
    widths = shuffled(np.broadcast_to(bench_widths(150, 0.25), (2, 150)), seed=1)
    buckets = stored(TorchBackend(CPU), small.keys, small.values, widths, torch.float32)
    keys, values = held_by(buckets, 150)
    chosen = torch.from_numpy(widths)
    assert torch.equal(keys, quantized_at(small.keys.transpose(1, 2), chosen))
    assert torch.equal(values, quantized_at(small.values.transpose(1, 2), chosen))
    assert cache_bytes(buckets) == sum(2 * 2 * (32 * int(bits) // 8 + 4) for bits in widths.ravel())


def test_importance_gives_the_highest_widths_to_the_heaviest_tokens():
    importance = np.array([[0.1, 0.9, 0.5, 0.0], [4.0, 3.0, 2.0, 1.0]])
    given = by_importance(np.array([8, 4, 3, 2]), importance)
    assert given.tolist() == [[3, 8, 4, 2], [8, 4, 3, 2]]


def test_a_few_tokens_have_most_of_the_weight_in_the_skewed_world_alone():
    shares = {}
    for name, world in {
        "normal": NormalWorld(1, 4, 2, 64, 1, "cpu"),
        "skewed": SkewedWorld(1, 4, 2, 64, 1, "cpu", topic_steps=1000),
    }.items():
        _, weights = exact_attention(*(world.queries(600), *world.tokens(0, 600)))
        shares[name] = (weights / weights.sum()).sort(descending=True).values[:, :30].sum().item()
    assert shares["normal"] < 0.35
    assert shares["skewed"] > 0.6


def test_the_skewed_world_looks_at_sinks_and_at_recent_tokens():
    world = SkewedWorld(1, 4, 2, 64, 1, "cpu", topic_steps=1000)
    _, weights = exact_attention(*(world.queries(600), *world.tokens(0, 600)))
    usual = weights.median()
    assert weights[0, :SINKS].mean() > 20 * usual
    assert weights[0, -8:].mean() > 5 * usual


def test_accuracy_shows_that_importance_is_what_the_widths_are_for():
    sizes = accuracy.Sizes(context=256, kv_heads=2, group=2, head_dim=64, seen=6, judged=3)
    world = SkewedWorld(1, 2, 2, 64, 2, "cpu", topic_steps=1 << 60)
    points = accuracy.judge(world, sizes)["points"]
    errors = {(point["allocation"], point["budget_asked"]): point["error_median"] for point in points}
    for budget in BUDGETS:
        assert errors[accuracy.IMPORTANCE, budget] < errors[accuracy.IMPORTANCE_SHUFFLED, budget]
    for point in points:
        if point["allocation"] == accuracy.IMPORTANCE:
            assert point["budget"] <= point["budget_asked"]


def test_every_chart_of_times_can_be_drawn(small: Context, tmp_path: Path):
    """The torch backend stands in for the kernels, and the host's clock for the GPU's."""
    backend = TorchBackend(CPU)
    shapes = [latency.measure(small, backend, backend, wall_clock, 2, bandwidth=1e10)]
    kinds = {way["kind"] for way in shapes[0]["ways"]}
    assert kinds >= {
        "baseline",
        "int8",
        "mix",
        "planned",
        "fp16 scales",
        "mix with weights",
        "single",
        "bucket",
    }
    result = {**MADE_UP, "heads": 2, "head_dim": 32, "copy_bytes_per_second": 1e10, "shapes": shapes}
    names = drawn(tmp_path, "latency_test", result)
    assert names == {f"latency_test_{chart}.png" for chart in ("buckets", "bytes", "errors")}


@pytest.mark.parametrize("timed", [False, True], ids=["without times", "with times"])
def test_the_chart_of_a_long_run_can_be_drawn(timed: bool, tmp_path: Path):
    sizes = drift.Sizes(kv_heads=1, head_dim=32, window=32, steps=12, plan_every=4, check_every=4)
    runs = [
        {"budget": budget, "checkpoints": drift.run(run, wall_clock if timed else None)}
        for budget in BUDGETS[1:3]
        for run in [drift.Drift(sizes, budget, "cpu", "cpu")]
    ]
    result = {**MADE_UP, "computed_by": "cpu", "sizes": vars(sizes), "runs": runs}
    assert drawn(tmp_path, "drift_test", result) == {"drift_test.png"}


def test_what_was_measured_can_be_drawn(tmp_path: Path):
    made = list(charts.draw_all(plots.CHARTS, DATA / "bucketed", tmp_path))
    assert "accuracy.png" in {path.name for path in made}


def drawn(folder: Path, stem: str, result: dict[str, Any]) -> set[str]:
    (folder / f"{stem}.json").write_text(json.dumps(result))
    return {path.name for path in charts.draw_all(plots.CHARTS, folder, folder / "plots")}


def test_ncus_table_is_read_launch_by_launch():
    text = "\n".join(
        [
            "==PROF== Connected to process 1",
            '"ID","Kernel Name","gpu__time_duration.sum","dram__bytes_read.sum",'
            '"launch__registers_per_thread"',
            '"","","ns","byte","register/thread"',
            '"0","void attention_kernel<128>(Attention, Parts)","151,000","545000000","126"',
            '"1","merge_kernel(const float *)","2000","","n/a"',
        ]
    )
    found = profile.parse_ncu(text)
    assert list(found) == ["0 attention_kernel", "1 merge_kernel"]
    assert found["0 attention_kernel"]["time, µs"] == "151.0"
    assert found["0 attention_kernel"]["read from DRAM, MB"] == "545.0"
    assert found["1 merge_kernel"]["registers per thread"] == "–"
    assert "151.0" in profile.table(found)
