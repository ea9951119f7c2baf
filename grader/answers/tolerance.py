"""Answers with rounding: the error of an output, and the error that is allowed.

Each rule gets three versions of an output: the submission's, the reference's in float64, and the reference's
in the buffers' own types. It returns None, or a sentence about the worst or first place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.answers.places import indices, value_text
from grader.spec import Normwise, Relative

if TYPE_CHECKING:
    import torch

# An error below this share of the values' scale counts as rounding, even where torch has no error by chance.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Output:
    """The three versions of one floating output, all converted to float64."""

    name: str
    got: torch.Tensor
    exact: torch.Tensor
    same: torch.Tensor  # the reference's, computed in the buffers' own types


def too_far(rule: Relative | Normwise, output: Output) -> str | None:
    if output.got.numel() == 0:
        return None
    return _relative(rule, output) if isinstance(rule, Relative) else _normwise(rule, output)


def _relative(rule: Relative, output: Output) -> str | None:
    """At most `rule.times` the largest error of torch in the same precision."""
    import torch

    got, exact = output.got, output.exact
    if bool((strange := torch.isfinite(exact) & ~torch.isfinite(got)).any()):
        return _no_answer(output, strange)
    error = (got - exact).abs()
    allowed = rule.times * float((output.same - exact).abs().max()) + _ROUNDING * float(exact.abs().max())
    if float(error.max()) <= allowed:
        return None
    wrong = error > allowed
    at = _first(wrong)
    return (
        f"{output.name}[{indices(at, got.shape)}] is {value_text(got.flatten()[at])}, expected "
        f"{value_text(exact.flatten()[at])} within {allowed:.3g}; {int(wrong.sum()):,} of {got.numel():,} "
        "elements are too far off"
    )


def _normwise(rule: Normwise, output: Output) -> str | None:
    import torch

    got, exact = output.got, output.exact
    # Where -inf is right, it must be exact: it has no norm.
    nothing = exact == -torch.inf
    if bool((missed := nothing & (got != exact)).any()):
        at = _first(missed)
        return f"{output.name}[{indices(at, got.shape)}] is {value_text(got.flatten()[at])}, expected -inf"
    if bool((strange := ~nothing & ~torch.isfinite(got)).any()):
        return _no_answer(output, strange)
    wanted = _rows(exact.masked_fill(nothing, 0))
    norms = torch.linalg.vector_norm(wanted, dim=-1)
    errors = _errors(_rows(got.masked_fill(nothing, 0)) - wanted, norms)
    torchs = _errors(_rows(output.same.masked_fill(nothing, 0)) - wanted, norms)[norms > 0]
    torchs_worst = float(torchs.nan_to_num(nan=torch.inf).max()) if torchs.numel() else 0.0
    allowed = min(rule.at_most, max(rule.least, rule.times * torchs_worst + _ROUNDING))
    wrong = ~(errors <= allowed)  # written so that NaN counts as wrong
    if not bool(wrong.any()):
        return None
    at = int(errors.nan_to_num(nan=torch.inf).argmax())
    single = got.dim() < 2
    place = indices(at, got.shape) if single else f"{indices(at, got.shape[:-1])},:"
    counted = f"{int(wrong.sum()):,} of {errors.numel():,} {'elements' if single else 'rows'} are too far off"
    if float(norms[at]) == 0:
        return f"{output.name}[{place}] must be {'zero' if single else 'all zeros'} and is not; {counted}"
    values = f"{value_text(got.flatten()[at])}, expected {value_text(exact.flatten()[at])}: "
    how = "relative to it" if single else "the norm of the error over the norm of the row"
    off = f"off by {float(errors[at]):.3g} ({how}), allowed is {allowed:.3g}"
    return f"{output.name}[{place}] is {values if single else ''}{off}; {counted}"


def largest_row_error(got: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest of all rows' errors: norm of the error over norm of the exact row; infinite for NaN."""
    import torch

    if got.numel() == 0:
        return 0.0
    wanted = _rows(exact.double())
    errors = _errors(_rows(got.double()) - wanted, torch.linalg.vector_norm(wanted, dim=-1))
    return float(errors.nan_to_num(nan=torch.inf, posinf=torch.inf).max())


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1, tensor.shape[-1] if tensor.dim() > 1 else 1)


def _errors(difference: torch.Tensor, norms: torch.Tensor) -> torch.Tensor:
    """The relative error per row; infinite where the exact row is zero and the output is not."""
    import torch

    absolute = torch.linalg.vector_norm(difference, dim=-1)
    return torch.where(absolute == 0, 0.0, absolute / norms)


def _no_answer(output: Output, strange: torch.Tensor) -> str:
    at = _first(strange)
    where, what = indices(at, output.got.shape), value_text(output.got.flatten()[at])
    return f"{output.name}[{where}] is {what}, but must be a finite number"


def _first(mask: torch.Tensor) -> int:
    return int(mask.flatten().nonzero()[0])
