"""NVIDIA's libraries beside the runtime: which the virtual GPU has, and one sentence about each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Library:
    """`functions` is what the names of its functions look like; `headers`, those of its headers."""

    title: str
    links: str  # what -l is given, as a pattern
    functions: str
    headers: str


# cuBLAS and cuBLASLt are parts of the virtual GPU's runtime library: the link leaves their names out, too.
CUBLAS = Library("cuBLAS", r"cublas(Lt)?", r"cublas(?!Lt|Xt)\w+", r"cublas(_v2|_api|Lt)?\.h")
ABSENT = (
    Library("cuBLASLt", r"(?!)", r"cublasLt\w+", r"(?!)"),  # what of it the runtime library lacks
    Library("cuBLASXt", r"nvblas", r"cublasXt\w+", r"(cublasXt|nvblas)\.h"),
    Library("cuSPARSE", r"cusparse", r"cusparse(?!Lt)\w+", r"cusparse(_v2)?\.h"),
    Library("cuSPARSELt", r"cusparseLt", r"cusparseLt\w+", r"cusparseLt\.h"),
    Library("cuSOLVER", r"cusolver(Mg)?", r"cusolver\w+", r"cusolver\w*\.h"),
    Library("cuRAND's host API", r"curand", r"curand\w+", r"curand\.h"),
    Library("cuFFT", r"cufft\w*", r"cufft\w+", r"cufft\w*\.h"),
    Library("cuDNN", r"cudnn\w*", r"cudnn\w+", r"cudnn\w*\.h"),
    Library("cuTENSOR", r"cutensor\w*", r"cutensor\w+", r"cutensor\w*\.h"),
    Library("NCCL", r"nccl", r"p?nccl\w+", r"nccl\.h"),
    Library("NVSHMEM", r"nvshmem\w*", r"nvshmemx?\w+", r"nvshmemx?\.h"),
    Library("NPP", r"npp\w*", r"npp\w+", r"npp\w*\.h"),
    Library("nvJPEG", r"nvjpeg", r"nvjpeg\w+", r"nvjpeg\.h"),
    Library("NVRTC", r"nvrtc", r"nvrtc\w+", r"nvrtc\.h"),
    Library("nvJitLink", r"nvJitLink", r"(__)?nvJitLink\w+", r"nvJitLink\.h"),
    Library("NVML", r"nvidia-ml", r"nvml\w+", r"nvml\.h"),
    Library("CUPTI", r"cupti", r"cupti\w+", r"cupti\w*\.h"),
)
# Names for the linker without functions that a program calls.
_NAMES_ALONE = r"nvToolsExt|culibos"
_ANY = "|".join((*(library.links for library in (CUBLAS, *ABSENT)), _NAMES_ALONE))
_NAMED = re.compile(rf"-l({_ANY})(_static)?")
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:?) [`'\"]?(\w+)")
# Headers that a program may use without a library, and the wheel that has them.
_DEVICE_HEADERS = {
    "nvidia-curand": r"curand_\w+\.h",
    "nvidia-nvtx": r"nvtx3/\S+",
}


def is_nvidias(word: str) -> bool:
    """Whether a word for the linker names one of NVIDIA's libraries, which no program here is linked with."""
    return _NAMED.fullmatch(word) is not None


def absent_among(words: Iterable[str]) -> list[str]:
    """Those of these words for the linker that name a library which the virtual GPU does not have."""
    return [word for word in dict.fromkeys(words) if is_nvidias(word) and not _is_cublas(word)]


def _is_cublas(word: str) -> bool:
    return re.fullmatch(rf"-l{CUBLAS.links}(_static)?", word) is not None


def refusal_of(linker_output: str) -> str:
    """A sentence about the first function that the linker does not find and an absent library has; else
    empty."""
    for name in _UNDEFINED.findall(linker_output):
        for library in ABSENT:
            if re.fullmatch(library.functions, name):
                return (
                    f"{name} is a function of {library.title}, which the virtual GPU does not have: "
                    "a program that calls it can only be built for a GPU"
                )
    return ""


def hint_for_header(name: str) -> str | None:
    """What to do about a header of NVIDIA's that the compiler does not find."""
    for wheel, pattern in _DEVICE_HEADERS.items():
        if re.fullmatch(pattern, name):
            return (
                f"{name} is a header of NVIDIA's, and it runs on the virtual GPU: "
                f"install it with `.venv/bin/pip install {wheel}`, or the whole CUDA toolkit"
            )
    for library in ABSENT:
        if re.fullmatch(library.headers, name):
            return (
                f"{name} belongs to {library.title}, which the virtual GPU does not have: "
                "a program that calls it can only be built for a GPU"
            )
    return None
