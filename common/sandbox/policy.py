"""What student code may reach and use in its worker: data, turned into a policy for `walls.enter`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from common.sandbox.watchdog import Limits

# Shared libraries and what the loader needs to find them. No Python: the worker has imported what it needs.
SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")
# What the C library asks about the machine, and what a process may learn of itself.
_ABOUT_THE_MACHINE = ("/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu")
_HARMLESS_DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}

# What NVIDIA's driver reads beside its devices.
_ABOUT_THE_GPU = (
    *("/sys", "/proc/driver/nvidia", "/proc/driver/nvidia-caps", "/proc/devices", "/proc/modules"),
    *("/proc/version", "/proc/stat", "/proc/sys/vm", "/proc/sys/kernel", "/etc/nvidia", "/etc/OpenCL"),
)
_DRIVER_FOLDERS = tuple(
    "/usr/local/nvidia/lib64 /usr/local/nvidia/lib /usr/local/cuda/compat /usr/lib/wsl/lib".split()
)
_GPU_ENVIRONMENT = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


@dataclass(frozen=True)
class Walls:
    """What one worker may reach and use. The defaults suit the virtual GPU and code that is trusted to end:
    what it prints beyond `file_bytes` is dropped, and only a lower `output_bytes` makes that its end."""

    read: tuple[str, ...] = (*SYSTEM_LIBRARIES, *_ABOUT_THE_MACHINE)
    write: tuple[str, ...] = ()  # beside its own folder
    devices: tuple[str, ...] = _HARMLESS_DEVICES
    environment: Mapping[str, str] = field(default_factory=lambda: dict(_ENVIRONMENT))
    more_threads: int = 0  # beside the first
    unix_sockets: bool = False
    broker_connect: bool = False  # the parent connects the worker to the parent's own driver, to nothing else
    bounded_addresses: bool = True  # a limit on address space, once device memory has been reserved
    memory_bytes: int = 2 << 30
    output_bytes: int = 64 << 20
    file_bytes: int = 64 << 20
    folder_bytes: int = 128 << 20
    folder_files: int = 256
    open_files: int = 128
    children: int = 0  # processes beside the first, which may run what may be read
    folders: bool = False  # whether folders may be made in its own

    @staticmethod
    def virtual(memory_bytes: int = 2 << 30, output_bytes: int = 16 << 20) -> Walls:
        """For a library built for the virtual GPU, whose runtime needs one thread and one socket."""
        return Walls(memory_bytes=memory_bytes, output_bytes=output_bytes)

    @staticmethod
    def gpu(memory_bytes: int = 8 << 30, output_bytes: int = 16 << 20) -> Walls:
        """For a library on a CUDA device: its driver has threads, a Unix socket it listens on, a connection
        to the parent's driver, which shares device memory, and terabytes of reserved addresses. Its
        just-in-time cache is off, for that lies in the user's home."""
        devices = sorted(str(path) for path in (*Path("/dev").glob("nvidia*"), Path("/dev/dxg")))
        folders = driver_folders()
        passed = {name: os.environ[name] for name in _GPU_ENVIRONMENT if name in os.environ}
        library_path = {"LD_LIBRARY_PATH": ":".join(folders)} if folders else {}
        return Walls(
            read=(*SYSTEM_LIBRARIES, *_ABOUT_THE_MACHINE, *_ABOUT_THE_GPU, *folders),
            write=("/proc/self/task",),  # the driver names its threads there, and gives up if it cannot
            devices=(*_HARMLESS_DEVICES, *devices),
            environment={**_ENVIRONMENT, "CUDA_CACHE_DISABLE": "1", **passed, **library_path},
            more_threads=64,
            unix_sockets=True,
            broker_connect=True,
            bounded_addresses=False,
            memory_bytes=memory_bytes,
            output_bytes=output_bytes,
            open_files=1024,
        )

    def policy(self, folder: Path, keep: Sequence[int], libraries: Sequence[Path]) -> dict[str, Any]:
        """The dictionary for `walls.enter`. Of the disk it opens each library's own folder and no other."""
        return {
            "read": [*self.read, *(str(library.absolute().parent) for library in libraries)],
            "write": [str(folder), *self.write],
            "devices": list(self.devices),
            "keep": list(keep),
            "threads": self.more_threads > 0,
            "children": self.children > 0,
            "folders": self.folders,
            "unix_sockets": self.unix_sockets,
            "broker_connect": self.broker_connect,
            "limits": {"FSIZE": self.file_bytes, "NOFILE": self.open_files, "CORE": 0},
        }

    def limits(self) -> Limits:
        return Limits(
            memory_bytes=self.memory_bytes,
            output_bytes=self.output_bytes,
            folder_bytes=self.folder_bytes,
            folder_files=self.folder_files,
            processes=1 + self.children,
            threads=1 + self.more_threads + self.children,
        )


def driver_folders() -> list[str]:
    """Folders outside the system's own in which the loader would find NVIDIA's driver library."""
    searched = [*os.environ.get("LD_LIBRARY_PATH", "").split(":"), *_DRIVER_FOLDERS]
    found = (folder for folder in searched if folder and (Path(folder) / "libcuda.so.1").exists())
    return list(dict.fromkeys(found))
