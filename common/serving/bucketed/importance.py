"""How much attention each token gets: a moving average over decoding steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from common.serving.arguments import ArgumentError, require_device, require_tensor
from common.serving.bucketed.checks import real, require_torch_device, whole
from common.serving.bucketed.placement import integers

if TYPE_CHECKING:
    import torch


class ImportanceAverage:
    """An exponential moving average of the weight of each slot: decay · old + (1 - decay) · new.

    It stays on the device until it is asked for. A token's first pass counts whole; before it, the token has
    what `add` gave it.
    """

    def __init__(self, batch: int, device: str | torch.device, decay: float = 0.9) -> None:
        import torch

        decay = real("decay", decay, "0 or more and less than 1")
        if not 0 <= decay < 1:
            raise ArgumentError(f"decay is {decay:g}, but must be 0 or more and less than 1")
        self.batch = batch = whole("batch", batch, 1)
        self.decay = decay
        device = require_torch_device("device", device)
        self._columns = 0  # that have ever held a token; the tensors double, and have more
        self._average = torch.zeros(batch, 0, dtype=torch.float32, device=device)
        self._present = torch.zeros(batch, 0, dtype=torch.bool, device=device)
        self._seen = torch.zeros_like(self._present)

    @property
    def values(self) -> torch.Tensor:
        """float32 [batch, slots]; 0 where there is no token."""
        return self._average[:, : self._columns]

    @property
    def present(self) -> torch.Tensor:
        """bool [batch, slots]."""
        return self._present[:, : self._columns]

    def add(self, sequences: Any, slots: Any, initial: float = 0.0) -> None:
        """New tokens, or tokens that begin anew."""
        where = integers("slots", slots)
        initial = real("initial", initial)
        if not where.size:
            return
        self._widen(int(where.max()) + 1)
        self._set(sequences, slots, present=True, average=initial)

    def remove(self, sequences: Any, slots: Any) -> None:
        self._set(sequences, slots, present=False, average=0.0)

    def update(self, weights: torch.Tensor) -> None:
        """One pass: [batch, slots], the weight of each slot summed over the heads, as
        `attend_and_weigh` gives it. Slots beyond its columns got none; weights where there is no token are
        passed over."""
        import torch

        require_tensor("weights", weights)
        require_device("weights", weights, self._average.device)
        if weights.ndim != 2 or weights.shape[0] != self.batch:
            raise ArgumentError(
                f"weights has shape {list(weights.shape)}, but must be [{self.batch}, slots]: "
                "a row for each sequence"
            )
        new = torch.zeros_like(self._average)
        shared = min(self._columns, weights.shape[1])
        new[:, :shared] = weights[:, :shared]
        mixed = torch.where(self._seen, torch.lerp(new, self._average, self.decay), new)
        self._average = torch.where(self._present, mixed, torch.zeros_like(mixed))
        self._seen = self._present.clone()

    def _set(self, sequences: Any, slots: Any, *, present: bool, average: float) -> None:
        import torch

        where = integers("slots", slots)
        owners = integers("sequences", sequences, len(where))
        for name, given, end in (
            ("sequences", owners, self.batch),
            ("slots", where, self._columns),
        ):
            if (strange := given[(given < 0) | (given >= end)]).size:
                raise ArgumentError(f"{name} holds {strange[0]}, but must be 0 to {end - 1}")
        place = (
            torch.from_numpy(owners).to(self._average.device),
            torch.from_numpy(where).to(self._average.device),
        )
        self._average[place] = average
        self._present[place] = present
        self._seen[place] = False

    def _widen(self, columns: int) -> None:
        import torch

        self._columns = max(self._columns, columns)
        have = self._average.shape[1]
        if columns <= have:
            return
        missing = max(columns, 2 * have) - have

        def widened(tensor: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.pad(tensor, (0, missing))

        self._average, self._present, self._seen = map(widened, (self._average, self._present, self._seen))
