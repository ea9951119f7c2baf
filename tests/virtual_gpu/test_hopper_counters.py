"""Products by shape and types, and bulk copies apart from cp.async, in a launch and at its lines."""

from __future__ import annotations

import subprocess
from functools import cache

from benchmarks.virtual_gpu.hopper.corpus import CAPABILITY, FOLDER
from common.build.program import Target, build_program
from common.virtual_gpu.report import SECTOR_BYTES, Launch, Report
from common.virtual_gpu.session import run_program
from grader.render.profile import profile_text

PIPELINE = FOLDER / "gemm_pipeline.cu"


@cache
def report_of(program: str) -> Report:
    built = build_program([FOLDER / f"{program}.cu"], Target.virtual(CAPABILITY))
    ran = run_program(built.path, timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ran.status == 0, ran.stdout + ran.stderr
    return ran.report


def launches_of(program: str) -> tuple[Launch, ...]:
    return report_of(program).launches


def test_products_are_counted_by_shape_and_types_in_each_launch() -> None:
    shapes = [launch.counters.wgmma_by_shape for launch in launches_of("wgmma_int8")]
    assert [list(shape) for shape in shapes] == [
        ["m64n8k32.s32.s8"],
        ["m64n32k32.s32.s8"],
        ["m64n32k32.s32.s8.u8"],
        ["m64n64k32.s32.u8.s8"],
        ["m64n128k32.s32.u8"],
        ["m64n64k32.s32.s8"],
        ["m64n256k32.s32.s8"],
    ]
    for launch in launches_of("wgmma_int8"):
        assert sum(launch.counters.wgmma_by_shape.values()) == launch.counters.wgmma_instructions


def test_products_of_bits_are_counted_by_their_shapes() -> None:
    shapes = {shape for launch in launches_of("wgmma_bits") for shape in launch.counters.wgmma_by_shape}
    columns = [8, 16, 24, *range(32, 257, 16)]
    assert shapes == {f"m64n{n}k256.s32.b1" for n in columns}


def test_a_profile_says_shapes_and_bulk_copies_at_their_lines() -> None:
    (launch,) = launches_of("gemm_pipeline")
    ((shape, count),) = launch.counters.wgmma_by_shape.items()
    at_lines = [line.counters for line in launch.lines if line.counters.wgmma_by_shape]
    assert sum(line.wgmma_by_shape[shape] for line in at_lines) == count == 320
    said = profile_text(report_of("gemm_pipeline"), PIPELINE)
    assert f"320 warps × {shape}" in said
    assert f" wgmma {shape}\n" in said
    assert "matrix instructions" not in said
    assert "  bulk loads " in said
    assert "^ bulk load " in said
    assert "cp.async " not in said


def test_two_pieces_of_a_swizzled_row_in_one_sector_are_one_sector() -> None:
    counts = launches_of("gemm_pipeline")[0].counters
    assert counts.bulk_load_bytes == 327_680  # ncu's figure, too
    assert counts.bulk_load_sectors == counts.bulk_load_bytes // SECTOR_BYTES
    assert (counts.async_requests, counts.async_sectors, counts.async_bytes) == (0, 0, 0)


def test_bulk_stores_are_no_cp_async() -> None:
    counts = launches_of("epilogue")[0].counters
    assert counts.bulk_store_requests > 0
    assert counts.bulk_store_sectors == 16_384 // SECTOR_BYTES
    assert counts.async_requests == counts.bulk_load_requests == 0
