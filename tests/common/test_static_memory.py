"""More static memory than ptxas takes is refused where a program is built for the virtual GPU, too: at the
kernel's line, as soon as nvcc is through."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.build.errors import BuildError
from common.build.program import Target, build_program
from common.machine_code.static_memory import MOST_CONSTANT, MOST_SHARED, excesses

FILES = '.file 1 "/home/me/kernel.cu"\n.file 2 "/home/me/helpers.cuh"\n'


def kernel(name: str, body: str) -> str:
    return (
        f".visible .entry {name}(\n\t.param .u64 {name}_param_0\n)\n.maxntid 128\n{{\n"
        f"\t.loc 2 9 1, function_name $L__info, inlined_at 1 8 3\n\t.loc 1 7 1\n{body}\tret;\n}}\n"
    )


def function(name: str, body: str) -> str:
    return (
        f".func  (.param .b32 func_retval0) {name}(\n\t.param .b32 {name}_param_0\n)\n{{\n{body}\tret;\n}}\n"
    )


def shared(name: str, size: int) -> str:
    return f"\t.shared .align 16 .b8 {name}[{size}];\n"


def test_a_kernel_may_have_48_kb_and_no_more() -> None:
    assert excesses(kernel("k", shared("a", MOST_SHARED))) == []
    (found,) = excesses(FILES + kernel("k", shared("a", MOST_SHARED) + "\t.shared .align 4 .u32 one;\n"))
    assert (found.kernel, found.bytes) == ("k", MOST_SHARED + 4)
    assert (found.file, found.line) == ("/home/me/kernel.cu", 7), "its own line, not that of what is inlined"


def test_elements_and_dimensions_count() -> None:
    (found,) = excesses(kernel("k", "\t.shared .align 8 .f64 a[100][64];\n"))
    assert found.bytes == 100 * 64 * 8


def test_variables_of_functions_that_are_called_count_and_those_of_others_do_not() -> None:
    half = MOST_SHARED // 2 + 1
    calls = "\t{ // callseq 0, 0\n\tcall.uni (retval0), first, (param0);\n\t} // callseq 0\n"
    goes_on = "\tcall.uni (retval0), second, (param0);\n"
    text = function("first", shared("a", half) + goes_on) + function("second", shared("b", half))
    assert [one.kernel for one in excesses(text + kernel("calls", calls) + kernel("alone", ""))] == ["calls"]
    assert [one.bytes for one in excesses(text + kernel("calls", calls))] == [2 * half]


def test_variables_of_the_file_count_for_kernels_that_name_them() -> None:
    text = shared("a", MOST_SHARED + 1).strip() + "\n"
    names = "\tmov.u32 %r1, a;\n"
    assert [one.kernel for one in excesses(text + kernel("uses", names) + kernel("other", ""))] == ["uses"]


def test_dynamic_shared_memory_is_not_static() -> None:
    assert (
        excesses(".extern .shared .align 16 .b8 dynamic[];\n" + kernel("k", shared("a", MOST_SHARED))) == []
    )


def test_each_kernel_has_its_own() -> None:
    assert excesses(kernel("j", shared("a", MOST_SHARED)) + kernel("k", shared("b", MOST_SHARED))) == []


def test_constants_are_added_up_over_the_file() -> None:
    text = f".const .align 4 .b8 a[{MOST_CONSTANT}] = {{1, 2, 3}};\n"
    assert excesses(text) == []
    (found,) = excesses(text + ".visible .const .align 4 .u32 b;\n")
    assert (found.kernel, found.bytes) == ("", MOST_CONSTANT + 4)


SOURCE = """\
__constant__ float table[CONSTANTS];

template <int kFloats>
__global__ void sums(float* out) {
  __shared__ float all[kFloats];
  all[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = all[threadIdx.x ^ 1];
}

int main() { sums<FLOATS><<<1, 32>>>(nullptr); }
"""


@pytest.mark.parametrize(
    ("floats", "constants", "line", "words"),
    [
        (12_289, 1, 4, ("sums<12289>(float*)", "49,156 bytes", "49,152 at most", "extern __shared__")),
        (32, 16_385, None, ("constant data", "65,540 bytes", "65,536 at most", "__device__ const")),
    ],
)
def test_a_program_for_the_virtual_gpu_is_refused_as_ptxas_would(
    tmp_path: Path, floats: int, constants: int, line: int | None, words: tuple[str, ...]
) -> None:
    source = tmp_path / "sums.cu"
    source.write_text(SOURCE)
    sizes = {"FLOATS": str(floats), "CONSTANTS": str(constants)}
    with pytest.raises(BuildError) as refused:
        build_program([source], Target.virtual("90"), defines=sizes)
    (found,) = refused.value.diagnostics
    assert (found.file, found.line) == (str(source), line)
    assert all(word in str(found) for word in words), str(found)
