"""Sources of a very small virtual GPU, which are built as the real ones are."""

from __future__ import annotations

from pathlib import Path

SOURCES = {
    "engine/main.cpp": (
        '#include "parts/answer.h"\n#include "wire.h"\nint main() { return answer() - kAnswer; }\n'
    ),
    "engine/parts/answer.h": "int answer();\n",
    "engine/parts/answer_rounding.cpp": (
        '#include "answer.h"\n#ifndef __ROUNDING_MATH__\n#error no -frounding-math\n#endif\n'
        "int answer() { return 42; }\n"
    ),
    "wire.h": "constexpr int kAnswer = 42;\n",
    "runtime/api.cpp": (
        '#include <driver_types.h>\n#include "wire.h"\nint hidden() { return kAnswer; }\n'
        '#define API extern "C" __attribute__((visibility("default")))\n'
        "API cudaError_t cudaFree(void*) { return cudaSuccess; }\n"
    ),
    "runtime/gen_stubs.py": (
        "import argparse, pathlib\n"
        "parser = argparse.ArgumentParser()\n"
        "parser.add_argument('--cuda-include', type=pathlib.Path)\n"
        "parser.add_argument('--sources', nargs='+')\n"
        "parser.add_argument('--output', type=pathlib.Path)\n"
        "options = parser.parse_args()\n"
        "assert (options.cuda_include / 'cuda_runtime_api.h').exists()\n"
        'text = \'extern "C" __attribute__((visibility("default"))) int cudaStub() { return 801; }\\n\'\n'
        "options.output.write_text(text)\n"
    ),
}


def write_engine_tree(root: Path) -> Path:
    for name, text in SOURCES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root
