"""Mistakes that students make in exercise 03: edits of the solution. Their part is what they cost."""

from __future__ import annotations

from tests.exercises.wrong_kernel import Wrong

LOAD = "if (unit >= 0 && unit < copy.row_units) units[i] = from[unit];"
STORE = "if (unit >= 0 && unit < copy.row_units) to[unit] = units[i];"
_ENTRY = """extern "C" int batched_copy(const CopyDescriptor* descriptors, int count, cudaStream_t stream) {
  if (const cudaError_t error = check_copies(descriptors, count)) return error;
"""
_LAUNCH = "  kernel<<<static_cast<int>(tiles), kThreads, 0, stream>>>(batch);\n"
_ANY_ROW = "                                         planned.destination_stride, row_bytes(copy));"
_SLOTS = "  planned.row_slots = copy.columns - planned.row_units * (unit_elements - 1);"
_NARROW = (  # units of one element, however the rows are aligned
    (
        "widest_unit_bytes(planned.source, planned.destination, planned.source_stride,\n" + _ANY_ROW,
        "size;",
    ),
    ("if (planned.unit_bytes < 16 && copy.rows", "if (planned.unit_bytes > 16 && copy.rows"),
)
_DEAL = "tiles += cut(batch.copies[i], deep ? slots_per_thread(batch.copies[i].unit_bytes) : 1);"

WRONG: dict[str, Wrong] = {
    "element size ignored": Wrong(
        old="  const int size = static_cast<int>(copy.element_size);\n",
        new="  const int size = copy.element_size > 4 ? 4 : static_cast<int>(copy.element_size);\n"
        "  copy.element_size = size;\n",
        words="elements of 8 bytes are taken for 4",
    ),
    "elements before the start": Wrong(
        old="  planned.destination = static_cast<char*>(copy.destination);\n",
        new="""  planned.destination = static_cast<char*>(copy.destination);
  const uint64_t before = address_bits(copy.destination) % 16;
  if (address_bits(copy.source) % 16 == before) {
    planned.source -= before;
    planned.destination -= before;
    copy.columns += static_cast<int64_t>(before) / size;
  }
""",
        words="a copy that begins inside a unit of 16 bytes writes the elements before it, too",
    ),
    "freed too early": Wrong(
        old=_ENTRY,
        new="int copy_all(const CopyDescriptor* descriptors, int count, cudaStream_t stream) {\n",
        more=(
            (
                _LAUNCH + "  return cudaGetLastError();\n}\n",
                _LAUNCH
                + "  return cudaGetLastError();\n}\n\n"
                + _ENTRY
                + """  CopyDescriptor packing[kMostCopies], unpacking[kMostCopies];
  int64_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += (descriptors[i].rows * row_bytes(descriptors[i]) + 15) / 16 * 16;
  char* staging = nullptr;
  if (bytes == 0) return cudaSuccess;
  if (const cudaError_t error = cudaMallocAsync(&staging, bytes, stream)) return error;
  char* next = staging;
  for (int i = 0; i < count; ++i) {
    packing[i] = unpacking[i] = descriptors[i];
    packing[i].destination = next;
    packing[i].destination_stride = descriptors[i].columns;
    unpacking[i].source = next;
    unpacking[i].source_stride = descriptors[i].columns;
    next += (descriptors[i].rows * row_bytes(descriptors[i]) + 15) / 16 * 16;
  }
  if (const int error = copy_all(packing, count, stream)) return error;
  if (const cudaError_t error = cudaFreeAsync(staging, stream)) return error;
  return copy_all(unpacking, count, stream);
}
""",
            ),
        ),
        line=LOAD,
    ),
    "int32 overflow": Wrong(
        old="copy.destination + number_of_row * copy.destination_stride,",
        new="copy.destination + static_cast<int>(number_of_row) * static_cast<int>(copy.destination_stride),",
        reason="error",
        line=STORE,
        words="it looks like an offset that has wrapped at 32 bits",
    ),
    "last copy dropped": Wrong(
        old=f"if (i < count) {_DEAL}",
        new=f"if (i < (count > 1 ? count - 1 : count)) {_DEAL}",
        words="the last copy is left out",
    ),
    "launched twice": Wrong(old=_LAUNCH, new=2 * _LAUNCH, part="mechanism", words="2 kernel launches"),
    "misaligned units": Wrong(
        old="widest_unit_bytes(planned.source, planned.destination, planned.source_stride,\n" + _ANY_ROW,
        new="widest_unit_bytes(planned.destination, planned.destination_stride, row_bytes(copy));",
        reason="error",
        line=LOAD,
    ),
    "narrow atomic loads": Wrong(
        old=LOAD,
        new="""if (unit < 0 || unit >= copy.row_units) continue;
    if constexpr (kUnitBytes == 4) {
      asm volatile("atom.global.or.b32 %0, [%1], 0;" : "=r"(units[i]) : "l"(from + unit));
    } else {
      units[i] = from[unit];
    }""",
        more=_NARROW,
        part="mechanism",
        words="let each lane load 16, 8 or 4 bytes at once",
    ),
    "narrow cp.async": Wrong(
        old=LOAD,
        new="""if (unit < 0 || unit >= copy.row_units) continue;
    if constexpr (kUnitBytes == 4) {
      __pipeline_memcpy_async(&staged[i][threadIdx.x], from + unit, 4);
    } else {
      units[i] = from[unit];
    }""",
        more=(
            *_NARROW,
            ("#include <cuda_runtime.h>\n", "#include <cuda_pipeline.h>\n#include <cuda_runtime.h>\n"),
            (
                "  Unit units[kSlots];\n",
                "  Unit units[kSlots];\n  __shared__ Unit staged[kSlots][kThreads];\n",
            ),
            (
                STORE,
                """if (unit < 0 || unit >= copy.row_units) continue;
    if constexpr (kUnitBytes == 4) {
      __pipeline_commit();
      __pipeline_wait_prior(0);
      units[i] = staged[i][threadIdx.x];
    }
    to[unit] = units[i];""",
            ),
        ),
        part="mechanism",
        words="let each lane load 16, 8 or 4 bytes at once",
    ),
    "narrow stores": Wrong(
        old=STORE,
        new="""if (unit < 0 || unit >= copy.row_units) continue;
    const auto* bytes = reinterpret_cast<const char*>(&units[i]);
    for (int b = 0; b < kUnitBytes; ++b) reinterpret_cast<volatile char*>(to + unit)[b] = bytes[b];""",
        part="mechanism",
        words="let each lane store 16, 8 or 4 bytes at once",
    ),
    "narrow units": Wrong(
        old=_NARROW[0][0],
        new=_NARROW[0][1],
        more=_NARROW[1:],
        part="mechanism",
        words="let each lane load 16, 8 or 4 bytes at once",
    ),
    "one tile a copy": Wrong(
        old=_DEAL, new=_DEAL.replace(" : 1);", " : 1) > 0;"), words="the last row of each copy is missing"
    ),
    "overlap accepted": Wrong(
        old="  if (const cudaError_t error = check_copies(descriptors, count)) return error;\n",
        new="""  if (count > kMostCopies) return cudaErrorInvalidValue;
  for (int i = 0; i < count; ++i) {
    if (!is_well_formed(descriptors[i])) return cudaErrorInvalidValue;
  }
""",
        reason="not refused",
        words="must refuse this with cudaErrorInvalidValue (1)",
    ),
    "past the end": Wrong(
        old=_ANY_ROW,
        new=_ANY_ROW.replace(", row_bytes(copy)", ""),
        more=(
            (
                "(copy.columns - planned.head) / unit_elements;",
                "(copy.columns - planned.head + unit_elements - 1) / unit_elements;",
            ),
            (_SLOTS, "  planned.row_slots = planned.head + planned.row_units;"),
        ),
        line=LOAD,
    ),
    "seventeenth forgotten": Wrong(
        old=_ENTRY,
        new=_ENTRY.replace("{\n", "{\n  count = count < kMostCopies ? count : kMostCopies;\n", 1),
        reason="not refused",
        words="must refuse this with cudaErrorInvalidValue (1)",
    ),
    "stride from shape": Wrong(
        old="  planned.destination_stride = copy.destination_stride * size;",
        new="  planned.destination_stride = copy.rows > 1 ? copy.columns * size : 0;",
        words="the destination is written as if its rows were dense: its row stride is ignored",
    ),
    "stride multiplied twice": Wrong(
        old="  planned.source_stride = copy.source_stride * size;\n  planned.destination",
        new="  planned.source_stride = copy.source_stride * size * size;\n  planned.destination",
        words="the source's row strides are too large by the element size: from elements to bytes they are",
    ),
    "destination stride multiplied twice": Wrong(
        old="  planned.destination_stride = copy.destination_stride * size;",
        new="  planned.destination_stride = copy.destination_stride * size * size;",
        words="the destination's row strides are too large by the element size",
    ),
    "strides taken for bytes": Wrong(
        old="  planned.source_stride = copy.source_stride * size;\n  planned.destination_stride"
        " = copy.destination_stride * size;",
        new="  planned.source_stride = copy.source_stride;\n  planned.destination_stride"
        " = copy.destination_stride;",
        words="the row strides are used as bytes, but count elements",
    ),
    "table in device memory": Wrong(
        old="copy_tiles(const __grid_constant__ CopyBatch batch) {\n",
        new="copy_tiles(const CopyBatch* table) {\n  const CopyBatch& batch = *table;\n",
        more=(
            (
                _LAUNCH,
                """  static CopyBatch* table = nullptr;
  if (table == nullptr) {
    if (const cudaError_t error = cudaMalloc(&table, sizeof(CopyBatch))) return error;
  }
  if (const cudaError_t error = cudaMemcpyAsync(table, &batch, sizeof(batch), cudaMemcpyDefault, stream)) {
    return error;
  }
"""
                + _LAUNCH.replace("(batch)", "(table)"),
            ),
        ),
        part="mechanism",
        words="and 1 copy by the runtime",
    ),
    "tail dropped": Wrong(
        old=_ANY_ROW,
        new=_ANY_ROW.replace(", row_bytes(copy)", ""),
        more=((_SLOTS, "  planned.row_slots = planned.head + planned.row_units;"),),
        words="the end of each row is missing, past the last multiple of 4 elements",
    ),
    "tile off by one": Wrong(
        old="found += tile >= batch.first_tile[i];",
        new="found += tile > batch.first_tile[i];",
        words="only the first copy is done",
    ),
}
