"""Mistakes that students make in exercise 02, each as one edit of the solution."""

from __future__ import annotations

from tests.exercises.wrong_kernel import Wrong

LOAD = "if (i * step < left) held[i] = __ldcs(&unit_from[i * step]);"

WRONG: dict[str, Wrong] = {
    "flattened page table": Wrong(
        old="table.destination + row * table.destination_stride}",
        new="table.destination + row * table.columns}",
        words="the page table is flattened: the captured rows are written without the gaps between them",
    ),
    "offsets of 32 bits": Wrong(
        old="table.destination + row * table.destination_stride}",
        new="table.destination + static_cast<int>(row) * static_cast<int>(table.destination_stride)}",
        reason="error",
        line="if (i * step < left) unit_to[i * step] = held[i];",
        words="it looks like an offset that has wrapped at 32 bits",
    ),
    "offsets of 32 bits in the source": Wrong(
        old="table.source + row * table.source_stride,",
        new="table.source + static_cast<int>(row) * static_cast<int>(table.source_stride),",
        reason="error",
        line=LOAD,
        words="it looks like an offset that has wrapped at 32 bits",
    ),
    "blocks of vectors counted along one axis": Wrong(
        old="const int block = blockIdx.y * gridDim.x + blockIdx.x;",
        new="const int block = blockIdx.y + blockIdx.x;",
        words="The wrong elements were never written",
    ),
    "one unit more than a block's part": Wrong(
        old="  for (int i = 0; i < kHeld; ++i) {\n    if (i * step < left) unit_to",
        new="  for (int i = 0; i < kHeld + 1; ++i) {\n    if (i * step < left) unit_to",
        more=(
            ("  Unit held[kHeld];\n", "  Unit held[kHeld + 1];\n"),
            (
                "  for (int i = 0; i < kHeld; ++i) {\n    if (i * step < left) held",
                "  for (int i = 0; i < kHeld + 1; ++i) {\n    if (i * step < left) held",
            ),
        ),
        part="clean",
        kind="race",
        line="if (i * step < left) unit_to[i * step] = held[i];",
        words="1 finding",
    ),
    "row stride from shape": Wrong(
        old="table.source + row * table.source_stride,",
        new="table.source + row * table.columns,",
        words="the source's rows are read as if there were no gaps between them",
    ),
    "the source's stride for units of 16 bytes": Wrong(
        old="table.source + row * table.source_stride,",
        new="table.source + 4 * row * table.source_stride,",
        line=LOAD,
        words="at the first byte past the end of page_table",
    ),
    "the captured stride for units of 16 bytes": Wrong(
        old="table.destination + row * table.destination_stride}",
        new="table.destination + 4 * row * table.destination_stride}",
        words="the captured row stride is used for units of 16 bytes, but counts elements",
    ),
    "both strides for units of 16 bytes": Wrong(
        old="table.source + row * table.source_stride,",
        new="table.source + 4 * row * table.source_stride,",
        more=(
            (
                "table.destination + row * table.destination_stride}",
                "table.destination + 4 * row * table.destination_stride}",
            ),
        ),
        words="the row strides are used for units of 16 bytes, but count elements",
    ),
    "one stride for both sides": Wrong(
        old="table.source + row * table.source_stride,",
        new="table.source + row * table.destination_stride,",
        line=LOAD,
    ),
    "batch_size instead of batch_size + 1": Wrong(
        old="if (i <= batch_size) to.cu_seqlens_k[i] = cu_seqlen;",
        new="if (i < batch_size) to.cu_seqlens_k[i] = cu_seqlen;",
        words="cu_seqlens_k is short by its last element: it has batch_size + 1",
    ),
    "element 0 left out": Wrong(
        old="if (i <= batch_size) to.cu_seqlens_k[i] = cu_seqlen;",
        new="if (i > 0 && i <= batch_size) to.cu_seqlens_k[i] = cu_seqlen;",
        words="element 0 of cu_seqlens_k is left out",
    ),
    "no thread for the last element": Wrong(
        old="const int vector_blocks = ceil_div(batch_size + 1,",
        new="const int vector_blocks = ceil_div(batch_size,",
        words="cu_seqlens_k is short by its last element: it has batch_size + 1",
    ),
    "one element too many": Wrong(
        old="const bool in_batch = i < batch_size;",
        new="const bool in_batch = i <= batch_size;",
        line="position = from.positions[i];",
    ),
    "tail of each row missing": Wrong(
        old="edge < columns && x < head + kElements - 1;",
        new="edge < columns && x < head;",
        words="The wrong elements were never written",
    ),
    "columns past max_seqlen_k": Wrong(
        old="const int units = (columns - head) / kElements;",
        new="const int units = (columns - head + kElements - 1) / kElements;",
        line=LOAD,
    ),
    "always 16 bytes": Wrong(
        old="return apart % 16 == 0 && drift % 4 == 0;",
        new="return true;",
        reason="error",
        line=LOAD,
    ),
    "alignment of the first row alone": Wrong(
        old="return apart % 16 == 0 && drift % 4 == 0;",
        new="return apart % 16 == 0;",
        reason="error",
        line=LOAD,
    ),
    "alignment of two rows": Wrong(
        old="const int64_t drift = table.rows > 1 ?",
        new="const int64_t drift = table.rows > 2 ?",
        reason="error",
        line=LOAD,
    ),
    "tail of aligned rows missing": Wrong(
        old="return widest_unit_bytes(table.destination, stride * 4, int64_t{table.columns} * 4) < 16;",
        new="return widest_unit_bytes(table.destination, stride * 4, 16) < 16;",
        words="the end of each row is missing",
    ),
    "no head": Wrong(
        old="return min(columns, (kElements - misplaced) % kElements);",
        new="return 0 * misplaced;",
        reason="error",
        line=LOAD,
    ),
    "positions and seq_lens swapped": Wrong(
        old="    to.positions[i] = position;\n    to.seq_lens[i] = seq_len;",
        new="    to.positions[i] = seq_len;\n    to.seq_lens[i] = position;",
        words="positions and seq_lens are swapped",
    ),
    "out_loc forgotten": Wrong(
        old="    to.input_ids[i] = input_id;\n    to.out_loc[i] = out_loc;\n    to.positions",
        new="    to.input_ids[i] = input_id;\n    to.positions",
        words="out_loc is not copied",
    ),
    "only the first block of a row": Wrong(
        old="const int first = blockIdx.x * step * kHeld + threadIdx.x;",
        new="const int first = threadIdx.x;",
        words="The wrong elements were never written",
    ),
    "only the first block of vectors": Wrong(
        old="copy_element(from, to, table.rows, block * blockDim.x * blockDim.y + thread);",
        new="copy_element(from, to, table.rows, thread);",
        words="The wrong elements were never written",
    ),
    "no bound on rows": Wrong(
        old="  if (y >= table.rows) return;\n  const Row row = row_of(table, y);\n  copy_row<",
        new="  const Row row = row_of(table, y);\n  copy_row<",
        line=LOAD,
    ),
    "no columns, nothing copied": Wrong(
        old="  if (batch_size == 0) return cudaSuccess;\n  const Shape shape",
        new="  if (batch_size == 0 || max_seqlen_k == 0) return cudaSuccess;\n  const Shape shape",
        words="Nothing was written",
    ),
    "narrow rows not refused": Wrong(
        old="  return table.rows > 1 && table.destination_stride < table.columns;",
        new="  return false;",
        reason="not refused",
        words="cudaErrorInvalidValue",
    ),
    "two launches": Wrong(
        old="  const int row_blocks = max_seqlen_k == 0",
        new="  copy_one(input_ids, captured_input_ids, batch_size, stream);\n"
        "  const int row_blocks = max_seqlen_k == 0",
        part="mechanism",
        words="2 kernel launches",
    ),
    "one element at a time": Wrong(
        old="return apart % 16 == 0 && drift % 4 == 0;",
        new="return false && apart + drift == 0;",
        part="the page table",
        words="warps made 32 loads and 32 stores; 12 of each suffice "
        "(2 rows of 512, both sides shifted by one element)",
    ),
    "wide loads and narrow stores": Wrong(
        old="if (i * step < left) unit_to[i * step] = held[i];",
        new="if (i * step >= left) break;\n"
        "    for (int e = 0; e < kElements; ++e)\n"
        "      reinterpret_cast<volatile int*>(&unit_to[i * step])[e] ="
        " reinterpret_cast<const int*>(&held[i])[e];",
        part="the page table",
        words="warps made 10 loads and 34 stores",
    ),
    "columns without a bound": Wrong(
        old="if (y >= table.rows || column >= table.columns) return;",
        new="if (y >= table.rows) return;",
        part="rows",
        words="past the end of page_table",
    ),
    "x over rows": Wrong(
        old="const dim3 grid(ceil_div(table.columns, block.x), ceil_div(table.rows, block.y));",
        new="const dim3 grid(ceil_div(table.rows, block.x), ceil_div(table.columns, block.y));",
        part="rows",
        words="the end of each row is missing",
    ),
    "rows of one block": Wrong(
        old="const dim3 grid(ceil_div(table.columns, block.x), ceil_div(table.rows, block.y));",
        new="const dim3 grid(ceil_div(table.columns, block.x), 1);",
        part="rows",
        words="the last rows are missing",
    ),
    "no tail": Wrong(
        old="  if (last < table.columns) row.to[last] = element;\n",
        new="",
        part="aligned rows",
        words="the end of each row is missing, past the last multiple of 4 columns",
    ),
    "the last unit in full": Wrong(
        old="const int units = table.columns / 4;",
        new="const int units = (table.columns + 3) / 4;",
        part="aligned rows",
        words="each row is copied up to the next multiple of 4 columns, past max_seqlen_k",
    ),
    "no block for rows of three": Wrong(
        old="const dim3 grid(ceil_div(ceil_div(table.columns, 4), block.x)",
        new="const dim3 grid(ceil_div(table.columns / 4, block.x)",
        part="aligned rows",
        words="a grid of (0,1,1) and blocks of (32,4,1): a dimension is zero",
    ),
    "a stride in units": Wrong(
        old="reinterpret_cast<const uint4*>(row.from)[x];",
        new="(reinterpret_cast<const uint4*>(table.source) + y * table.source_stride)[x];",
        part="aligned rows",
        words="captured_page_table[1,0] is",
    ),
    "one element at a time in aligned rows": Wrong(
        old="  uint4 unit{};\n",
        new="  for (int i = x; i < units * 4; i += gridDim.x * blockDim.x) row.to[i] = row.from[i];\n"
        "  uint4 unit{};\n",
        more=(
            ("  if (x < units) unit = reinterpret_cast<const uint4*>(row.from)[x];\n", ""),
            ("  if (x < units) reinterpret_cast<uint4*>(row.to)[x] = unit;\n", "  (void)unit;\n"),
        ),
        part="aligned rows",
        words="of each suffice (2 rows of 515, a tail of 3)",
    ),
    "a unit stored before an element is loaded": Wrong(
        old="  if (last < table.columns) element = row.from[last];\n"
        "  if (x < units) reinterpret_cast<uint4*>(row.to)[x] = unit;\n",
        new="  if (x < units) reinterpret_cast<uint4*>(row.to)[x] = unit;\n"
        "  if (last < table.columns) element = row.from[last];\n",
        part="aligned rows",
        words="a thread waits 2 times in a row for global memory where 1 suffice",
    ),
    "five of six elements at the edges": Wrong(
        old="x < head + kElements - 1;",
        new="x < 5;",
        part="the page table",
        words="three elements before a row's first unit, three after its last",
    ),
    "a store before the second load": Wrong(
        old="  const int input_id = from.input_ids[i];\n  const int out_loc = from.out_loc[i];\n"
        "  to.input_ids[i] = input_id;\n",
        new="  to.input_ids[i] = from.input_ids[i];\n  const int out_loc = from.out_loc[i];\n",
        part="two vectors",
        words="a thread waits 2 times in a row for global memory where 1 suffice",
    ),
    "a step's own mistake": Wrong(
        old="  to.input_ids[i] = input_id;\n  to.out_loc[i] = out_loc;",
        new="  to.input_ids[i] = input_id;\n  to.out_loc[i] = input_id;",
        part="two vectors",
        words="out_loc",
    ),
}
