"""One virtual GPU for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from common.serving.device import VirtualDevice


@pytest.fixture(scope="module")
def device(request: pytest.FixtureRequest) -> Iterator[VirtualDevice]:
    """With the file's KERNELS."""
    with VirtualDevice(request.module.KERNELS) as device:
        yield device
