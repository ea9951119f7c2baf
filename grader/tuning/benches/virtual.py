"""Configurations on the virtual GPU: one call of each gives its modelled time and its counters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from common.build.resources import write_for_engine
from grader.answers.compare import Answer, answer, difference
from grader.building.scratch_folder import scratch_folder
from grader.devices.device import VirtualDevice
from grader.devices.on_virtual.session import MEASURING
from grader.spec import Case, seeds
from grader.spec.random_inputs import Random
from grader.timing.modelled.call_time import modelled_call
from grader.tuning.builds import Built
from grader.tuning.counters import of_launches
from grader.tuning.spec import Tuning
from grader.tuning.trial import TrialFailed

_CALL_SECONDS = 120.0
_OPTIONS = {**MEASURING, "max_seconds": int(_CALL_SECONDS)}


@dataclass(frozen=True)
class Modelled:
    """A configuration that has run; its modelled time does not vary."""

    modelled_seconds: float
    counted: Mapping[str, float]

    def seconds(self) -> float:
        return self.modelled_seconds

    def counters(self) -> Mapping[str, float]:
        return self.counted

    def close(self) -> None:
        """Its engine has ended already."""


class VirtualBench:
    modelled = True

    def __init__(self, tuning: Tuning, case: Case, device: VirtualDevice) -> None:
        self._tuning, self._size, self._device = tuning, case.size, device
        self._call = tuning.inputs(case.size, Random(seeds.derive("tune", case.name)))
        self._wanted: Answer | None = None

    def enter(self, built: Built) -> Modelled:
        assert built.library is not None, "what was not built cannot run"
        with scratch_folder() as scratch:
            known = write_for_engine(built.kernels, scratch)
            with self._device.session_of(built.library, known, _OPTIONS) as session:
                outcome = session.run(self._tuning.entry, self._call, _CALL_SECONDS)
        if not outcome.ok:
            raise TrialFailed(outcome.message)
        self._wanted = self._wanted or answer(self._tuning, self._size, self._call)
        if found := difference(self._tuning, self._size, self._call, self._wanted, outcome.after):
            raise TrialFailed(f"its answer is wrong: {found.message}")
        return Modelled(modelled_call(outcome, "graph")[0], of_launches(outcome.report.launches))
