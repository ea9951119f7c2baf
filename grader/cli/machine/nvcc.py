"""`./course nvcc …`: nvcc's command line, for programs that run on the virtual GPU when they are started.

    make NVCC="…/course nvcc"
    cmake -DCMAKE_CUDA_COMPILER=…/bin/nvcc -DCMAKE_CXX_COMPILER=…/bin/c++ …

Flags for machine code (-arch, -gencode, -maxrregcount, -Xptxas, …) are left out: PTX for the virtual GPU
takes its place. -ptx, -cubin and -fatbin make what NVIDIA's nvcc makes.

The program starts the virtual GPU by itself and prints its findings on stderr when it ends. With
`./course run PROGRAM` they look like those of a source and change the exit status. Variables choose for a
program that is started by hand:

    VGPU_OPTIONS="race=off max_seconds=600"   checks and limits
    VGPU_PROFILE=a100                         the device; set it for the compiler, too
    VGPU_REPORT=FILE                          write the report as JSON
"""

from __future__ import annotations

import os
import shutil

from common.build.nvcc.drop_in import compile_as_nvcc, link_as_host_compiler
from common.build.program import Target
from common.virtual_gpu.profiles import DEFAULT_PROFILE, find_profile

_AS_HOST_LINKER = "--as-host-linker"  # of bin/c++, which CMake links with


def main(arguments: list[str]) -> int:
    if shutil.which("g++"):
        # make and CMake set it to the project's compiler. nvcc does not ask for that, and the virtual GPU
        # would be built with it.
        os.environ.pop("CXX", None)
    if arguments[:1] == [_AS_HOST_LINKER]:
        return link_as_host_compiler(arguments[1:])
    if not arguments or arguments == ["--help"]:
        print(__doc__)
        return 0
    profile = find_profile(os.environ.get("VGPU_PROFILE") or DEFAULT_PROFILE)
    return compile_as_nvcc(arguments, Target.virtual(profile.compute_capability))
