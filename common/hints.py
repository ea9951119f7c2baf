"""What to try, for the compiler messages that learners meet most often."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable

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
    "cooperative_groups": "<cooperative_groups.h>",
    "nvcuda": "<mma.h>",
}


def _hint_for_unknown_name(found: re.Match[str]) -> str | None:
    name = found[1]
    if header := _INCLUDE_FOR.get(name):
        return f"{name} needs #include {header}"
    close = difflib.get_close_matches(name, _CUDA_NAMES, n=1, cutoff=0.75)
    return f"did you mean {close[0]}?" if close else None


# The mistakes met most often, and what to try. A function may look at the message before it answers.
_HINTS: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str | None]], ...] = (
    (
        re.compile(r"""expected (?:a )?["']?;"""),
        "look at the end of the line before: a ; is usually missing there",
    ),
    (re.compile(r'(?:identifier|namespace) "(\w+)" is undefined'), _hint_for_unknown_name),
    (re.compile(r"'(\w+)' was not declared in this scope"), _hint_for_unknown_name),
    (
        re.compile(r"calling a __device__ function.* from a __host__"),
        "host code cannot call a device function: launch a kernel, or mark the function __host__ __device__",
    ),
    (
        re.compile(r"calling a __host__ function.* from a __(?:global|device)__"),
        "kernels cannot call host functions: mark it __device__ (and __host__ if both sides use it)",
    ),
    (
        re.compile(r"not supported on \.target '(sm_\w+)'|requires \.target (sm_\w+)"),
        "this instruction needs a newer architecture than the one compiled for",
    ),
    (
        re.compile(r"uses too much shared data"),
        "static __shared__ arrays end at 48 KB: take dynamic shared memory (extern __shared__) for more",
    ),
    (
        re.compile(r"undefined reference to `main'"),
        "the file has no main(): `./course run` takes whole programs",
    ),
    (
        re.compile(r"undefined reference to `cuda\w+'"),
        "the virtual GPU has no such runtime function",
    ),
    (
        re.compile(r"undefined reference to `(?!main|cuda)"),
        "declared but never defined: is a source file or a function body missing?",
    ),
    (
        re.compile(r"unsupported GNU version"),
        "nvcc refuses this g++: set CXX to an older one, such as g++-14",
    ),
    (
        re.compile(r"died due to signal 9|Killed signal terminated program"),
        "the compiler was killed, most likely for want of memory: close other programs and build again",
    ),
    (
        re.compile(r"(\S+): No such file or directory"),
        "is the name spelled as on disk, and its folder given with -I?",
    ),
)


def hint_for(message: str) -> str | None:
    """One sentence of help with a compiler's message, if there is one to give."""
    for pattern, answer in _HINTS:
        if match := pattern.search(message):
            return answer if isinstance(answer, str) else answer(match)
    return None
