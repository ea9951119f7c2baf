"""Mistakes that students make in exercise 01, each as an edit of the solution."""

from __future__ import annotations

from tests.exercises.wrong_kernel import Wrong

_COPY_K = "if (unit < p.row_units) copy_async<kUnitBytes>(&k_stage[i][slot], &k_row[unit]);"
_COPY_V = "if (unit < p.row_units) copy_async<kUnitBytes>(&v_stage[i][slot], &v_row[unit]);"
_K_COMMITTED = "  __pipeline_commit();\n  // END SOLUTION\n\n  // BEGIN SOLUTION  TODO 2"
_V_COMMITTED = "  __pipeline_commit();\n  // END SOLUTION\n\n  // BEGIN SOLUTION  TODO 3"
_PAGE = "  const int64_t page = p.indices[token];"
_WAIT_FOR_K = "  __pipeline_wait_prior(1);\n"
_WAIT_FOR_V = "  __pipeline_wait_prior(0);\n"
_STORE_K = "if (unit < p.row_units) k_page[unit] = k_stage[i][slot];"
_STORE_V = "if (unit < p.row_units) v_page[unit] = v_stage[i][slot];"
_V_ROW = "reinterpret_cast<const Unit<kUnitBytes>*>(p.v + token * p.v_stride);"
_GRID = "const dim3 grid(ceil_div(p.seq_len, block.y), ceil_div(p.row_units, across * kUnitsPerThread));"
_ROW_BYTES = "  const int row_bytes = heads * head_dim * static_cast<int>(sizeof(__half));\n"

WRONG: dict[str, Wrong] = {
    "always 16 bytes": Wrong(
        old="  switch (widest_unit_bytes(k_cache, v_cache, k, v, k_stride * 2, v_stride * 2, "
        "k_cache_stride * 2,\n                            v_cache_stride * 2, row_bytes)) {",
        new="  switch (16) {",
        reason="error",
        line=_COPY_K,
    ),
    "a barrier that threads without a token never reach": Wrong(
        old=_WAIT_FOR_K,
        new=f"{_WAIT_FOR_K}  __syncthreads();\n",
        part="clean",
        kind="sync",
        line="__syncthreads();",
    ),
    "more threads than a block can have": Wrong(
        old="constexpr int kThreads = 128;",
        new="constexpr int kThreads = 2048;",
        more=(
            ("__global__ void __launch_bounds__(kThreads) ", "__global__ void "),
            ("k_stage[kUnitsPerThread][kThreads];", "k_stage[kUnitsPerThread][256];"),
            ("v_stage[kUnitsPerThread][kThreads];", "v_stage[kUnitsPerThread][256];"),
        ),
        reason="error",
        words="cudaErrorInvalidValue",
    ),
    "K and V read as dense tensors": Wrong(
        old=_ROW_BYTES,
        new=f"{_ROW_BYTES}  k_stride = v_stride = heads * head_dim;\n",
        words="K and V are read as if contiguous: their row strides are ignored",
    ),
    "launched twice": Wrong(
        old="  fused_store_kv_async<kUnitBytes><<<",
        new="  for (int half = 0; half < 2; ++half) fused_store_kv_async<kUnitBytes><<<",
        part="mechanism",
        words="2 kernel launches",
    ),
    "offsets of 32 bits": Wrong(
        old=_PAGE,
        new="  const int page = p.indices[token];",
        more=(
            ("page * p.k_cache_stride);", "page * static_cast<int>(p.k_cache_stride));"),
            ("page * p.v_cache_stride);", "page * static_cast<int>(p.v_cache_stride));"),
        ),
        reason="error",
        line=_STORE_K,
    ),
    "K copied in place of V": Wrong(  # which goes through registers
        old=_COPY_V,
        new="if (unit < p.row_units) copy_async<kUnitBytes>(&unused[i][slot], &k_row[unit]);",
        more=(
            ("> v_stage[kUnitsPerThread]", "> unused[kUnitsPerThread]"),
            (_STORE_V, "if (unit < p.row_units) v_page[unit] = v_row[unit];"),
        ),
        part="mechanism",
        words="plain loads read",
    ),
    "last tokens dropped": Wrong(  # the division that counts blocks of tokens rounds down
        old=_GRID,
        new=_GRID.replace("ceil_div(p.seq_len, block.y)", "std::max(1u, p.seq_len / block.y)"),
        words="the last tokens are missing",
    ),
    "one unit too many": Wrong(  # into the first unit of the page behind
        old=_COPY_K,
        new=_COPY_K.replace("<", "<=", 1),
        more=(
            (_STORE_K, _STORE_K.replace("<", "<=", 1)),
            ("ceil_div(p.row_units, kUnitsPerThread));", "p.row_units / kUnitsPerThread + 1);"),
        ),
        words="Elements of k_cache were written that had to stay as they were",
    ),
    "the copy of another thread without a barrier": Wrong(  # of the thread at the other end of the row
        old=_STORE_K,
        new="const int mirrored = blockDim.x - 1 - 2 * threadIdx.x;  // from this thread to its opposite\n"
        "    if (unit + mirrored < p.row_units) k_page[unit + mirrored] = k_stage[i][slot + mirrored];",
        part="clean",
        kind="race",
        line="k_page[unit + mirrored] = k_stage[i][slot + mirrored];",
    ),
    "V never committed": Wrong(  # the last wait is for K, the only group there is
        old=_V_COMMITTED,
        new=_V_COMMITTED.removeprefix("  __pipeline_commit();\n"),
        more=((_WAIT_FOR_K, _WAIT_FOR_V),),
        part="clean",
        kind="async",
        line=_STORE_V,
    ),
    "no bound on tokens": Wrong(
        old="  if (token >= p.seq_len) return;\n",
        new="",
        part="clean",
        line=_PAGE,
    ),
    "no wait": Wrong(
        old=_WAIT_FOR_K,
        new="",
        more=((_WAIT_FOR_V, ""),),
        part="clean",
        kind="async",
        line=_STORE_K,
    ),
    "pages counted from one": Wrong(
        old=_PAGE,
        new="  const int64_t page = p.indices[token] + 1;",
        words="rows go one page too far",
    ),
    "V never stored": Wrong(
        old=_STORE_V,
        new="(void)unit;\n    (void)v_page;",
        words="only K is stored",
    ),
    "tail of each row dropped": Wrong(  # the division that counts pieces of a row rounds down
        old=_GRID,
        new=_GRID.replace(
            "ceil_div(p.row_units, across * kUnitsPerThread)",
            "std::max(1, p.row_units / (across * kUnitsPerThread))",
        ),
        words="the tail of each row is missing",
    ),
    "one stage for all tokens of a block": Wrong(
        old="const int slot = threadIdx.y * blockDim.x + threadIdx.x;",
        new="const int slot = threadIdx.x;",
        part="clean",
        kind="async",
        line=_COPY_K,
    ),
    "strides of K for V": Wrong(
        old=_V_ROW,
        new=_V_ROW.replace("v_stride", "k_stride"),
        more=(("page * p.v_cache_stride);", "page * p.k_cache_stride);"),),
        words="V is read and stored with the strides of K",
    ),
    "K and V swapped": Wrong(
        old="const StoreKv p{k_cache,  v_cache, ",
        new="const StoreKv p{v_cache,  k_cache, ",
        more=(
            (
                "v_stride, k_cache_stride, v_cache_stride, seq_len",
                "v_stride, v_cache_stride, k_cache_stride, seq_len",
            ),
        ),
        words="K and V are swapped",
    ),
    "V never copied": Wrong(
        old=_COPY_V,
        new="(void)unit;\n    (void)v_row;",
        part="clean",
        kind="init",
        line=_STORE_V,
    ),
    "the second wait leaves V in flight": Wrong(
        old=_WAIT_FOR_V,
        new=_WAIT_FOR_K,
        part="clean",
        kind="async",
        line=_STORE_V,
    ),
    "the only wait before V is copied": Wrong(
        old=_WAIT_FOR_V,
        new="",
        more=(
            (_K_COMMITTED, _K_COMMITTED.replace("();\n", f"();\n{_WAIT_FOR_V}", 1)),
            (_WAIT_FOR_K, ""),
        ),
        part="clean",
        kind="async",
        line=_STORE_V,
    ),
    "K waits for V": Wrong(
        old=_WAIT_FOR_K,
        new=_WAIT_FOR_V,
        part="mechanism",
        words="0 bytes of cp.async were in flight",
    ),
    "waits for a flag that no thread sets": Wrong(
        old=_PAGE,
        new=f"  __shared__ volatile int ready;\n  ready = 0;\n  while (ready == 0) continue;\n{_PAGE}",
        reason="timeout",
        kind="hang",
        line="while (ready == 0) continue;",
    ),
    "pages taken for dense": Wrong(
        old=_ROW_BYTES,
        new=f"{_ROW_BYTES}  k_cache_stride = v_cache_stride = heads * head_dim;\n",
        words="the cache is written as if its pages were contiguous: its strides are ignored",
    ),
    "zeros in place of the copies": Wrong(
        old=_COPY_K,
        new="(void)k_row;\n    if (unit < p.row_units) k_stage[i][slot] = {};",
        more=((_COPY_V, "(void)v_row;\n    if (unit < p.row_units) v_stage[i][slot] = {};"),),
        words="Every element that had to be written is zero",
    ),
}
