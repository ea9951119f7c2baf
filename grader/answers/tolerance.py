"""Answers with rounding: the error of an output, and the error that is allowed.

Each rule gets three versions of an output: the submission's, the reference's in float64, and the reference's
in the buffers' own types. It returns None, or a sentence about the worst or first place.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.answers.patterns import pattern
from grader.answers.places import indices, value_text
from grader.spec import Normwise, Relative

if TYPE_CHECKING:
    import torch

# An error below this share of the values' scale counts as rounding, even where torch has no error by chance.
_ROUNDING = 1e-6
# Torch's largest error over a few rows may be small by chance: before an answer is called wrong for an error
# that could be allowed, torch's error is taken over so many rows.
_ENOUGH_ROWS = 1024
# An element is wrong beyond doubt that is this many times as far off as the usual one of a row that is just
# allowed.
_CLEARLY = 8


@dataclass(frozen=True)
class Right:
    """An output as the reference makes it, as float64."""

    exact: torch.Tensor
    same: torch.Tensor  # computed in the buffers' own types


@dataclass(frozen=True)
class Output:
    """One floating output: the submission's, as float64, and the reference's. `name` is that of the buffer,
    `label` is for messages. `others` are the right outputs for other values, made when asked for."""

    name: str
    label: str
    got: torch.Tensor
    right: Right
    others: Iterable[Right] = ()


def too_far(rule: Relative | Normwise, output: Output) -> str | None:
    if output.got.numel() == 0:
        return None
    return _relative(rule, output) if isinstance(rule, Relative) else _normwise(rule, output)


def _relative(rule: Relative, output: Output) -> str | None:
    """At most `rule.times` the largest error of torch in the same precision."""
    import torch

    got, exact = output.got, output.right.exact
    if bool((strange := torch.isfinite(exact) & ~torch.isfinite(got)).any()):
        return _no_answer(output, strange)
    error = (got - exact).abs()
    torchs = (output.right.same - exact).abs()
    allowed = rule.times * float(torchs.max()) + _ROUNDING * float(exact.abs().max())
    if float(error.max()) <= allowed:
        return None
    wrong = error > allowed
    at = _first(wrong)
    return (
        f"{output.label}[{indices(at, got.shape)}] is {value_text(got.flatten()[at])}, expected "
        f"{value_text(exact.flatten()[at])} within {allowed:.3g}; {int(wrong.sum()):,} of {got.numel():,} "
        "elements are too far off"
    )


def _normwise(rule: Normwise, output: Output) -> str | None:
    import torch

    got, exact = output.got, output.right.exact
    # Where -inf is right, it must be exact: it has no norm.
    nothing = exact == -torch.inf
    if bool((missed := nothing & (got != exact)).any()):
        at = _first(missed)
        return f"{output.label}[{indices(at, got.shape)}] is {value_text(got.flatten()[at])}, expected -inf"
    if bool((strange := ~nothing & ~torch.isfinite(got)).any()):
        return _no_answer(output, strange)
    cancels = output.name in rule.cancelling
    norms = _norms(exact, cancels)
    errors = _errors(got, exact, norms)
    worst = _torchs_worst(output.right, cancels)
    allowed = _allowed(rule, worst)
    if allowed < float(errors.max()) <= rule.at_most:
        rows = errors.numel()
        for other in output.others if rows < _ENOUGH_ROWS else ():
            worst, rows = max(worst, _torchs_worst(other, cancels)), rows + errors.numel()
            if rows >= _ENOUGH_ROWS:
                break
        allowed = _allowed(rule, worst)
    wrong = ~(errors <= allowed)  # written so that NaN counts as wrong
    if not bool(wrong.any()):
        return None
    at = int(errors.nan_to_num(nan=torch.inf).argmax())
    single = got.dim() < 2
    place = f"{output.label}[{indices(at, got.shape) if single else f'{indices(at, got.shape[:-1])},:'}]"
    counted = f"{int(wrong.sum()):,} of {errors.numel():,} {'elements' if single else 'rows'} are too far off"
    if float(norms[at]) == 0:
        return f"{place} must be {'zero' if single else 'all zeros'} and is not; {counted}"
    values = f"{value_text(got.flatten()[at])}, expected {value_text(exact.flatten()[at])}: "
    how = "relative to it" if single else "the norm of the error over the norm of the row"
    off = f"off by {float(errors[at]):.3g} ({how}), allowed is {allowed:.3g}"
    return f"{place} is {values if single else ''}{off}; {counted}{_which(output, wrong, at, norms, allowed)}"


def _which(output: Output, wrong: torch.Tensor, at: int, norms: torch.Tensor, allowed: float) -> str:
    """Which elements of the worst row are wrong, and which rows beside it, where that is simple to say."""
    shape = output.got.shape
    if len(shape) < 2:
        found = pattern(wrong)
        return f": {found}" if found else ""
    exact = _rows(output.right.exact)[at]
    there = exact.isfinite().nonzero().flatten()  # without hidden ones, which are -inf
    count = int(there[-1]) + 1
    off = (_rows(output.got)[at] - exact)[:count].nan_to_num(nan=0).abs()
    usual = float(norms[at]) / len(there) ** 0.5
    said = []
    if found := pattern(off > _CLEARLY * allowed * usual):
        said.append(f"of the {count:,} elements of this row, {found} are wrong")
    if len(shape) > 2 and (found := pattern(wrong.reshape(-1, shape[-2])[at // shape[-2]])):
        said.append(f"of these {shape[-2]:,} rows, {found} are wrong")
    return "".join(f"; {sentence}" for sentence in said)


def largest_row_error(got: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest of all rows' errors: norm of the error over norm of the exact row; infinite for NaN."""
    import torch

    if got.numel() == 0:
        return 0.0
    errors = _errors(got.double(), exact.double(), _norms(exact.double(), cancels=False))
    return float(errors.nan_to_num(nan=torch.inf, posinf=torch.inf).max())


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1, tensor.shape[-1] if tensor.dim() > 1 else 1)


def _norms(exact: torch.Tensor, cancels: bool) -> torch.Tensor:
    """Of the rows. With `cancels`, at least as if each element had the mean square of the whole output."""
    import torch

    rows = _rows(exact)
    nothing = rows == -torch.inf  # it has no norm
    norms = torch.linalg.vector_norm(rows.masked_fill(nothing, 0), dim=-1)
    if not cancels:
        return norms
    counts = (~nothing).sum(dim=-1)
    usual = norms.square().sum() / counts.sum().clamp(min=1)
    return torch.maximum(norms, (usual * counts).sqrt())


def _errors(got: torch.Tensor, exact: torch.Tensor, norms: torch.Tensor) -> torch.Tensor:
    """The relative error per row; infinite where the exact row is zero and the output is not."""
    import torch

    rows = _rows(exact)
    absolute = torch.linalg.vector_norm((_rows(got) - rows).masked_fill(rows == -torch.inf, 0), dim=-1)
    return torch.where(absolute == 0, 0.0, absolute / norms)


def _torchs_worst(right: Right, cancels: bool) -> float:
    """The largest error of a row that is not all zeros."""
    import torch

    norms = _norms(right.exact, cancels)
    errors = _errors(right.same, right.exact, norms)[norms > 0]
    return float(errors.nan_to_num(nan=torch.inf).max()) if errors.numel() else 0.0


def _allowed(rule: Normwise, torchs_worst: float) -> float:
    return min(rule.at_most, max(rule.least, rule.times * torchs_worst + _ROUNDING))


def _no_answer(output: Output, strange: torch.Tensor) -> str:
    at = _first(strange)
    where, what = indices(at, output.got.shape), value_text(output.got.flatten()[at])
    return f"{output.label}[{where}] is {what}, but must be a finite number"


def _first(mask: torch.Tensor) -> int:
    return int(mask.flatten().nonzero()[0])
