"""The shapes and kernels that attention is measured with."""

from __future__ import annotations

import torch

from benchmarks.flash.kernels import case_of, inputs_of
from benchmarks.flash.shapes import FEW_HEADS, LENGTHS, Shape, all_shapes, quick_shapes
from benchmarks.flash.ways import FREE, GATED, V1, V2, kernel_ways


def test_the_targets_arithmetic_and_bytes_are_those_of_the_exercises_readme() -> None:
    main = Shape(2, 8, 512)
    assert main.flops == 4 * 16 * 512 * 512 * 64
    assert main.bytes == 4 * 16 * 512 * 64 * 2
    assert main.intensity == 256


def test_a_mask_leaves_the_pairs_that_are_seen() -> None:
    assert Shape(1, 1, 3, causal=True).pairs == 1 + 2 + 3
    assert Shape(1, 1, 3).pairs == 9
    assert Shape(2, 8, 512, causal=True).bytes == Shape(2, 8, 512).bytes


def test_what_the_issue_asks_for_is_measured_once() -> None:
    shapes = all_shapes()
    assert len(shapes) == len(set(shapes))
    for head_dim in (64, 128):
        for causal in (False, True):
            wanted = {(length, 16) for length in LENGTHS} | {(512, 128), (512, 512)}
            found = {
                (shape.length, shape.heads_in_all)
                for shape in shapes
                if (shape.head_dim, shape.causal) == (head_dim, causal)
            }
            assert found == wanted
    assert Shape(*FEW_HEADS, 512) in quick_shapes()


def test_small_shapes_have_many_sets_and_large_ones_few() -> None:
    assert Shape(2, 8, 128).sets == Shape(2, 8, 512).sets == 16
    assert Shape(2, 8, 4096).sets == 4
    assert Shape(32, 16, 512).sets == 2


def test_shapes_become_cases_of_the_exercise() -> None:
    size = case_of(Shape(1, 2, 30, 128, causal=True)).size
    assert (size.batch, size.heads, size.length, size.head_dim, size.causal) == (1, 2, 30, 128, 1)
    assert (size.bfloat16, size.gap) == (0, 0)
    sets = inputs_of(Shape(1, 2, 30), "cpu")
    assert len(sets) == 16
    assert not torch.equal(sets[0].buffers["keys"], sets[1].buffers["keys"])


def test_the_ladder_begins_with_v1_and_v2_and_ends_with_both_configurations_of_v3() -> None:
    ways = kernel_ways()
    assert [ways[0].name, ways[1].name, ways[-2].name, ways[-1].name] == [V1, V2, GATED, FREE]
    assert [way.task.entry for way in ways[2:-2]] == [
        *("attend_wmma", "attend_in_registers", "attend_async", "attend_ahead", "attend_swizzled"),
    ]
    assert ways[-2].defines == ()
    assert any(define.startswith("BLOCK_M=") for define in ways[-1].defines)
