"""Devices for Python files: Triton's interpreter on the CPU, and a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.devices.device import Device, GpuDevice, VirtualDevice
from grader.devices.session import Session
from grader.python_track.program import PythonProgram

if TYPE_CHECKING:
    from grader.devices.on_gpu.session import GpuSession


class InterpretedDevice(VirtualDevice):
    """Replaces the virtual GPU, which cannot run Triton kernels."""

    timed = False

    def session(self, program: PythonProgram) -> Session:  # type: ignore[override]
        from grader.python_track.cpu import InterpretedSession  # imports what only Python files need

        return InterpretedSession(program.path, program.track, in_triton=program.in_triton)


class TritonDevice(GpuDevice):
    """A GPU that runs a Python file instead of a library."""

    def session(self, program: PythonProgram) -> GpuSession:  # type: ignore[override]
        from grader.python_track.gpu import PythonGpuSession  # needs a GPU's torch

        return PythonGpuSession(program.path, program.track)


def python_device(device: Device) -> Device:
    """The device for Python files that corresponds to `device`."""
    return InterpretedDevice(device.virtual.profile) if device.modelled else TritonDevice()
