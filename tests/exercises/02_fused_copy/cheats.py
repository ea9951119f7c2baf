"""Cheats against a clock inside a CUDA graph, each as one edit of the solution: its calls answer rightly, and
the graph that is timed does less than they do."""

from __future__ import annotations

from dataclasses import dataclass

_ENTRY = "  if (batch_size == 0) return cudaSuccess;\n  const Shape shape"
_ASK = """  cudaStreamCaptureStatus status;
  cudaStreamIsCapturing(stream, &status);
  const bool captured = status == cudaStreamCaptureStatusActive;
"""


@dataclass(frozen=True)
class Cheat:
    """What it tries, and the lines that it adds where the entry has checked its sizes."""

    tries: str
    lines: str

    def source(self, solution: str) -> str:
        assert solution.count(_ENTRY) == 1
        head, tail = _ENTRY.split("\n", 1)
        return solution.replace(_ENTRY, f"{head}\n{self.lines}{tail}")


CHEATS = {
    "not captured": Cheat(
        "leaves nothing in the graph",
        _ASK + "  if (captured) return cudaSuccess;\n",
    ),
    "every other call": Cheat(
        "leaves every other call out of the graph",
        "  static int calls = 0;\n" + _ASK + "  if (captured && ++calls % 2 == 0) return cudaSuccess;\n",
    ),
    "the page table alone is left out": Cheat(
        "captures the vectors, which are small, and not the page table",
        _ASK
        + """  if (captured && max_seqlen_k > 8)
    return fused_copy_replay_data(input_ids, out_loc, positions, seq_lens, cu_seqlens_k, page_table,
                                  captured_input_ids, captured_out_loc, captured_positions,
                                  captured_seq_lens, captured_cu_seqlens_k, captured_page_table, batch_size,
                                  8, source_row_stride, destination_row_stride, stream);
""",
    ),
    "at capture time": Cheat(
        "copies when it is captured, on a stream of its own, and leaves nothing to replay",
        _ASK
        + """  if (captured) {
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    static cudaStream_t own = nullptr;
    if (own == nullptr) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    const int error = fused_copy_replay_data(
        input_ids, out_loc, positions, seq_lens, cu_seqlens_k, page_table, captured_input_ids,
        captured_out_loc, captured_positions, captured_seq_lens, captured_cu_seqlens_k,
        captured_page_table, batch_size, max_seqlen_k, source_row_stride, destination_row_stride, own);
    cudaStreamSynchronize(own);
    cudaThreadExchangeStreamCaptureMode(&mode);
    return error;
  }
""",
    ),
    "a side stream": Cheat(
        "copies on a stream of its own that nothing waits for",
        """  static cudaStream_t own = nullptr;
  if (own == nullptr) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
  stream = own;
""",
    ),
}
