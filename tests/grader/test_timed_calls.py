"""What is asked of a call is asked of a timed one, at the sizes that only timing has: who made the answer, on
which stream, without waiting, and with every check on."""

from __future__ import annotations

import dataclasses

import pytest

from grader.pipeline.grading import grade
from grader.records.record import Record
from tests.grader.stepped_exercise import EXERCISE, LARGER, SOLUTION
from tests.made_source import made_source

WHOLE = dataclasses.replace(EXERCISE, steps=())
FULL = WHOLE.points
LAUNCH = "copy_rows<<<dim3((longest + 255) / 256, rows), 256, 0, stream>>>(all);"
COPY = "  if (i < row.count) row.target[i] = row.source[i];"
TIMED_ONLY = "longest > 5000"  # no case that is not timed has such a size


def graded(*edits: tuple[str, str]) -> Record:
    text = SOLUTION.read_text()
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return grade(WHOLE, made_source("kernel.cu", text), submission="x", device="virtual", seed="a seed")


def points(record: Record) -> dict[str, float]:
    return {part.name: part.points for part in record.parts}


RACE = """  if (row.count > 5000) {
    __shared__ int slots[256];
    slots[threadIdx.x] = 1;
    if (slots[(threadIdx.x + 32) % 256] > 1) return;
  }
"""
BEHIND = "  if (i == row.count && i > 5000 && row.source[i + 1] == 7) return;\n"
ON_THE_HOST = f"""if ({TIMED_ONLY}) {{
    static int* seen = nullptr;
    if (seen == nullptr) cudaMallocHost(&seen, 1 << 20);
    for (int i = 0; i < rows; ++i) {{
      const int count = static_cast<int>(all.row[i].count);
      copy<<<(count + 255) / 256, 256, 0, stream>>>(all.row[i].source, seen, count);
      cudaStreamSynchronize(stream);
      for (int k = 0; k < count; ++k) seen[k] = seen[k] + 0;  // any work
      copy<<<(count + 255) / 256, 256, 0, stream>>>(seen, all.row[i].target, count);
    }}
    return cudaGetLastError();
  }}
  """


def test_a_race_at_a_timed_size_is_found():
    """Must not earn: the points for a clean kernel."""
    record = graded((COPY, RACE + COPY))
    assert record.verdict == "correct, with findings"
    assert points(record)["clean"] == 0
    assert {finding["kind"] for finding in record.findings} <= {"race", "init"}
    assert "slots[" in record.source.splitlines()[record.findings[0]["line"] - 1]


def test_an_access_behind_the_end_at_a_timed_size_is_found():
    """Must not earn: the points for a clean kernel."""
    record = graded((COPY, BEHIND + COPY))
    assert points(record)["clean"] == 0
    assert [finding["kind"] for finding in record.findings] == ["memory"]


def test_host_code_that_makes_the_answer_at_a_timed_size_earns_nothing_for_it():
    """Must not earn: speed, nor all points for right answers."""
    record = graded((LAUNCH, ON_THE_HOST + LAUNCH))
    assert record.verdict == "not in a kernel", record.parts
    [timed] = [case for case in record.cases if not case.passed]
    assert timed.name == LARGER
    assert "in memory that the host sees as well" in timed.message
    assert points(record)["speed"] == 0
    assert points(record)["correct"] < FULL.correct


@pytest.mark.parametrize(
    ("name", "wait"),
    [
        ("cudaStreamSynchronize", "cudaStreamSynchronize(stream);"),
        ("cudaFree", "{ void* p; cudaMalloc(&p, 4); cudaFree(p); }"),
    ],
)
def test_a_timed_call_that_waits_for_the_device_has_no_time(name: str, wait: str):
    """Must not earn: speed."""
    record = graded((LAUNCH, f"{LAUNCH}\n  if ({TIMED_ONLY}) {wait}"))
    assert record.verdict == "correct, speed not measured"
    message = record.parts[-1].message
    assert f"{LARGER}: copy_many waits for the device by {name} (" in message
    line = next(n for n, text in enumerate(record.source.splitlines(), 1) if f"{name}(" in text)
    assert f"kernel.cu:{line})" in message


def test_a_timed_call_that_captures_its_stream_earns_nothing_for_it():
    """Must not earn: speed, nor all points for right answers. Some launches have the names that the grader's
    own marks around a call once had."""
    empty = 'extern "C" __global__ void given_stream_{}() {{}}\n'
    marks = empty.format("begins") + empty.format("ends")
    captured = f"""if ({TIMED_ONLY}) {{
    cudaStream_t own;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    given_stream_begins<<<1, 1, 0, own>>>();
    copy_rows<<<dim3((longest + 255) / 256, rows), 256, 0, own>>>(all);
    given_stream_ends<<<1, 1, 0, own>>>();
    cudaStreamSynchronize(own);
    return cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed);
  }}
  """
    record = graded(
        (LAUNCH, captured + LAUNCH), ("namespace {\n\nconstexpr", marks + "namespace {\n\nconstexpr")
    )
    assert record.verdict == "not on its stream", (record.parts, record.cases)
    assert points(record)["speed"] == 0
    assert points(record)["correct"] < FULL.correct


# Each block begins when the one before it is done. On a GPU that takes as long as all of them together, in
# the model as long as one.
ONE_AFTER_THE_OTHER = """__device__ unsigned done_blocks;

__global__ void copy_rows_in_turns(const __grid_constant__ Rows rows) {
  const Row& row = rows.row[blockIdx.y];
  const unsigned turn = blockIdx.y * gridDim.x + blockIdx.x, blocks = gridDim.x * gridDim.y;
  if (threadIdx.x == 0)
    while (*static_cast<volatile unsigned*>(&done_blocks) != turn) {}
  __syncthreads();
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < row.count) row.target[i] = row.source[i];
  __syncthreads();
  __threadfence();
  if (threadIdx.x == 0) atomicExch(&done_blocks, (turn + 1) % blocks);
}

}  // namespace
"""


# A long loop that does next to nothing stands before the work: the model, which sees the beginning of long
# blocks, would take it for all of the kernel.
CHEAP_BEGINNING = """  int idle = 0;
#pragma unroll 1
  for (int k = 0; k < 9000; ++k) asm volatile("add.s32 %0, %0, 1;" : "+r"(idle));
  for (int k = 0; k < 300 && row.count > 5000; ++k)
    if (row.source[(i * 977 + k * 131 + idle) % row.count] == -1) return;
"""


def test_a_cheap_beginning_does_not_stand_for_the_whole():
    """Must not earn: speed."""
    record = graded((COPY, CHEAP_BEGINNING + COPY))
    assert record.verdict == "correct, speed not measured"
    assert "its time is modelled from its beginning" in record.parts[-1].message
    assert points(record)["speed"] == 0


def test_blocks_that_wait_for_each_other_have_no_time():
    """Must not earn: speed."""
    record = graded(
        ("}  // namespace\n", ONE_AFTER_THE_OTHER),
        (LAUNCH, f"if ({TIMED_ONLY}) {LAUNCH.replace('copy_rows<', 'copy_rows_in_turns<')} else {LAUNCH}"),
    )
    assert record.verdict == "correct, speed not measured"
    line = next(n for n, text in enumerate(record.source.splitlines(), 1) if "!= turn" in text)
    assert f"kernel.cu:{line} is a loop in which threads wait for others" in record.parts[-1].message
    assert points(record)["speed"] == 0
