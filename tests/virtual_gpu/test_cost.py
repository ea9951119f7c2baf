"""The cost model: known limits are named, orders hold, and the same launch always takes the same time."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

from benchmarks.model.compare import ALL_PARTS, EARLIER_PART, UNSEEN_PART, Summary, pairs, parts, summary
from benchmarks.model.document import read
from benchmarks.model.predict import build_for_the_model, predict
from benchmarks.model.programs import PROGRAMS
from common.build.program import Target, build_program
from common.build.resources import resources_in, write_for_engine
from common.core.errors import CourseError
from common.virtual_gpu.cost import ModelledTime, modelled
from common.virtual_gpu.profiles import find_profile
from common.virtual_gpu.report import Launch
from common.virtual_gpu.session import run_program
from grader.actions import calibrate as calibration
from grader.cli.machine import calibrate

FLOOR = 2.66e-6 + 767 / 1.98e9  # an empty launch, and a trip for code and parameters
QUICK = dict.fromkeys(("memory", "race", "init", "sync", "async"), "off")

KV_VARIANTS = ("kv_two_launches", "kv_baseline", "kv_async", "kv_loads_first")
KV_TOKENS = (1, 64, 256, 1024, 4096)


@cache
def built(program: str) -> Path:
    (found,) = (one for one in PROGRAMS if one.source.stem == program)
    return build_for_the_model(found)


def launches_of(
    program: str, case: str, *, compiled: Path | None = None, **options: object
) -> tuple[Launch, ...]:
    run = run_program(
        built(program),
        ["run", case],
        options={**QUICK, **options},
        resources=compiled,
        timeout=60,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert run.status == 0, run.stderr
    return run.report.launches


@cache
def time_of(program: str, case: str) -> ModelledTime:
    with tempfile.TemporaryDirectory() as folder:
        kernels = resources_in(built(program), "sm_90")
        assert kernels is not None
        return modelled(launches_of(program, case, compiled=write_for_engine(kernels, Path(folder))))


def microseconds(program: str, case: str) -> float:
    return time_of(program, case).seconds * 1e6


@cache
def measured() -> dict[str, float]:
    return {case["name"]: case["microseconds"] for case in read("measured_h200.json")["cases"]}


@pytest.mark.parametrize("tokens", KV_TOKENS)
def test_kv_store_times_are_near_the_measured_ones(tokens: int):
    for variant in KV_VARIANTS:
        off = microseconds("kv_store", f"{variant}_{tokens}") / measured()[f"{variant}_{tokens}"]
        assert 0.85 < off < 1.12, (variant, off)


@pytest.mark.parametrize("tokens", KV_TOKENS)
def test_kv_store_speedups_over_the_baseline_are_near_the_measured_ones(tokens: int):
    baseline, measured_baseline = microseconds("kv_store", case := f"kv_baseline_{tokens}"), measured()[case]
    for variant in KV_VARIANTS:
        speedup = baseline / microseconds("kv_store", f"{variant}_{tokens}")
        taken = measured_baseline / measured()[f"{variant}_{tokens}"]
        assert speedup / taken == pytest.approx(1, abs=0.15), variant


def test_the_baseline_waits_for_each_trip_and_says_so():
    time = time_of("kv_store", "kv_baseline_64")
    assert time.limiter == "latency"
    assert time.round_trips == 9  # the index, then four trips a row
    assert time.sentence == "9 dependent DRAM round trips of 0.39 us each bound it"
    assert time_of("kv_store", "kv_async_64").round_trips == 1


@pytest.mark.parametrize(
    ("program", "case", "limiter"),
    [
        ("copies", "copy_16m_16_bytes", "dram"),
        ("copies", "copy_4m_1_byte", "dispatch"),
        ("transposes", "transpose_naive_reads_in_rows_2048", "l2"),
        ("transposes", "transpose_tile_2048", "shared"),
        ("reductions", "histogram_global", "atomics"),
        ("sequences", "chain_of_32", "latency"),
        ("sequences", "sequence_64k_added_12_times", "launch"),
    ],
)
def test_the_limit_of_a_kernel_made_for_it_is_named(program: str, case: str, limiter: str):
    time = time_of(program, case)
    assert time.limiter == limiter
    assert time.sentence.endswith((" it", " us", "blocks"))


@pytest.mark.parametrize("case", ["copy_16m_16_bytes", "read_stride_8"])
def test_bytes_over_the_rate_that_a_sentence_names_are_its_time(case: str):
    """One way, DRAM is faster than with reads and writes in turns; so are stores that stay in L2."""
    time = time_of("copies", case)
    found = re.fullmatch(r"([\d.]+) MB of DRAM traffic at ([\d.]+) TB/s bound it", time.sentence)
    assert found, time.sentence
    megabytes, rate = map(float, found.groups())
    assert megabytes / rate * 1e-6 == pytest.approx(time.terms["dram"], rel=0.01)


def test_every_hop_of_a_chain_is_a_round_trip():
    assert [time_of("sequences", f"chain_of_{hops}").round_trips for hops in (8, 32, 128)] == [8, 32, 128]


@pytest.mark.parametrize("kind", ["read", "write"])
def test_wider_strides_are_never_faster(kind: str):
    times = [microseconds("copies", f"{kind}_stride_{stride}") for stride in (1, 2, 4, 8, 16, 32)]
    assert times == sorted(times)


def test_bank_conflicts_cost_and_padding_saves():
    assert microseconds("transposes", "transpose_tile_2048") > 1.3 * microseconds(
        "transposes", "transpose_tile_padded_2048"
    )


def test_what_the_launch_before_left_in_l2_is_not_read_again():
    first, *later = launches_of("sequences", "sequence_4m_added_4_times")
    assert all(launch.cost.terms["dram"] < 0.6 * first.cost.terms["dram"] for launch in later)


def test_a_sequence_takes_its_floor_its_gaps_and_its_bodies():
    launches = launches_of("sequences", "sequence_64k_in_8_pieces")
    bodies = sum(launch.cost.body_seconds for launch in launches)
    assert modelled(launches).seconds == pytest.approx(FLOOR + 7 * 1.544e-6 + bodies)
    assert modelled(launches[:1]).seconds == pytest.approx(launches[0].modelled_seconds)
    assert modelled(()) == ModelledTime()


@pytest.mark.parametrize(
    ("program", "case"),
    [
        ("kv_store", "kv_async_256"),
        ("reductions", "histogram_by_warp"),
        ("normalise", "softmax_three_passes_256"),
    ],
)
def test_time_does_not_depend_on_cpu_threads(program: str, case: str):
    costs = [[launch.cost for launch in launches_of(program, case, threads=n)] for n in (1, 2, 2)]
    assert costs[0] == costs[1] == costs[2]


def test_without_the_model_a_launch_takes_the_floor_alone():
    (launch,) = launches_of("kv_store", "kv_async_64", cost="off")
    assert launch.modelled_seconds == pytest.approx(FLOOR)
    assert launch.cost.limiter == ""
    assert launch.cost.terms == {}


def test_calibration_says_when_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(calibration, "find_gpus", lambda: ())
    with pytest.raises(CourseError, match="this machine has none"):
        calibrate.main([])


def test_a_calibrated_profile_has_every_number_of_a_profile():
    base = find_profile("h200")
    profile = calibration.profile_of({"name": "Card", "sms": 7, "dram_latency_cycles": 500.0}, base)
    assert profile.keys() == vars(base).keys()
    assert (profile["sms"], profile["dram_latency_cycles"]) == (7, 500.0)
    assert calibration.identity_of("NVIDIA GeForce RTX 4090") == "rtx_4090"


def test_calibrating_the_virtual_gpu_finds_its_profile():
    """The latencies and rates that the program measures are those the model was given."""
    built = build_program([calibration.SOURCE], Target.virtual()).path
    run = run_program(built, ["64"], options=QUICK, timeout=120, stdout=subprocess.PIPE)
    assert run.status == 0
    measured = json.loads(run.stdout)
    profile = vars(find_profile("h200"))
    assert measured.keys() <= profile.keys()
    for name in ("dram_latency_cycles", "l2_latency_cycles", "dispatch_blocks_per_second", "launch_floor_us"):
        assert measured[name] == pytest.approx(profile[name], rel=0.1), name


def _figures(**microseconds: float) -> dict[str, object]:
    return {
        "cases": [
            {"program": "p", "family": "f", "name": name, "microseconds": t}
            for name, t in microseconds.items()
        ]
    }


def test_a_comparison_counts_order_and_ratio_errors():
    found = pairs(_figures(a=10, b=22, c=9.5), _figures(a=10, b=20, c=12))
    assert [(pair.first, pair.second, pair.apart, pair.ordered) for pair in found] == [
        ("a", "b", True, True),
        ("a", "c", True, False),
        ("b", "c", True, True),
    ]
    total = summary(found)
    assert (total.pairs, total.apart, total.ordered) == (3, 3, 2)
    assert total.worst.error == pytest.approx(22 / 9.5 / (20 / 12) - 1)


def _committed() -> dict[str, Summary]:
    found = parts(pairs(read("predicted_h200.json"), read("measured_h200.json")))
    return {name: summary(part) for name, part in found.items()}


def test_every_committed_prediction_was_measured():
    predicted, measured = read("predicted_h200.json"), read("measured_h200.json")
    assert [case["name"] for case in predicted["cases"]] == [case["name"] for case in measured["cases"]]


@pytest.mark.parametrize(("part", "median"), [(UNSEEN_PART, 0.11), (EARLIER_PART, 0.08), (ALL_PARTS, 0.06)])
def test_the_committed_comparison_bears_out_the_claims(part: str, median: float):
    total = _committed()[part]
    assert total.share_ordered >= 0.95
    assert total.median_error <= median


@pytest.mark.parametrize(
    ("program", "case"),
    [
        ("kv_store", "kv_async_64"),
        ("copies", "copy_256k_16_bytes"),
        ("transposes", "transpose_tile_512"),
        ("reductions", "row_sum_block_128x16384"),
        ("matmuls", "matmul_mma_padded_two_stages_512"),
        ("attention", "attention_mma_padded_8"),
        ("normalise", "softmax_warp_per_row_256"),
        ("stencils", "stencil_line_3_shared"),
        ("sequences", "sequence_64k_added_4_times"),
        ("moves", "join_by_grid"),
        ("exercise_01", "exercise_01_kernel_64x8"),
    ],
)
def test_the_engine_still_predicts_what_was_committed(program: str, case: str):
    """Else the table of modelled against measured would be that of another model."""
    sources = [one for one in PROGRAMS if one.source.stem == program and case.startswith(one.variant)]
    (today,) = (found for found in predict("h200", case, sources)["cases"] if found["name"] == case)
    (committed,) = (one for one in read("predicted_h200.json")["cases"] if one["name"] == case)
    assert today["microseconds"] == pytest.approx(committed["microseconds"], rel=0.01)
    assert today["limiter"] == committed["limiter"]
