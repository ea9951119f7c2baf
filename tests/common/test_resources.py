"""ptxas' account of a kernel: registers, shared memory, stack and spills on each architecture."""

from __future__ import annotations

from common.build.resources import ARCHES, demangle, parse_ptxas, resources

SOURCE = """
template <int kSize>
__global__ void uses_shared(float* a) {
  __shared__ float tile[kSize];
  tile[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = tile[kSize - 1 - threadIdx.x];
}
template __global__ void uses_shared<256>(float*);

extern "C" __global__ void uses_stack(int* a, int i, int j) {
  int local[64] = {};
  for (int k = 0; k < i; ++k) local[a[k] & 63] += k;
  a[0] = local[j];
}
"""

REPORT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'spills' for 'sm_80'
ptxas info    : Function properties for spills
    16 bytes stack frame, 24 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 16 bytes cumulative stack size, 512 bytes smem, 380 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Function properties for helper
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""  # noqa: E501


def test_a_report_is_read_in_full():
    [kernel] = parse_ptxas(REPORT)
    assert (kernel.name, kernel.arch, kernel.registers, kernel.shared) == ("spills", "sm_80", 32, 512)
    assert (kernel.stack, kernel.spill_stores, kernel.spill_loads, kernel.constant) == (16, 24, 32, 388)


def test_every_kernel_is_reported_for_every_architecture(cache, tmp_path):
    source = tmp_path / "two.cu"
    source.write_text(SOURCE)
    found = resources(source, cache=cache)
    assert tuple(found) == ARCHES == ("sm_80", "sm_89", "sm_90")
    for arch, kernels in found.items():
        by_name = {kernel.demangled: kernel for kernel in kernels}
        assert {kernel.arch for kernel in kernels} == {arch}
        assert by_name["void uses_shared<256>(float*)"].shared == 1024
        assert by_name["uses_stack"].stack == 256
        assert all(kernel.registers > 0 and kernel.spill_stores == 0 for kernel in kernels)
    assert resources(source, cache=cache) == found


def test_names_are_shown_as_written_and_others_left_alone():
    assert demangle("_Z3addPfi") == "add(float*, int)"
    assert demangle("plain_c_name") == "plain_c_name"
    assert demangle("_Zgarbage") == "_Zgarbage"
