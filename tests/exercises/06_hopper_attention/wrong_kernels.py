"""Mistakes that students make in exercise 06, as edits of the solution, and what must be said of them."""

from __future__ import annotations

from tests.exercises.wrong_kernel import Wrong

# The whole kernel is not needed for the steps, and takes most of the compiler's time.
_WHOLE = """  if (head_dim == 64)
    return bfloat16 ? launch<__nv_bfloat16, 64>(job, tensors, stream)
                    : launch<__half, 64>(job, tensors, stream);
  return bfloat16 ? launch<__nv_bfloat16, 128>(job, tensors, stream)
                  : launch<__half, 128>(job, tensors, stream);
"""
WITHOUT_WHOLE = (_WHOLE, "  return cudaErrorNotSupported;\n")
THREE_CONSUMERS = (
    "const bool many_keys = job.length >= kManyKeys && !job.causal && tiles >= multiprocessors();",
    "const bool many_keys = kManyKeys > 0 && tiles > 0;",
)

WRONG = {
    "waits for the phase before": Wrong(
        "  shared.full.wait(0);\n",
        "  shared.full.wait(1);\n",
        part="a tile",
        kind="async",
        line="= *reinterpret_cast<const uint4*>(from);",
        words="is still in flight",
    ),
    "expects half of the bytes": Wrong(
        "arrive_and_expect(sizeof shared.tile)",
        "arrive_and_expect(sizeof shared.tile / 2)",
        part="a tile",
        reason="timeout",
        kind="hang",
        line="shared.full.wait(0);",
        words="4096 bytes more",
    ),
    "does not undo the swizzle": Wrong(
        "(piece ^ row % 8) * 16;",
        "piece * 16;",
        part="a tile",
        words="pieces are taken from where they were in the tensor",
    ),
    "adds up pieces as they lie": Wrong(
        "(lane / 4 ^ row % 8) * 16;",
        "lane / 4 * 16;",
        part="a ring of stages",
        words="pieces are taken from where they were in the tensor",
    ),
    "the producer waits for a stage that nobody has used": Wrong(
        "wait(turn % 2 ^ 1)",
        "wait(turn % 2)",
        part="a ring of stages",
        reason="timeout",
        kind="hang",
        line="shared.full[i % kStepStages].wait(",
        words="mbarrier",
    ),
    "one lane releases the stage for lanes that still read": Wrong(
        "    __syncwarp();\n    if (lane == 0) shared.empty[i",
        "    if (lane == 0) shared.empty[i",
        part="a ring of stages",
        reason="",
        kind="async",
        line="load_tile(shared.tiles[stage]",
        words="may still read it",
    ),
    "the output is stored without a fence": Wrong(
        "    fence_async();\n",
        "",
        part="products of four warps",
        reason="",
        kind="async",
        line="store_tile(job.out",
        words="no fence.proxy.async",
    ),
    "the output is not rescaled": Wrong(
        "      weigh(factor);\n      rescale(factor);\n",
        "      weigh(factor);\n",
        part="products of four warps",
    ),
    "no fence before the products with the values": Wrong(
        "      await_values();\n      hold_all();\n      begin_products();\n",
        "      await_values();\n      hold_all();\n",
        part="products of four warps",
        reason="",
        kind="async",
        line="Product<kDim>::multiply_transposed(",
        words="after the latest wgmma.fence",
    ),
    "zeros behind the last key count": Wrong(
        "      hide(work, i);\n      weigh(factor);\n      rescale",
        "      weigh(factor);\n      rescale",
        part="products of four warps",
        words="zeros behind the last key get weights",
    ),
    "weights are overwritten while a product reads them": Wrong(
        "      wait_for_products<0>();\n      hold(out);\n      release_values();\n      pack_weights();\n",
        "      pack_weights();\n      wait_for_products<0>();\n      hold(out);\n      release_values();\n",
        part="weights under products",
        reason="",
        kind="async",
        line="__floats2half2_rn(low, high)",
        words="changes a register of A",
    ),
    "scores are read while they are computed": Wrong(
        "      wait_for_products<1>();\n",
        "",
        part="weights under products",
        reason="",
        kind="async",
        line="highest = fmaxf(highest, fmaxf(",
        words="uses a register of the result",
    ),
    "nobody passes the first turn": Wrong(
        "if (How::kOverlaps && group == How::kConsumers - 1) pass_turn();",
        "",
        part="weights under products",
        reason="timeout",
        kind="hang",
        line="meet(kTurn + group",
        words="all threads wait for each other",
    ),
}
