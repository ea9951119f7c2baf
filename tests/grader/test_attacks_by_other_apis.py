"""Attacks by ways beside the runtime API's usual calls: each earns what its plain twin earns, or nothing."""

from __future__ import annotations

import pytest

from tests.grader.test_fresh_attacks import HOST_ANSWERS, SMUGGLED, edited, graded, points

DRIVER = "#include <cuda.h>\n"
ADDRESS = "reinterpret_cast<CUdeviceptr>"
EACH_ROW = "for (int i = 0; i < rows; ++i) {{\n    const Row& row = all.row[i];\n{}\n  }}"
# The same by the runtime API and by the driver API.
TWINS = {
    "copies in place of a kernel": (
        "cudaMemcpyAsync(row.target, row.source, 4 * row.count, cudaMemcpyDeviceToDevice, stream);",
        f"cuMemcpyDtoDAsync({ADDRESS}(row.target), {ADDRESS}(row.source), 4 * row.count, stream);",
    ),
    "the host reads and writes": (
        """static int seen[32768];
        cudaMemcpyAsync(seen, row.source, 4 * row.count, cudaMemcpyDeviceToHost, stream);
        cudaStreamSynchronize(stream);
        cudaMemcpyAsync(row.target, seen, 4 * row.count, cudaMemcpyHostToDevice, stream);""",
        f"""static int seen[32768];
        cuMemcpyDtoHAsync(seen, {ADDRESS}(row.source), 4 * row.count, stream);
        cuStreamSynchronize(stream);
        cuMemcpyHtoDAsync({ADDRESS}(row.target), seen, 4 * row.count, stream);""",
    ),
    "a stream of its own": (
        """cudaStream_t own;
        cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
        copy<<<(row.count + 255) / 256, 256, 0, own>>>(row.source, row.target, row.count);""",
        """CUstream own;
        cuStreamCreate(&own, CU_STREAM_NON_BLOCKING);
        copy<<<(row.count + 255) / 256, 256, 0, own>>>(row.source, row.target, row.count);""",
    ),
}


@pytest.mark.parametrize("what", TWINS)
def test_the_driver_api_earns_what_the_runtime_api_earns(what: str):
    runtime, driver = (
        graded(edited(DRIVER, EACH_ROW.format(way)), quick=True)  # the same file but for the calls
        for way in TWINS[what]
    )
    assert points(driver) == points(runtime)
    assert driver.points < 100


_LOAD = """CUmodule module;
  CUfunction function;
  cuModuleLoadData(&module, hidden_text.c_str());
  cuModuleGetFunction(&function, module, "hidden_copy");
  """
_LAUNCH_LOADED = """int count = static_cast<int>(row.count);
    const void* arguments[] = {&row.source, &row.target, &count};
    cuLaunchKernel(function, (count + 255) / 256, 1, 1, 256, 1, 1, 0, stream, const_cast<void**>(arguments),
                   nullptr);"""
MODULE = edited(DRIVER + SMUGGLED.replace("NAME", "hidden_copy"), _LOAD + EACH_ROW.format(_LAUNCH_LOADED))


def test_a_module_of_the_driver_api_is_not_run():
    """Must not earn: any point."""
    record = graded(MODULE)
    assert record.points == 0, record.parts


_NODES = """static int seen[32768];
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    cudaGraphNode_t node;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddMemcpyNode1D(&node, graph, nullptr, 0, seen, row.source, 4 * row.count,
                             cudaMemcpyDeviceToHost);
    cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphLaunch(executable, stream);
    cudaStreamSynchronize(stream);
    put_all(row.target, seen, static_cast<int>(row.count), stream);"""
OWN_NODES = edited(HOST_ANSWERS, EACH_ROW.format(_NODES))


def test_a_graph_of_its_own_nodes_does_not_show_the_host_the_rows():
    """Must not earn: any point."""
    record = graded(OWN_NODES, quick=True)
    assert record.points == 0, record.parts


# Memory that both sides reach: how it is made, with the name that each side has for it.
SHARED = {
    "registered": """static int* seen = static_cast<int*>(
        mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    static int* place = nullptr;
    if (place == nullptr) {
      cudaHostRegister(seen, 1 << 20, cudaHostRegisterMapped);
      cudaHostGetDevicePointer(reinterpret_cast<void**>(&place), seen, 0);
    }""",
    "managed": """static int* seen = nullptr;
    if (seen == nullptr) cudaMallocManaged(&seen, 1 << 20);
    int* place = seen;""",
    "a managed variable": """int* seen = room;
    int* place = nullptr;
    cudaGetSymbolAddress(reinterpret_cast<void**>(&place), room);""",
    "the driver's": """static int* seen = nullptr;
    if (seen == nullptr) cuMemHostAlloc(reinterpret_cast<void**>(&seen), 1 << 20, CU_MEMHOSTALLOC_DEVICEMAP);
    CUdeviceptr address = 0;
    cuMemHostGetDevicePointer(&address, seen, 0);
    int* place = reinterpret_cast<int*>(address);""",
}


BESIDE_THE_HOST = DRIVER + "#include <sys/mman.h>\n" + HOST_ANSWERS + "__managed__ int room[32768];\n"
BY_THE_HOST = """
    copy<<<(row.count + 255) / 256, 256, 0, stream>>>(row.source, place, row.count);
    cudaStreamSynchronize(stream);
    put_all(row.target, seen, static_cast<int>(row.count), stream);"""


@pytest.mark.parametrize("kind", SHARED)
def test_no_kind_of_shared_memory_lets_the_host_make_the_answer(kind: str):
    """Must not earn: any point, not even for the cases with few bytes."""
    record = graded(edited(BESIDE_THE_HOST, EACH_ROW.format(SHARED[kind] + BY_THE_HOST)), quick=True)
    assert record.verdict == "not in a kernel", record.cases
    assert record.points == 0, record.parts


# The first call's rows, kept for all later ones; and where they are kept.
KEPT = """
__device__ int* kept = nullptr;
__device__ int room[32768];
__global__ void copy_kept(const int* source, int* target, int count) {
  if (kept == nullptr) {
    kept = WHERE;
    for (int i = 0; i < count; ++i) kept[i] = source[i];
  }
  for (int i = 0; i < count; ++i) target[i] = kept[i];
}
"""


def _kept_in(where: str) -> str:
    launch = EACH_ROW.format("copy_kept<<<1, 1, 0, stream>>>(row.source, row.target, row.count);")
    return edited(KEPT.replace("WHERE", where), launch)


KEPT_IN_THE_HEAP = _kept_in("static_cast<int*>(malloc(sizeof room))")


def test_the_heap_of_device_code_keeps_nothing_that_a_variable_would_not():
    """Must not earn: any point."""
    variable, heap = (graded(text, quick=True) for text in (_kept_in("room"), KEPT_IN_THE_HEAP))
    assert points(heap) == points(variable)
    assert heap.points == 0


# The host hands its answers over in so many small pieces that each of them could be a parameter.
SMALL_PIECES = edited(
    HOST_ANSWERS,
    EACH_ROW.format(
        """static int seen[32768];
    for (int64_t i = 0; i < row.count; i += 4)
      cudaMemcpyAsync(seen + i, row.source + i, row.count - i < 4 ? 4 * (row.count - i) : 16,
                      cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    for (int64_t i = 0; i < row.count; i += 4)
      cudaMemcpyAsync(row.target + i, seen + i, row.count - i < 4 ? 4 * (row.count - i) : 16,
                      cudaMemcpyHostToDevice, stream);"""
    ),
)


def test_copies_of_many_small_pieces_are_no_parameters():
    """Must not earn: any point."""
    record = graded(SMALL_PIECES, quick=True)
    assert record.verdict == "not in a kernel", record.cases
    assert record.points == 0, record.parts


# Threads that arrive at an mbarrier by their copies.
MEET = r"""
__global__ void copy_and_meet(const int* source, int* target, int count) {
  __shared__ uint64_t barrier;
  const uint32_t at = __cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 256;" ::"r"(at) : "memory");
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) target[i] = source[i];
  asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(at) : "memory");
  asm volatile(
      "{\n.reg .pred p;\nAGAIN:\nmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra AGAIN;\n}" ::"r"(at)
      : "memory");
}
"""


def test_instructions_that_the_model_has_no_time_for_earn_no_speed_on_the_virtual_gpu():
    grid = "<<<(row.count + 255) / 256, 256, 0, stream>>>"
    launch = f"if (row.count > 0) copy_and_meet{grid}(row.source, row.target, row.count);"
    record = graded(edited(MEET, EACH_ROW.format(launch)))
    assert record.points > 0
    assert points(record)["speed"] == 0
    message = next(part.message for part in record.parts if part.name == "speed")
    assert "uses cp.async.mbarrier, whose time is not modelled" in message
    assert "kernel.cu:" in message
