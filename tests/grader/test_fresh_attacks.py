"""Attacks on the grader by a whole file: what each one must not earn stands in its test."""

from __future__ import annotations

import dataclasses

import pytest

from grader.pipeline.grading import grade
from grader.records.record import Record
from tests.grader.stepped_exercise import EXERCISE, SOLUTION
from tests.made_source import made_source

WHOLE = dataclasses.replace(EXERCISE, steps=())
LAUNCH = "copy_rows<<<dim3((longest + 255) / 256, rows), 256, 0, stream>>>(all);"
NAMESPACE = "namespace {\n\nconstexpr"


def edited(before: str, launch: str) -> str:
    """The solution with text of the attack before its kernels, and in place of its launch."""
    text = SOLUTION.read_text()
    for place in (NAMESPACE, LAUNCH):
        assert text.count(place) == 1
    return text.replace(NAMESPACE, f"{before}\n{NAMESPACE}").replace(LAUNCH, launch)


def graded(text: str, *, quick: bool = False) -> Record:
    source = made_source("kernel.cu", text)
    return grade(WHOLE, source, submission="x", device="virtual", seed="a seed", quick=quick)


def points(record: Record) -> dict[str, float]:
    return {part.name: part.points for part in record.parts}


# Device code that nvcc and ptxas never saw: the library brings its own text and registers it as nvcc's code
# would. It could hide sleeps, spills and slow instructions, or take the name of a smaller kernel.
SMUGGLED = r"""
#include <cstdlib>
#include <cstring>
#include <string>
extern "C" void** __cudaRegisterFatBinary(void*);
extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                                       dim3*, int*);
static const std::string hidden_text = std::string(R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry NAME(.param .u64 s, .param .u64 t, .param .u32 n) {
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [s];
  ld.param.u64 %rd2, [t];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra done;
  mul.wide.s32 %rd3, %r5, 4;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  nano)") + R"(sleep.u32 1000;
  ld.global.u32 %r6, [%rd4];
  st.global.u32 [%rd5], %r6;
done:
  ret;
}
)";
static char hidden;
static void load_hidden() {
  static bool loaded = false;
  if (loaded) return;
  loaded = true;
  const size_t bytes = (hidden_text.size() + 8) / 8 * 8;
  auto* data = static_cast<unsigned char*>(std::calloc(1, 16 + 64 + bytes));
  const auto put = [&](size_t at, unsigned long long value, size_t width) {
    std::memcpy(data + at, &value, width);
  };
  put(0, 0xBA55ED50, 4), put(4, 1, 2), put(6, 16, 2), put(8, 64 + bytes, 8);
  put(16, 1, 2), put(18, 0x101, 2), put(20, 64, 4), put(24, bytes, 8), put(44, 90, 4);
  std::memcpy(data + 80, hidden_text.data(), hidden_text.size());
  static struct { int magic, version; const void* data; void* more; } wrapper;
  wrapper = {0x466243b1, 1, data, nullptr};
  void** handle = __cudaRegisterFatBinary(&wrapper);
  __cudaRegisterFunction(handle, &hidden, const_cast<char*>("NAME"), "NAME", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
}
"""
LAUNCH_HIDDEN = """load_hidden();
  for (int i = 0; i < rows; ++i) {
    int count = static_cast<int>(all.row[i].count);
    void* arguments[] = {&all.row[i].source, &all.row[i].target, &count};
    cudaLaunchKernel(&hidden, dim3((count + 255) / 256), dim3(256), arguments, 0, stream);
  }"""


@pytest.mark.parametrize("name", ["hidden_copy", "copy_one"])
def test_device_code_that_nvcc_did_not_make_is_not_run(name: str):
    """Must not earn: any point."""
    record = graded(edited(SMUGGLED.replace("NAME", name), LAUNCH_HIDDEN))
    assert record.points == 0, record.parts
    assert "device code that is not in the submitted file" in record.cases[0].message


_SECTION = '__attribute__((section(".nv_fatbin"), used))'
BESIDE = edited(f"{_SECTION} static const unsigned long long more[16] = {{0xBA55ED50}};", LAUNCH)


def test_nor_is_code_beside_that_of_nvcc():
    """Must not earn: any point. With data in the section of device code, ptxas's figures would not be those
    of the code that runs."""
    record = graded(BESIDE)
    assert record.points == 0, record.parts
    assert "device code that is not in the submitted file" in record.cases[0].message


# The host learns the rows by ways of its own and hands them to kernels as parameters.
HOST_ANSWERS = r"""
#include <vector>
struct Numbers {
  int value[64];
};
__global__ void put(int* target, const __grid_constant__ Numbers numbers, int count) {
  if (threadIdx.x < count) target[threadIdx.x] = numbers.value[threadIdx.x];
}
// Takes as long as the bits say that it is asked for.
__global__ void take_time(const int* source, int at, int shift, int* sink) {
  int x = 1;
  for (int i = 0; i < (source[at] >> shift & 255) * 16; ++i) x = x * 3 + i;
  if (x == 12345) *sink = x;
}
static int put_all(int* target, const int* values, int count, cudaStream_t stream) {
  for (int first = 0; first < count; first += 64) {
    Numbers numbers{};
    const int n = count - first < 64 ? count - first : 64;
    for (int i = 0; i < n; ++i) numbers.value[i] = values[first + i];
    put<<<1, 64, 0, stream>>>(target + first, numbers, n);
  }
  return cudaGetLastError();
}
"""
SEEN = {
    "copied from device to device, into memory that the host sees": """
      static int* seen = nullptr;
      if (seen == nullptr) cudaMallocHost(&seen, 1 << 20);
      cudaMemcpyAsync(seen, row.source, 4 * row.count, cudaMemcpyDeviceToDevice, stream);
      cudaStreamSynchronize(stream);
      put_all(row.target, seen, static_cast<int>(row.count), stream);
""",
    "copied inside of a graph": """
      static int* seen = nullptr;
      if (seen == nullptr) cudaMallocHost(&seen, 1 << 20);
      cudaStream_t own;
      cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
      cudaStreamBeginCapture(own, cudaStreamCaptureModeRelaxed);
      cudaMemcpyAsync(seen, row.source, 4 * row.count, cudaMemcpyDeviceToHost, own);
      cudaGraph_t graph;
      cudaGraphExec_t executable;
      cudaStreamEndCapture(own, &graph);
      cudaGraphInstantiate(&executable, graph, 0);
      cudaGraphLaunch(executable, stream);
      cudaStreamSynchronize(stream);
      put_all(row.target, seen, static_cast<int>(row.count), stream);
""",
    "by a copy from a symbol": """
      static int* place = nullptr;
      if (place == nullptr) cudaGetSymbolAddress(reinterpret_cast<void**>(&place), mailbox);
      copy<<<(row.count + 255) / 256, 256, 0, stream>>>(row.source, place, row.count);
      static int seen[32768];
      cudaMemcpyFromSymbolAsync(seen, mailbox, 4 * row.count, 0, cudaMemcpyDeviceToHost, stream);
      cudaStreamSynchronize(stream);
      put_all(row.target, seen, static_cast<int>(row.count), stream);
""",
    "by the times of events": """
      static cudaEvent_t begin = nullptr, end = nullptr;
      if (begin == nullptr) cudaEventCreate(&begin), cudaEventCreate(&end);
      float least = 0, most = 0;
      std::vector<int> seen(row.count);
      for (int k = 0; k < row.count && k < 64; ++k)
        for (int shift = 0; shift < 32; shift += 8) {
          cudaEventRecord(begin, stream);
          take_time<<<1, 1, 0, stream>>>(row.source, k, shift, row.target);
          cudaEventRecord(end, stream);
          cudaEventSynchronize(end);
          float passed = 0;
          cudaEventElapsedTime(&passed, begin, end);
          least = passed < least ? passed : least, most = passed > most ? passed : most;
          seen[k] |= static_cast<int>(passed * 1000) << shift;  // to be calibrated by whoever means it
        }
      LAUNCH
""",
}


@pytest.mark.parametrize("way", SEEN)
def test_rows_that_the_host_got_to_see_are_not_the_kernels_answer(way: str):
    """Must not earn: any point."""
    launch = "for (int i = 0; i < rows; ++i) {\n      const Row& row = all.row[i];\n" + SEEN[way] + "  }"
    mailbox = HOST_ANSWERS + "__device__ int mailbox[32768];\n"
    record = graded(edited(mailbox, launch.replace("LAUNCH", LAUNCH)), quick=True)
    assert record.verdict == "not in a kernel", (record.verdict, record.cases[0].message)
    assert record.points == 0


# Host code that does not come back as a function should, or comes back later.
STRANGE_ENDS = {
    "stops itself": ("#include <csignal>", "raise(SIGSTOP);" + LAUNCH, "time"),
    "waits for ever": ("#include <unistd.h>", "while (true) pause();", "time"),
    "throws": ("#include <stdexcept>", 'throw std::runtime_error("full marks");', "ended"),
    "jumps elsewhere": (
        "#include <csetjmp>\nstatic jmp_buf nowhere;",
        "longjmp(nowhere, 1);",
        "ended",
    ),
    "ends its thread": ("#include <pthread.h>", LAUNCH + " pthread_exit(nullptr);", ""),
    "closes every descriptor": (
        "#include <unistd.h>",
        LAUNCH + " for (int file = 0; file < 1024; ++file) close(file);",
        "",
    ),
    "puts its own end in place of the engine's": (
        "#include <unistd.h>",
        LAUNCH + " for (int file = 3; file < 1024; ++file) dup2(1, file);",
        "",
    ),
    "goes on by a timer": (
        """#include <csignal>
#include <sys/time.h>
static cudaStream_t last;
static int* place;
__global__ void late(int* at) { *at = 1; }
static void work(int) { late<<<1, 1, 0, last>>>(place); }""",
        LAUNCH
        + """
  last = stream, place = all.row[0].target;
  signal(SIGALRM, work);
  const itimerval soon{{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &soon, nullptr);""",
        "",
    ),
}


@pytest.mark.parametrize("way", STRANGE_ENDS)
def test_a_call_that_ends_strangely_earns_nothing(way: str):
    """Must not earn: any point; and it must not keep the grader from its verdict."""
    before, launch, words = STRANGE_ENDS[way]
    record = graded(edited(before, launch), quick=True)
    assert record.points == 0, (record.verdict, record.parts)
    assert words in record.cases[0].message


def test_an_entry_that_is_no_function_is_reported():
    """Must not earn: any point."""
    record = graded('#include <cuda_runtime.h>\nextern "C" { int copy_many = 0; }\n', quick=True)
    assert record.points == 0
    assert record.verdict != "could not be graded", record.cases
