"""Mistakes that students make in exercise 05, each as an edit of the solution; kernels that are right and do
not do what was asked for; and ways to do less, which no answer survives that is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from tests.exercises.wrong_kernel import Wrong


@dataclass(frozen=True)
class Mistake(Wrong):
    """`part` is the step that must fail, or "correct" for the whole; the last of its `cases` shows it, and
    the others are right. With a `kind`, a finding of that kind must name the line; with `lacks`, everything
    is right and that mechanism is not there, which is said with the `line` where there is one."""

    cases: tuple[str, ...] = ()
    kind: str = ""
    lacks: str = ""


_KEYS_READ = "load_matrices(b, keys + Row::place(row, 2 * step + lane / 8 % 2));"
_VALUES_READ = (
    "load_matrices_transposed(b, values + Row::place(16 * step + lane % 16, 2 * pair + lane / 16));"
)
_QUERIES_READ = "load_matrices(queries[sixteen][step], shared + Row::place(row, 2 * step + lane / 16));"
_COPIED = "copy_16_bytes_or_zeros_async(place, from, there);"
_STAGE_READY = "        __syncthreads();  // the tile is there, and no warp needs the one before any more\n"
_AHEAD = f"        wait_for_copies<kStages - 2>();\n{_STAGE_READY}        fetch(i + kStages - 1, tiles);\n"
_LOOPS_END = "      }\n      // END SOLUTION\n"
_ATTENDS = f"        attend(i);\n{_LOOPS_END}"
_FIRST_TILES = "#pragma unroll\n      for (int i = 0; i < kStages - 1; ++i) fetch(i, tiles);\n"
_IDLE_WAIT = "wait_for_copies<0>();  // for what has just been begun"
_IDLE_WAIT_ALL = "wait_for_all_copies();  // what has just been begun with them"
_COPIES_AHEAD = "copies run ahead of the products"
_SHARED_MOST = (
    "        highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 1));\n"
    "        highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 2));\n"
)
_NOT_AHEAD = "        // END SOLUTION\n        __syncthreads();\n        attend(i);\n"
_LAUNCH = "return launch<__half, 64, false, Swizzled>(job, PERSISTENT, stream);"  # where no case is causal

MISTAKES: dict[str, Mistake] = {
    "waits too early": Mistake(
        old="wait_for_copies<kStages - 2>();",
        new="wait_for_copies<kStages - 1>();",
        cases=("one row",),
        line=_KEYS_READ,
        kind="async",
    ),
    "a stage is overwritten before all warps are through": Mistake(
        old=_AHEAD,
        new="        fetch(i + kStages - 1, tiles);\n"
        f"        wait_for_copies<kStages - 1>();\n{_STAGE_READY}",
        cases=("one row", "77 rows"),
        line=_COPIED,
        kind="async",
    ),
    "a row's offset in 32 bits": Mistake(
        old="row * strides.row + threadIdx.x % kPieces * 8;",
        new="static_cast<int>(row * strides.row) + threadIdx.x % kPieces * 8;",
        cases=("16 rows", "gaps between rows", "rows past 2^31 elements"),
        line=_COPIED,
        kind="memory",
    ),
    "offsets from row to row in 32 bits": Mistake(
        old="from += kRowsAtOnce * row_stride;",
        new="from += static_cast<int>(kRowsAtOnce * row_stride);",
        cases=("gaps between rows", "rows past 2^31 elements"),
        line=_COPIED,
        kind="memory",
    ),
    "a head's stride in 32 bits": Mistake(
        old="head % job.heads * strides.head + row",
        new="head % job.heads * static_cast<int>(strides.head) + row",
        cases=("many heads", "heads past 2^31 elements"),
        line=_COPIED,
        kind="memory",
    ),
    "no barrier after the wait": Mistake(
        old=_STAGE_READY,
        new="",
        cases=("one row",),
        line=_KEYS_READ,
        kind="race",
    ),
    "fetches into the stage in use": Mistake(
        old="fetch(i + kStages - 1, tiles);",
        new="fetch(i + kStages, tiles);",
        cases=("one row", "77 rows"),
        line=_COPIED,
        kind="async",
    ),
    "queries read before they landed": Mistake(
        old="    commit_copies();\n    wait_for_copies<0>();\n    // END SOLUTION\n",
        new="    commit_copies();\n    // END SOLUTION\n",
        cases=("16 rows",),
        line=_QUERIES_READ,
        kind="async",
    ),
    "keys copied over queries": Mistake(
        old="    __syncthreads();  // keys will lie there\n",
        new="",
        cases=("one row",),
        line=_QUERIES_READ,
        kind="async",
    ),
    "the next queries copied over the output": Mistake(
        old="    __syncthreads();  // the next tile's queries go where this one's output was\n",
        new="",
        cases=("one row", "many heads"),
        line=_COPIED,
        kind="async",
    ),
    "keys swizzled on write only": Mistake(
        old=_KEYS_READ,
        new="load_matrices(b, keys + row * Row::kBytes + (2 * step + lane / 8 % 2) * kPieceBytes);",
        cases=("one row", "16 rows"),
        words="a tile is swizzled where it is written and not where it is read, or the reverse (keys)",
    ),
    "values swizzled on write only": Mistake(
        old=_VALUES_READ,
        new="load_matrices_transposed(b, values + (16 * step + lane % 16) * Row::kBytes +\n"
        "                                    (2 * pair + lane / 16) * kPieceBytes);",
        cases=("one row", "16 rows"),
        words="a tile is swizzled where it is written and not where it is read, or the reverse (values)",
    ),
    "values not turned": Mistake(
        old="load_matrices_transposed(b, values",
        new="load_matrices(b, values",
        cases=("16 rows",),
        words="values are not transposed",
    ),
    "no rescale of the output": Mistake(
        old="          tile[2 * side] *= factor;\n          tile[2 * side + 1] *= factor;\n",
        new="",
        cases=("16 rows", "a tile"),
        words="the output is not rescaled when a higher score comes",
    ),
    "no rescale of the sum": Mistake(
        old="sum[sixteen][side] = sum[sixteen][side] * factor + added;",
        new="sum[sixteen][side] += added;",
        cases=("16 rows", "a tile"),
        words="the sum is not rescaled when a higher score comes",
    ),
    "maximum not shared by the four lanes": Mistake(
        old=_SHARED_MOST,
        new="",
        cases=("16 rows",),
        words="the four lanes of a row do not share its highest score",
    ),
    "sum not shared by the four lanes": Mistake(
        old="        total += __shfl_xor_sync(~0u, total, 1);\n"
        "        total += __shfl_xor_sync(~0u, total, 2);\n",
        new="",
        cases=("16 rows",),
        words="the four lanes of a row do not share its sum",
    ),
    "softmax without the maximum": Mistake(
        old="const float origin = highest * job.scale;",
        new="const float origin = 0;",
        more=(
            (
                "const float factor = power_of_2(most[sixteen][side] * job.scale - origin);",
                "const float factor = 1;",
            ),
        ),
        cases=("77 rows", "large scores"),
        words="is nan, but must be a finite number",
    ),
    "keys hidden by a number that scores can be below": Mistake(
        old="scores[sixteen][tile][i] = -INFINITY;",
        new="scores[sixteen][tile][i] = -10000;",
        cases=("a tile, causal", "huge scores, causal"),
        words="hidden keys get a score of -10000, and others are lower: use -infinity",
    ),
    "not divided by the sum": Mistake(
        old="const float inverse = 1 / total;",
        new="const float inverse = 1;",
        cases=("16 rows",),
        words="weights are not divided by their sum",
    ),
    "the sum in half precision": Mistake(
        old="added += scores[sixteen][tile][i];",
        new="added = __half2float(__float2half_rn(added + scores[sixteen][tile][i]));",
        more=(
            (
                "sum[sixteen][side] = sum[sixteen][side] * factor + added;",
                "sum[sixteen][side] = __half2float(__float2half_rn(sum[sixteen][side] * factor + added));",
            ),
        ),
        cases=("one row", "another scale"),
        words="are too far off",
    ),
    "the next key is seen": Mistake(
        old="(kCausal && key > row)",
        new="(kCausal && key > row + 1)",
        cases=("a tile", "a tile, causal"),
        words="the key after the query is seen",
    ),
    "no causal mask": Mistake(
        old="key >= job.length || (kCausal && key > row)",
        new="key >= job.length",
        cases=("a tile", "130 rows, causal"),
        words="keys after the query are seen, up to the end of its tile of 64 rows (the scores are wrong)",
    ),
    "keys loaded like queries": Mistake(
        old="const int row = 16 * pair + lane % 8 + lane / 16 * 8;",
        new="const int row = 16 * pair + lane % 16;",
        more=((_KEYS_READ, "load_matrices(b, keys + Row::place(row, 2 * step + lane / 16));"),),
        cases=("16 rows",),
        words="keys are loaded like the first matrix of a product: two of four 8 x 8 matrices change places",
    ),
    "keys transposed": Mistake(
        old="load_matrices(b, keys",
        new="load_matrices_transposed(b, keys",
        cases=("16 rows",),
        words="keys are transposed: use load_matrices() for them (the scores are wrong)",
    ),
    "values loaded like keys": Mistake(
        old=_VALUES_READ,
        new="load_matrices_transposed(b, values + Row::place(16 * step + lane % 8 + lane / 16 * 8,\n"
        "                                                2 * pair + lane / 8 % 2));",
        cases=("16 rows",),
        words="values are loaded like keys: two of four 8 x 8 matrices change places (the weights are right",
    ),
    "a maximum of each tile": Mistake(
        old="float highest = most[sixteen][side];",
        new="float highest = -INFINITY;",
        more=(
            (
                "const float factor = power_of_2(most[sixteen][side] * job.scale - origin);",
                "const float factor = 1;",
            ),
        ),
        cases=("16 rows", "a tile"),
        words="weights are relative to the highest score of their tile, not of all so far (32 keys per tile)",
    ),
    "the last tile left out": Mistake(
        old="const int tiles = (end + kKeys - 1) / kKeys;",
        new="const int tiles = end / kKeys;",
        cases=("a tile", "77 rows"),
        words="the last keys are missing, past the last multiple of",
    ),
    "keys of the first head": Mistake(
        old="keys = place(job.keys, job.of_keys, 0);",
        new="keys = place(job.keys, job.of_keys, 0) - head % job.heads * job.of_keys.head;",
        cases=("77 rows", "31 rows, causal"),
        words="every head has the keys of head 0 (the scores are wrong)",
    ),
    "keys for values": Mistake(
        old="values = place(job.values, job.of_values, 0);",
        new="values = place(job.keys, job.of_values, 0);",
        cases=("16 rows",),
        words="the keys are taken for the values (the weights are right, the output is wrong)",
    ),
    "keys and values swapped": Mistake(
        old="values = place(job.values, job.of_values, 0);",
        new="values = place(job.keys, job.of_values, 0);",
        more=(("keys = place(job.keys, job.of_keys, 0);", "keys = place(job.values, job.of_keys, 0);"),),
        cases=("16 rows",),
        words="keys and values are swapped (the scores and the output are wrong)",
    ),
    "scale forgotten": Mistake(
        old="scale * static_cast<float>(M_LOG2E)};",
        new="static_cast<float>(M_LOG2E)};",
        cases=("16 rows",),
        words="scores are not scaled (the scores are wrong)",
    ),
    "powers of two without log2(e)": Mistake(
        old="scale * static_cast<float>(M_LOG2E)};",
        new="scale};",
        cases=("16 rows",),
        words="weights are powers of 2, not of e (the scores are right, the weights are wrong)",
    ),
    "its own key is not seen": Mistake(
        old="(kCausal && key > row)",
        new="(kCausal && key >= row)",
        cases=("a tile", "a tile, causal"),
        words="a query does not see its own key: hide key > row, not key >= row",
    ),
    "tail keys not hidden": Mistake(
        old="if (key >= job.length || (kCausal && key > row))",
        new="if (kCausal && key > row)",
        cases=("a tile", "65 rows"),
        words="keys past the end are seen, as zeros",
    ),
    "rows past the end stored": Mistake(
        old="if (place < job.length) {",
        new="{",
        cases=("a tile", "65 rows"),
        line="*reinterpret_cast<uint4*>(to + place * job.of_out.row + 8 * piece) =",
        kind="memory",
    ),
    "scale applied twice": Mistake(
        old="scale * static_cast<float>(M_LOG2E)};",
        new="scale * scale * static_cast<float>(M_LOG2E)};",
        cases=("16 rows",),
        words="scores are scaled twice",
    ),
    "a fixed scale": Mistake(
        old="scale * static_cast<float>(M_LOG2E)};",
        new="0.125f * static_cast<float>(M_LOG2E)};",
        cases=("16 rows", "another scale"),
        words="scores are scaled by 1/√head_dim, not by the scale",
    ),
    "head and batch strides swapped": Mistake(
        old="head / job.heads * strides.batch +\n           head % job.heads * strides.head +",
        new="head / job.heads * strides.head +\n           head % job.heads * strides.batch +",
        cases=("77 rows", "rows apart"),
        line=_COPIED,
        kind="memory",
    ),
    "rows taken for neighbours": Mistake(
        old="head % job.heads * strides.head + row * strides.row +",
        new="head % job.heads * strides.head + row * kDim +",
        more=(
            ("from += kRowsAtOnce * row_stride;", "from += kRowsAtOnce * kDim;"),
            ("keys += kKeys * job.of_keys.row;", "keys += kKeys * kDim;"),
            ("values += kKeys * job.of_values.row;", "values += kKeys * kDim;"),
        ),
        cases=("77 rows", "gaps between rows"),
        words="queries, keys and values are read as if there were no gaps between their rows",
    ),
    "a persistent loop that skips tiles": Mistake(
        old="i < all; i += gridDim.x",
        new="i < all; i += gridDim.x + 1",
        cases=("77 rows", "many heads"),
        words="20 of 14,000 rows are too far off",
    ),
    "default stream": Mistake(
        old="kernel<<<blocks, kThreads, kShared, stream>>>(job);",
        new="kernel<<<blocks, kThreads, kShared>>>(job);",
        cases=("16 rows",),
        reason="not on its stream",
        words="stream",
    ),
    "one lane's part of a score": Mistake(
        old="    for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(~0u, score, step);\n",
        new="",
        part="online softmax",
        cases=("one row", "16 rows"),
        words="each lane takes its own products for the whole score: the shuffles are missing",
    ),
    "half of the lanes in a score": Mistake(
        old="for (int step = 16; step > 0; step /= 2) score += __shfl_xor_sync(~0u, score, step);",
        new="for (int step = 8; step > 0; step /= 2) score += __shfl_xor_sync(~0u, score, step);",
        part="online softmax",
        cases=("one row", "16 rows"),
        words="a score has the products of 16 lanes, not of all 32",
    ),
    "bare products as scores": Mistake(
        old="    score *= job.scale;\n",
        new="",
        part="online softmax",
        cases=("one row", "16 rows"),
        words="scores are not multiplied by job.scale",
    ),
    "no output loaded": Mistake(
        old="wmma::load_matrix_sync(out, &shared.out[0][16 * i], kStepDim, wmma::mem_row_major);",
        new="wmma::fill_fragment(out, 0);",
        part="tensor cores",
        cases=("one row", "64 rows"),
        words="the output has only the last tile of 16 keys",
    ),
    "no rescale, key by key": Mistake(
        old="now.out[0] * factor + weight",
        new="now.out[0] + weight",
        more=(("now.out[1] * factor + weight", "now.out[1] + weight"),),
        part="online softmax",
        cases=("one row", "16 rows"),
        words="the output is not rescaled when a higher score comes",
    ),
    "a maximum that begins with 0": Mistake(
        old="float most = -INFINITY;  // the highest score",
        new="float most = 0;  // the highest score",
        part="online softmax",
        cases=("77 rows, causal", "huge scores"),
        words="the highest score so far begins with 0, not with -infinity",
    ),
    "keys as rows of the second matrix": Mistake(
        old="__half, wmma::col_major> keys;",
        new="__half, wmma::row_major> keys;",
        part="tensor cores",
        cases=("16 rows",),
        words="keys are read as rows of the second matrix: load them as col_major",
    ),
    "weights read before their lanes wrote them": Mistake(
        old="shared.out[row][d] *= factor;\n    __syncwarp();\n",
        new="shared.out[row][d] *= factor;\n",
        part="tensor cores",
        cases=("16 rows",),
        line="wmma::load_matrix_sync(weights, &shared.weights[0][0], 16);",
        kind="race",
    ),
    "values as columns of the second matrix": Mistake(
        old="__half, wmma::row_major> values;",
        new="__half, wmma::col_major> values;",
        part="tensor cores",
        cases=("16 rows",),
        words="values are read as columns of the second matrix: load them as row_major",
    ),
    "no causal mask, key by key": Mistake(
        old="const int keys = causal ? row + 1 : job.length;",
        new="const int keys = job.length;",
        part="online softmax",
        cases=("16 rows", "77 rows, causal"),
        words="keys after the query are seen: no causal mask (the scores are wrong)",
    ),
    "up to its own key, key by key": Mistake(
        old="const int keys = causal ? row + 1 : job.length;",
        new="const int keys = causal ? row : job.length;",
        part="online softmax",
        cases=("16 rows", "77 rows, causal"),
        words="a query does not see its own key: hide key > row, not key >= row",
    ),
    "an output that starts with anything": Mistake(
        old="  for (int d = side; d < kStepDim; d += 2) shared.out[row][d] = 0;\n",
        new="",
        part="tensor cores",
        cases=("16 rows",),
        line="shared.out[row][d] *= factor;",
        kind="init",
    ),
    "no group for the copies": Mistake(
        old="    commit_copies();\n    // END SOLUTION\n  }\n",
        new="    // END SOLUTION\n  }\n",
        part="asynchronous copies",
        cases=("16 rows",),
        line=_KEYS_READ,
        kind="async",
    ),
    "no wait at all": Mistake(
        old=f"        wait_for_copies<0>();\n{_NOT_AHEAD}",
        new=_NOT_AHEAD,
        part="asynchronous copies",
        cases=("16 rows",),
        line=_KEYS_READ,
        kind="async",
    ),
}

_SWIZZLED = "    if (kSwizzle) return row * kBytes + (piece ^ row % 8) * kPieceBytes;\n"
_SWIZZLE_CHECKED = (
    "static_assert(wavefronts<Rows<64, true>>(3) == 1);\n"
    "static_assert(wavefronts<Rows<128, true>>(12) == 1);\n"
)

NOT_AS_ASKED: dict[str, Mistake] = {
    "never swizzled": Mistake(
        old=_SWIZZLED,
        new="",
        more=((_SWIZZLE_CHECKED, ""),),
        cases=("77 rows",),
        lacks="no bank conflicts",
    ),
    "an order that repeats after four rows": Mistake(
        old=_SWIZZLED,
        new=_SWIZZLED.replace("row % 8", "row % 4"),
        more=((_SWIZZLE_CHECKED, ""),),
        part="swizzle",
        cases=("77 rows, two heads",),
        lacks="no bank conflicts",
    ),
    "copies through registers": Mistake(
        old="if constexpr (How::kAsync) {",
        new="if constexpr (false) {",
        cases=("77 rows",),
        lacks="cp.async brings the tiles",
    ),
    "all copies waited for before the products": Mistake(
        old=_AHEAD + _ATTENDS,
        new=f"{_AHEAD}        {_IDLE_WAIT}\n{_ATTENDS}",
        cases=("77 rows", "264 rows"),
        line=_IDLE_WAIT,
        lacks=_COPIES_AHEAD,
    ),
    "the next tile begun after the products": Mistake(
        old=_AHEAD + _ATTENDS,
        new=f"        {_IDLE_WAIT}\n{_STAGE_READY}        attend(i);\n"
        f"        fetch(i + kStages - 1, tiles);\n{_LOOPS_END}",
        cases=("77 rows", "264 rows"),
        line=_IDLE_WAIT,
        lacks=_COPIES_AHEAD,
    ),
    "one stage, waited for as soon as it is begun": Mistake(
        old=_FIRST_TILES,
        new="",
        more=(
            (
                _AHEAD + _ATTENDS,
                f"        fetch(i, tiles);\n        {_IDLE_WAIT}\n        __syncthreads();\n"
                f"        attend(i);\n        __syncthreads();\n{_LOOPS_END}",
            ),
        ),
        part="copies ahead",
        cases=("77 rows, two heads", "264 rows"),
        line=_IDLE_WAIT,
        lacks=_COPIES_AHEAD,
    ),
    "wait_all before the products": Mistake(
        old=_AHEAD + _ATTENDS,
        new=f"{_AHEAD}        {_IDLE_WAIT_ALL}\n{_ATTENDS}",
        part="swizzle",
        cases=("77 rows, two heads", "264 rows"),
        line=_IDLE_WAIT_ALL,
        lacks=_COPIES_AHEAD,
    ),
    "scores in registers, and in shared memory too": Mistake(
        old="    weigh(scores);\n",
        new="    __shared__ volatile float seen[kThreads];\n"
        "    for (const auto& tile : scores[0])\n"
        "      for (const float score : tile) seen[threadIdx.x] = score;\n"
        "    weigh(scores);\n",
        cases=("77 rows",),
        lacks="no scores in shared memory",
    ),
}

CHEATS: dict[str, Mistake] = {
    "the first half of the keys, rescaled": Mistake(
        old="const int tiles = (end + kKeys - 1) / kKeys;",
        new="const int tiles = (end / 2 + kKeys) / kKeys;",
        cases=("16 rows", "77 rows"),
        words="are too far off",
    ),
    "scores summed up in half precision": Mistake(
        old="          multiply(scores[sixteen][2 * pair + 1], queries[sixteen][step], b[2], b[3], T{});\n",
        new="          multiply(scores[sixteen][2 * pair + 1], queries[sixteen][step], b[2], b[3], T{});\n"
        "          for (auto& tile : scores[sixteen])\n"
        "            for (float& score : tile) score = __half2float(__float2half_rn(score));\n",
        cases=("one row", "large scores"),
        words="are too far off",
    ),
    "causal is not asked for": Mistake(
        old="return launch<__half, 64>(job, causal, stream);",
        new="return launch<__half, 64>(job, false, stream);",
        cases=("a tile", "a tile, causal"),
        words="keys after the query are seen",
    ),
    "the answer of the last call": Mistake(
        old=_LAUNCH,
        new="static void* kept = nullptr;\n"
        "  const size_t bytes = size_t(batch) * heads * length * 128;\n"
        "  if (kept != nullptr) return cudaMemcpyAsync(out, kept, bytes, cudaMemcpyDefault, stream);\n"
        "  cudaMalloc(&kept, bytes);\n"
        "  launch<__half, 64, false, Swizzled>(job, PERSISTENT, stream);\n"
        "  return cudaMemcpyAsync(kept, out, bytes, cudaMemcpyDefault, stream);",
        cases=("16 rows",),
        reason="kept answer",
        words="right at first, but not in a later call",
    ),
    "every row is the mean of the values": Mistake(
        old="    multiply_keys(stage(number), scores);\n",
        new="",
        cases=("one row", "16 rows"),
        words="scores are all equal: every row is the mean of the values",
    ),
}
