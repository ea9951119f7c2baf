"""Where the miniature engine runs: a GPU through torch, or a virtual GPU whose memory torch sees on the CPU.

Both take and give torch tensors, slices and strides included, so that a wrapper or an engine is written once.
On a virtual GPU a tensor is a CPU tensor over device memory: torch computes addresses in this process, and
`address` turns them into those that kernels use.
"""

from __future__ import annotations

import ctypes
import functools
import math
import weakref
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from common.build.architecture import runs
from common.build.engine.error_names import error_name
from common.build.program import Target, build_program
from common.core.errors import CourseError
from common.core.paths import REPOSITORY
from common.gpu.devices import first_gpu
from common.serving.arguments import ArgumentError, require_tensor
from common.virtual_gpu.causes import by_cause
from common.virtual_gpu.device import Library, VirtualGpu
from common.virtual_gpu.tensor import DeviceTensor
from common.worker.calls import Number, Table
from common.worker.native_script import C_TYPES

if TYPE_CHECKING:
    import torch

HEADERS = REPOSITORY / "common" / "cuda"
# Plain numbers in the order of the entry point's parameters; addresses and streams are numbers, too. What is
# of the type "table" is made by the device.
Function = Callable[..., None]
Build = tuple[Any, ...]  # a CUDA file, its architecture, and its macros with their values
NO_DEFINES: Mapping[str, int] = MappingProxyType({})


class KernelFailed(CourseError):
    """An entry point returned a CUDA error, or the work it queued met one."""

    def __init__(self, entry: str, code: int, more: str = "") -> None:
        super().__init__(f"{entry} failed with {error_name(code)} ({code}){more}")
        self.code = code


class Device(ABC):
    """Memory for tensors, and functions of CUDA files compiled for it."""

    name: str  # the model's, as its maker calls it

    @abstractmethod
    def runs(self, arch: str) -> bool:
        """Whether it runs code for an architecture such as "sm_90a"."""

    @abstractmethod
    def empty(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        """Device memory. `name` is how findings of a virtual GPU call it."""

    @abstractmethod
    def address(self, tensor: torch.Tensor, name: str) -> int:
        """What a kernel must be given; an ArgumentError when the tensor is not in this device's memory.

        A tensor without elements is nowhere: any address, 0 too, stands for it.
        """

    @abstractmethod
    def function(
        self,
        source: Path,
        entry: str,
        types: Sequence[str],
        defines: Mapping[str, int] = NO_DEFINES,
        arch: str | None = None,
    ) -> Function:
        """An entry point of a CUDA file, built on first use with such macros, for `arch` or the device's own
        architecture. It raises KernelFailed for what it returns."""

    @abstractmethod
    def table(self, rows: Sequence[Sequence[int]]) -> object:
        """A table for an entry point's host code, 8 bytes per field. It is read before the call returns."""

    @abstractmethod
    def stream(self) -> int:
        """The stream that work goes to now."""

    @abstractmethod
    def synchronise(self) -> None:
        """Wait until all work is done."""

    def full(self, name: str, shape: Sequence[int], dtype: torch.dtype, value: float) -> torch.Tensor:
        tensor = self.empty(name, shape, dtype)
        tensor.fill_(value)
        return tensor

    def put(self, name: str, values: torch.Tensor) -> torch.Tensor:
        """A dense copy of `values` in device memory."""
        require_tensor(name, values)
        tensor = self.empty(name, values.shape, values.dtype)
        tensor.copy_(values)
        return tensor


class Gpu(Device):
    """The first CUDA device, on torch's current stream."""

    def __init__(self) -> None:
        found = first_gpu()
        self.name, self._cc = found.name, found.cc
        self._target = Target.gpu(found.cc)
        self._libraries: dict[Build, ctypes.CDLL] = {}
        self._functions: dict[tuple[Build, str], Function] = {}

    def runs(self, arch: str) -> bool:
        return runs(arch, self._cc)

    def empty(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        import torch

        return torch.empty(tuple(shape), dtype=dtype, device="cuda")

    def address(self, tensor: torch.Tensor, name: str) -> int:
        return tensor.data_ptr()

    def function(
        self,
        source: Path,
        entry: str,
        types: Sequence[str],
        defines: Mapping[str, int] = NO_DEFINES,
        arch: str | None = None,
    ) -> Function:
        build = (source, arch, *defines.items())
        if (build, entry) not in self._functions:
            self._functions[build, entry] = self._find(build, entry, types)
        return self._functions[build, entry]

    def _find(self, build: Build, entry: str, types: Sequence[str]) -> Function:
        if build not in self._libraries:
            source, arch, *defines = build
            target = self._target.for_arch(arch)
            self._libraries[build] = ctypes.CDLL(str(_built(source, target, dict(defines))))
        found = getattr(self._libraries[build], entry)
        found.argtypes = [C_TYPES[name] for name in types]
        found.restype = ctypes.c_int

        def call(*values: int) -> None:
            if code := found(*values):
                raise KernelFailed(entry, code)

        return call

    def table(self, rows: Sequence[Sequence[int]]) -> object:
        fields = [field for row in rows for field in row]
        return (ctypes.c_uint64 * len(fields))(*fields)

    def stream(self) -> int:
        import torch

        return int(torch.cuda.current_stream().cuda_stream)

    def synchronise(self) -> None:
        import torch

        torch.cuda.synchronize()


class VirtualDevice(Device):
    """A virtual GPU of its own. Leave it as a context manager, or close it.

    Calls run to their end before they return, so that torch may read and write the memory in between.
    """

    name = "virtual GPU"
    _open: ClassVar[weakref.WeakSet[VirtualDevice]] = weakref.WeakSet()

    def __init__(self, sources: Sequence[Path], arch: str | None = None) -> None:
        """`sources` are the CUDA files whose functions will be called: a worker loads no others. All are
        built for `arch`, or the device's own architecture."""
        target = Target.virtual().for_arch(arch)
        self._arch = arch
        self._built = {source: _built(source, target) for source in sources}
        self.gpu = VirtualGpu(libraries=list(self._built.values()))
        self._loaded: dict[Path, Library] = {}
        self._tensors: list[tuple[int, DeviceTensor]] = []  # with where this process sees them
        self._open.add(self)

    def __enter__(self) -> VirtualDevice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._open.discard(self)
        self.gpu.close()

    @classmethod
    def holding(cls, tensor: torch.Tensor) -> VirtualDevice | None:
        """The virtual GPU in whose memory this CPU tensor lies, if it is one's."""
        return next((device for device in cls._open if device._place(tensor) is not None), None)

    def runs(self, arch: str) -> bool:
        return arch == self._arch

    def empty(self, name: str, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
        if math.prod(shape) == 0:
            import torch

            return torch.empty(tuple(shape), dtype=dtype)  # there is nothing to find memory for
        made = self.gpu.tensor(name, shape, dtype)
        made.mark_initialised()  # torch will write it, which the device cannot see
        view = made.torch()
        self._tensors.append((view.data_ptr(), made))
        return view

    def address(self, tensor: torch.Tensor, name: str) -> int:
        if tensor.numel() == 0:
            return 0
        place = self._place(tensor)
        if place is None:
            raise _elsewhere(name, tensor)
        return place

    def _place(self, tensor: torch.Tensor) -> int | None:
        here = tensor.data_ptr()
        for start, owner in self._tensors:
            if start <= here < start + owner.bytes:
                return owner.address + here - start
        return None

    def function(
        self,
        source: Path,
        entry: str,
        types: Sequence[str],
        defines: Mapping[str, int] = NO_DEFINES,
        arch: str | None = None,
    ) -> Function:
        """Files are built as they stand when the device is made: nothing is tuned for a virtual GPU."""
        assert not defines
        assert arch in (None, self._arch)
        if source not in self._built:
            known = ", ".join(str(path) for path in self._built) or "none"
            raise CourseError(
                f"{source} was not named when this virtual GPU was made (it knows {known}): "
                "pass it to VirtualDevice(…)"
            )
        if source not in self._loaded:
            self._loaded[source] = self.gpu.load(self._built[source])
        library = self._loaded[source]

        def call(*values: int) -> None:
            pairs = zip(types, values, strict=True)
            result = library.call(
                entry, *(value if isinstance(value, Table) else Number(kind, value) for kind, value in pairs)
            )
            if not result.ok:
                causes = by_cause(self.gpu.findings)
                raise KernelFailed(entry, result.code, f": {causes[0].finding.message}" if causes else "")

        return call

    def table(self, rows: Sequence[Sequence[int]]) -> object:
        return Table([[Number("u64", field) for field in row] for row in rows])

    def stream(self) -> int:
        return 0

    def synchronise(self) -> None:
        if code := self.gpu.synchronise():
            raise KernelFailed("work on the virtual GPU", code)


@functools.cache
def gpu() -> Gpu:
    return Gpu()


def device_of(names: Sequence[str], tensors: Sequence[torch.Tensor]) -> Device:
    """The device in whose memory these tensors lie; an ArgumentError names one that does not.

    For torch they are on one device (`require_one_device`), and one of them at least has elements. Where they
    are of several virtual GPUs, the one that has most of them is meant.
    """
    if tensors[0].is_cuda:
        return gpu()
    named = [(name, tensor) for name, tensor in zip(names, tensors, strict=True) if tensor.numel()]
    homes = [VirtualDevice.holding(tensor) for _, tensor in named]
    most = Counter(filter(None, homes)).most_common(1)
    for (name, tensor), home in zip(named, homes, strict=True):
        if home is None or home is not most[0][0]:
            raise _elsewhere(name, tensor)
    return most[0][0]


def _elsewhere(name: str, tensor: torch.Tensor) -> ArgumentError:
    """Why a tensor cannot be used with the device that a call is for."""
    if VirtualDevice.holding(tensor) is not None:
        return ArgumentError(
            f"{name} is in the memory of another virtual GPU: the tensors of a call must all be in one's, so "
            "copy it to where the others are (VirtualDevice.put)"
        )
    return ArgumentError(
        f"{name} is on {tensor.device}, in memory that no kernel can reach: it must be on a GPU "
        "(.to('cuda')), or be made by a virtual GPU that is still open (VirtualDevice.put)"
    )


def _built(source: Path, target: Target, defines: Mapping[str, int] = NO_DEFINES) -> Path:
    if not source.is_file():
        raise CourseError(f"there is no CUDA file {source}: name the kernel.cu that should run")
    macros = {name: str(value) for name, value in defines.items()}
    return build_program([source], target, kind="shared", defines=macros, include_dirs=[HEADERS]).path
