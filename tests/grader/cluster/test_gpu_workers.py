"""Which GPU a cluster grades on: the one kind that its workers announce. A stand-in answers for Dask."""

from __future__ import annotations

from typing import Any

import pytest

from common.core.errors import CourseError
from grader.cluster.dask_cluster import DaskCluster
from grader.records.device_info import DeviceInfo

H200, A100 = ("NVIDIA H200", "580"), ("NVIDIA A100", "580")


class _Answer:
    def __init__(self, value: Any) -> None:
        self._value = value

    def result(self, timeout: float) -> Any:
        return self._value


class _Client:
    """Workers by address, each with its GPUs."""

    status = "running"

    def __init__(self, workers: dict[str, list[tuple[str, str]]]) -> None:
        self._workers = workers
        self.scheduler = self

    def identity(self) -> None: ...

    def sync(self, function: Any, n_workers: int) -> dict[str, Any]:
        facts = {
            address: {"resources": {"GPU": len(cards)} if cards else {}}
            for address, cards in self._workers.items()
        }
        return {"workers": facts}

    def submit(self, function: Any, *, workers: list[str], pure: bool) -> _Answer:
        return _Answer(self._workers[workers[0]])


def device_of(workers: dict[str, list[tuple[str, str]]]) -> DeviceInfo:
    return DaskCluster(lambda: _Client(workers)).device()


def test_marks_name_the_gpu_of_the_workers():
    assert device_of({"a": [H200, H200], "b": [H200], "c": []}) == DeviceInfo(
        "gpu", "NVIDIA H200", driver="580"
    )


def test_marks_of_one_run_come_from_one_kind_of_gpu():
    with pytest.raises(CourseError, match="have different GPUs: NVIDIA A100 .* and NVIDIA H200"):
        device_of({"a": [H200], "b": [A100]})


def test_a_cluster_without_gpus_says_how_to_announce_them():
    with pytest.raises(CourseError, match="--resources GPU=1"):
        device_of({"a": []})
