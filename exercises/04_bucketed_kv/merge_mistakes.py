"""Common mistakes in the merge of parts: each function leaves the result of a kernel with that mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from common.serving.bucketed.reference_attention import Part
from grader.spec import Buffers, Size

from .parts import given_parts

if TYPE_CHECKING:
    import torch

Change = Callable[[Size, Buffers], None]


def factors_of(parts: list[Part]) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The highest maximum of each row, and the factor that rescales each part to it."""
    import torch

    highest = torch.stack([part.max for part in parts]).amax(0)
    origin = highest.masked_fill(highest.isneginf(), 0)
    return highest, [torch.exp(part.max - origin) for part in parts]


def rescaled(parts: list[Part], *, outputs: bool = True, sums: bool = True) -> torch.Tensor:
    """The right merge if both outputs and sums are rescaled."""
    _, factors = factors_of(parts)
    both = list(zip(parts, factors, strict=True))
    return _quotient(
        sum(part.out * factor.unsqueeze(-1) if outputs else part.out for part, factor in both),
        sum(part.sum * factor if sums else part.sum for part, factor in both),
    )


def outputs_as_they_are(parts: list[Part]) -> torch.Tensor:
    return rescaled(parts, outputs=False)


def sums_as_they_are(parts: list[Part]) -> torch.Tensor:
    return rescaled(parts, sums=False)


def nan_without_keys(parts: list[Part]) -> torch.Tensor:
    """Rows that no part saw a key of: -inf less -inf, or 0 / 0."""
    highest, _ = factors_of(parts)
    return rescaled(parts).masked_fill(highest.isneginf().unsqueeze(-1), float("nan"))


def _quotient(out: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    return out / total.masked_fill(total == 0, 1).unsqueeze(-1)


def added_up(parts: list[Part]) -> torch.Tensor:
    return _quotient(sum(part.out for part in parts), sum(part.sum for part in parts))


def results_added_up(parts: list[Part]) -> torch.Tensor:
    return sum(_quotient(part.out, part.sum) for part in parts)


def results_averaged(parts: list[Part]) -> torch.Tensor:
    return results_added_up(parts) / len(parts)


def last_missing(parts: list[Part]) -> torch.Tensor:
    return rescaled(parts[:-1] or parts)


def first_alone(parts: list[Part]) -> torch.Tensor:
    return rescaled(parts[:1])


def not_normalised(parts: list[Part]) -> torch.Tensor:
    highest = rescaled([Part(part.sum.unsqueeze(-1), part.max, part.max * 0 + 1) for part in parts])
    return rescaled(parts) * highest


MERGES: dict[str, Callable[[list[Part]], torch.Tensor]] = {
    "parts are added up as if they had the same maximum: none is rescaled": added_up,
    "the parts' sums are rescaled to the highest maximum, but not their outputs": outputs_as_they_are,
    "the parts' outputs are rescaled to the highest maximum, but not their sums": sums_as_they_are,
    "a row without keys is NaN: its highest maximum is -inf, and -inf minus -inf is NaN, as is "
    "0 / 0": nan_without_keys,
    "each part is normalised separately, and the results are added up": results_added_up,
    "each part is normalised separately, and the results are averaged": results_averaged,
    "the last part is missing": last_missing,
    "only the first part is used": first_alone,
}


def of_merge(merge: Callable[[list[Part]], torch.Tensor]) -> Change:
    def mistake(size: Size, buffers: Buffers) -> None:
        buffers["out"].copy_(merge([*given_parts(buffers)]))

    return mistake


def all_outputs_added(size: Size, buffers: Buffers) -> None:
    """Adds the outputs of parts without keys too; rows that have no other parts are 0."""
    lying = [Part(*part) for part in zip(buffers["outputs"], buffers["max"], buffers["sum"], strict=True)]
    highest, _ = factors_of(lying)
    buffers["out"].copy_(rescaled(lying).masked_fill(highest.isneginf().unsqueeze(-1), 0))


def strides_exchanged(*names: str) -> Change:
    """These are read as [rows][parts]."""

    def mistake(size: Size, buffers: Buffers) -> None:
        lying = {
            name: buffers[name].reshape(size.rows, size.parts).T if name in names else buffers[name]
            for name in ("outputs", "max", "sum")
        }
        buffers["out"].copy_(rescaled([*given_parts(lying)]))

    return mistake


MERGING: dict[str, Change] = {
    **{name: of_merge(merge) for name, merge in MERGES.items()},
    "parts without keys are added times 0, but their outputs may hold NaN, and 0 times NaN is NaN: leave "
    "them out": all_outputs_added,
    "the sum of the weights is never divided by": of_merge(not_normalised),
    "max is read as [rows][parts], but is [parts][rows]": strides_exchanged("max"),
    "sum is read as [rows][parts], but is [parts][rows]": strides_exchanged("sum"),
    "max and sum are read as [rows][parts], but are [parts][rows]": strides_exchanged("max", "sum"),
}
