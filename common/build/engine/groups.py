"""Which of the virtual GPU's files are compiled together, as one translation unit, and how much optimised.

A compiler spends most of its time on the headers and on the templates that a file shares with its neighbours:
files of one group pay for those once. The names that a file keeps to itself must therefore differ within a
group. ops/ and ptx/ have groups of their own, so that tests can link those files without the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from common.build.cache import Cache
from common.build.compile import make_entry
from common.build.unit import digest


@dataclass(frozen=True)
class Group:
    """Files that are compiled together; `flags` follow those that all files get."""

    name: str
    patterns: tuple[str, ...]
    flags: tuple[str, ...] = ()


# What runs once per request, module or launch, and not once per instruction: compiled in half the time.
_COLD = ("-O1",)
_COOL = ("-O2",)
# Nor what most kernels run: Hopper's copies and barriers, clusters, launches and memory of device code.
_RARE = tuple(
    f"exec/{name}*.cpp"
    for name in (
        *("bulk_", "builtins", "child_work", "cluster", "device_runtime", "hang", "heap_ops", "layout"),
        *("mbarrier", "printf", "product_flow", "side_by_side", "tensor_", "texture"),
    )
)
# What a launch begins and ends with.
_LAUNCHES = tuple(
    f"exec/{name}.cpp" for name in ("collect", "flags", "grid", "sample_blocks", "standstill", "thread_pool")
)
# A file belongs to the first group that it matches; one that matches none is compiled by itself. The order is
# that of compiling: roughly the longest first, so that no core waits for another at the end.
GROUPS = (
    # Sources that change the rounding mode at run time must not have their arithmetic moved or folded.
    Group("rounding", ("*_rounding.cpp",), ("-frounding-math",)),
    Group("lowering", ("exec/lower*.cpp", "exec/module.cpp", *_RARE), _COLD),
    Group("memory", ("exec/a*.cpp", "exec/load_store.cpp", "exec/matrix_access.cpp", "checks/shared_*.cpp")),
    Group("server", ("server/*.cpp", "streams/*.cpp"), _COLD),
    Group("runtime", ("runtime/*.cpp",), _COLD),
    Group("launches", (*_LAUNCHES, "cost/explain.cpp", "cost/machine_code.cpp"), _COLD),
    Group("cost", ("cost/*.cpp",), _COOL),
    Group("warps", ("exec/*.cpp",)),
    Group("ptx", ("ptx/*.cpp",), _COOL),
    Group("checks", ("checks/*.cpp", "engine/*.cpp"), _COLD),
    Group("convert_integers", ("ops/convert_[!f]*.cpp",), _COOL),
    Group("matrix", ("ops/matrix*.cpp",)),
    Group("convert_floats", ("ops/convert_f*.cpp",)),
    Group("halves", ("ops/half*.cpp", "ops/special_halves.cpp")),
    Group("cublas", ("cublas/*.cpp",), _COLD),
    Group("compare", ("ops/compare*.cpp",), _COOL),
    Group("integers", ("ops/integer*.cpp",), _COOL),
    Group("floats", ("ops/float*.cpp", "ops/special_functions.cpp")),
    Group("driver", ("driver/*.cpp",), _COLD),
    Group("bits", ("ops/*.cpp",), _COOL),
    Group("device", ("device/*.cpp", "blas/*.cpp"), _COOL),
)


@dataclass(frozen=True)
class Source:
    """What is given to the compiler: a file, or a list of includes that stands for several."""

    path: Path
    flags: tuple[str, ...]


def group_of(source: Path, folder: Path) -> Group | None:
    """Of a file below `folder`."""
    inside = source.is_relative_to(folder)
    return next((group for group in GROUPS if inside and any(map(source.match, group.patterns))), None)


def grouped(sources: Sequence[Path], folder: Path, cache: Cache) -> list[Source]:
    """`sources` by groups, in the order of GROUPS; then those of no group and those not below `folder`."""
    members: dict[Group, list[Path]] = {group: [] for group in GROUPS}
    alone: list[Path] = []
    for source in sources:
        group = group_of(source, folder)
        (members[group] if group else alone).append(source)
    together = [
        Source(files[0] if len(files) == 1 else _includes(group.name, files, folder, cache), group.flags)
        for group, files in members.items()
        if files
    ]
    return [*together, *(Source(path, ()) for path in alone)]


def _includes(name: str, files: Sequence[Path], folder: Path, cache: Cache) -> Path:
    """A file that includes `files` by their paths below `folder`, which the compiler searches."""
    called = f"{name}_group.cpp"  # like none of the files: the compiler looks beside it first
    text = "".join(f'#include "{file.relative_to(folder)}"\n' for file in sorted(files))

    def write(made: Path) -> None:
        (made / called).write_text(text)

    return make_entry(digest("group", called, text), write, cache).path / called
