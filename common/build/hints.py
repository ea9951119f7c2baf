"""What to try, for the compiler messages that learners meet most often."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable

from common.build.nvcc.libraries import hint_for_header
from common.core.paths import REPOSITORY

_HEADERS = REPOSITORY / "common" / "cuda"
# What a header defines at the start of a line: types and macros, functions and constants.
_DEFINED = (
    re.compile(r"^(?:struct|class|enum class|using|#define) (\w+)", re.MULTILINE),
    re.compile(r"^(?!template\b|static_assert\b)\w[\w:<>*&, ]*[ *&](\w+)(?:\(| = )", re.MULTILINE),
)

# Names worth guessing at when something like them is unknown.
_CUDA_NAMES = """
threadIdx blockIdx blockDim gridDim warpSize __syncthreads __syncwarp __shfl_sync __shfl_down_sync
__shfl_up_sync __shfl_xor_sync __ballot_sync __any_sync __all_sync __activemask __reduce_add_sync
atomicAdd atomicSub atomicMax atomicMin atomicCAS atomicExch atomicAnd atomicOr atomicXor
cudaMalloc cudaFree cudaMemcpy cudaMemcpyAsync cudaMemset cudaMemsetAsync cudaDeviceSynchronize
cudaStreamSynchronize cudaStreamCreate cudaGetLastError cudaPeekAtLastError cudaGetErrorString
cudaMemcpyHostToDevice cudaMemcpyDeviceToHost cudaMemcpyDeviceToDevice cudaSuccess cudaError_t
__half2float __float2half __ldg __cvta_generic_to_shared
""".split()
_INCLUDE_FOR = {
    "printf": "<cstdio>",
    "assert": "<cassert>",
    "half": "<cuda_fp16.h>",
    "__half": "<cuda_fp16.h>",
    "__half2": "<cuda_fp16.h>",
    "__nv_bfloat16": "<cuda_bf16.h>",
    "__nv_bfloat162": "<cuda_bf16.h>",
    "int64_t": "<cstdint>",
    "uint32_t": "<cstdint>",
    "uint64_t": "<cstdint>",
    "malloc": "<cstdlib>",
    "free": "<cstdlib>",
    "__pipeline_memcpy_async": "<cuda_pipeline.h>",
    "__pipeline_commit": "<cuda_pipeline.h>",
    "__pipeline_wait_prior": "<cuda_pipeline.h>",
    "cooperative_groups": "<cooperative_groups.h>",
    "nvcuda": "<mma.h>",
}


def _hint_for_unknown_name(found: re.Match[str]) -> str | None:
    name = found[1]
    if header := _INCLUDE_FOR.get(name):
        return f"{name} needs #include {header}"
    if header := _course_headers().get(name):
        return f'{name} is in a header of the course: #include "{header}"'
    close = difflib.get_close_matches(name, _CUDA_NAMES, n=1, cutoff=0.75)
    if close:
        return f"did you mean {close[0]}?"
    return f"nothing above this line declares {name} where it can be seen here: look for a slip in spelling"


@functools.cache
def _course_headers() -> dict[str, str]:
    """The headers that submissions may include, by the names they define."""
    return {
        name: path.name
        for path in sorted(_HEADERS.glob("*.cuh"))
        for pattern in _DEFINED
        for name in pattern.findall(path.read_text(errors="replace"))
    }


def _hint_for_header(found: re.Match[str]) -> str:
    return hint_for_header(found[1]) or "is the name spelled as on disk, and its folder given with -I?"


def _hint_for_missing_member(found: re.Match[str]) -> str:
    kind, member = found[1], found[2]
    if kind in ("uint3", "dim3"):
        return "threadIdx, blockIdx, blockDim and gridDim have x, y and z, and nothing else"
    return f"look up what {kind} is made of: {member} is not part of it"


# Headers of the standard library that define something other than what they are called.
_STD_NAMES = {
    "<algorithm>": "all_of any_of clamp copy count fill find for_each max max_element min min_element "
    "nth_element partial_sort reverse shuffle sort stable_sort transform unique",
    "<cmath>": "abs exp fabs isfinite isinf isnan log pow sqrt",
    "<cstring>": "memcmp memcpy memset strcmp",
    "<limits>": "numeric_limits",
    "<memory>": "make_shared make_unique shared_ptr unique_ptr",
    "<numeric>": "accumulate inner_product iota partial_sum",
    "<random>": "mt19937 normal_distribution uniform_int_distribution uniform_real_distribution",
    "<iostream>": "cerr cin cout endl",
    "<string>": "stoi to_string",
    "<utility>": "make_pair move pair swap",
}
_STD_INCLUDE_FOR = {name: header for header, names in _STD_NAMES.items() for name in names.split()}
_STD_HEADERS = """array atomic bitset chrono deque functional future list map mutex optional queue set
span sstream stack string thread tuple unordered_map unordered_set variant vector""".split()


def _hint_for_std(found: re.Match[str]) -> str:
    name = found[1]
    header = _INCLUDE_FOR.get(name) or _STD_INCLUDE_FOR.get(name)
    if header is None and name in _STD_HEADERS:
        header = f"<{name}>"
    wanted = f"#include {header} for it" if header else f"to #include the header that has std::{name}"
    return f"host code needs {wanted}; in a kernel most of std does not exist"


def _hint_for_architecture(found: re.Match[str]) -> str:
    name = found[1].partition(".")[0]
    own = name in ("wgmma", "setmaxnreg")
    arch = "sm_90a" if own else "sm_90"
    return f"{name} needs {arch}: run it with ./course run --arch {arch}"


# The mistakes met most often, and what to try. A function may look at the message before it answers.
_HINTS: dict[str, str | Callable[[re.Match[str]], str | None]] = {
    r"Instruction '((?:wgmma|setmaxnreg|mbarrier|cp|mapa|barrier)[\w.:]*)' not supported on": (
        _hint_for_architecture
    ),
    r"""expected (?:a )?["']?;""": "look at the end of the line before: a ; is usually missing there",
    r'identifier "\w+" is undefined in device code': (
        "device code sees device functions and constants only: mark it __device__, or pass it as an argument"
    ),
    r'(?:identifier|namespace) "(\w+)" is undefined': _hint_for_unknown_name,
    r"'(\w+)' was not declared in this scope": _hint_for_unknown_name,
    r"calling a __device__ function.* from a __host__": (
        "host code cannot call a device function: launch a kernel, or mark the function __host__ __device__"
    ),
    r"calling a __host__ function.* from a __(?:global|device)__": (
        "kernels cannot call host functions: mark it __device__ (and __host__ if both sides use it)"
    ),
    r'expected an? "?[})\]]': (
        "a bracket that was opened is never closed: count from the function's first line"
    ),
    r"expected an? (?:expression|statement|declaration|identifier)": (
        "something is missing or one too many here or just before: a name, an operator, a bracket"
    ),
    r"too (?:few|many) arguments in function call": (
        "compare the call with the parameters where the function or the kernel is defined"
    ),
    r'argument of type "(.+)" is incompatible with parameter of type "(.+)"': lambda found: (
        f"it wants {found[2]} and gets {found[1]}: pass another variable, or cast it if you are sure"
    ),
    r'a value of type "(.+ \*)" cannot be (?:used to initialize|assigned to)': (
        "that is an address: read what it points to with [i] or *, or cast it to another pointer type"
    ),
    r'no suitable constructor .*convert from ".+ \*"|cast to type ".+" is not allowed': (
        "to read several elements at once cast the pointer and then read: *reinterpret_cast<const int4*>(p)"
    ),
    r"expression must be a modifiable lvalue": (
        "it is const, or no variable at all: write to an output, or compare with == if that was meant"
    ),
    r"a __global__ function call must be configured": (
        "a kernel is launched, not called: kernel<<<blocks, threads, shared_bytes, stream>>>(arguments)"
    ),
    r"a host function call cannot be configured": (
        "only a kernel can be launched with <<< >>>: mark the function __global__"
    ),
    r"a __global__ function must have a void return type": (
        "a kernel returns nothing: let it write its answer to memory that it gets a pointer to"
    ),
    r"variable length array|incomplete type \".*\[\]\" is not allowed": (
        "the size of an array is fixed when compiling: a constant or template parameter, or "
        "extern __shared__ with the size in the launch"
    ),
    r"expression must have a constant value": (
        "template arguments and array sizes must be constants: constexpr, or one launch for each value"
    ),
    r"no instance of (?:overloaded )?function": (
        "a function of that name exists, but not with these types: compare each argument with its definition"
    ),
    r'(?:class|struct) "([\w:<> ]+)" has no member "(\w+)"': _hint_for_missing_member,
    r'namespace "std" has no member "(\w+)"': _hint_for_std,
    r"has already been declared in the current scope": (
        "two variables of one block share that name: rename one, or leave out the type to assign again"
    ),
    r"pointer to a complete object type": (
        "a void* has no elements: cast it first, as in static_cast<const __half*>(p)"
    ),
    r"missing return statement at end of non-void function": (
        "return something on every path; an entry point ends with: return cudaGetLastError();"
    ),
    r"not supported on \.target '(sm_\w+)'|requires \.target (sm_\w+)": (
        "this instruction needs a newer architecture than the one compiled for"
    ),
    r"uses too much shared data": (
        "static __shared__ arrays end at 48 KB: take dynamic shared memory (extern __shared__) for more"
    ),
    r"Unresolved extern function": (
        "a kernel calls a function that is declared but nowhere defined for the device: is a body missing?"
    ),
    r"uses too much (?:global )?constant data": (
        "__constant__ variables end at 64 KB: take __device__ const, which a kernel reads like other memory"
    ),
    r"undefined reference to `main'": "the file has no main(): `./course run` takes whole programs",
    r"undefined reference to `cuda\w+'": "the virtual GPU has no such runtime function",
    r"undefined reference to `(?!main|cuda)": (
        "declared but never defined: is a source file or a function body missing?"
    ),
    r"unsupported GNU version": "nvcc refuses this g++: set CXX to an older one, such as g++-14",
    r"died due to signal 9|Killed signal terminated program": (
        "the compiler was killed, most likely for want of memory: close other programs and build again"
    ),
    r"nvrtc\.h: No such file or directory": (
        "NVRTC comes with NVIDIA's wheel nvidia-cuda-nvrtc, or with the whole of CUDA 13"
    ),
    r"(\S+): No such file or directory": _hint_for_header,
}


def hint_for(message: str) -> str | None:
    """One sentence of help with a compiler's message, if there is one to give."""
    for pattern, answer in _HINTS.items():
        if match := re.search(pattern, message):
            return answer if isinstance(answer, str) else answer(match)
    return None
