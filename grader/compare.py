"""Is it right, and if not: where first, how much, and what does it look like?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.render import numbers
from grader.spec import Call, Exact, Relative, Size, Task

if TYPE_CHECKING:
    import torch

_BITS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}
# Below this share of the values' scale an error is rounding, even where torch happened to make none.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Difference:
    """`reason` is a word ("mismatch" or "input changed"), `message` the sentence for the student."""

    reason: str
    message: str


def expected(task: Task, size: Size, call: Call) -> dict[str, torch.Tensor]:
    """All buffers as the reference leaves them, or as they were where the call must be refused.

    Computed only once the submission's are back.
    """
    buffers = {name: tensor.clone() for name, tensor in call.buffers.items()}
    if call.returns == 0:
        task.reference(size, buffers)
    return buffers


def difference(
    task: Task,
    size: Size,
    call: Call,
    wanted: Mapping[str, torch.Tensor],
    after: Mapping[str, torch.Tensor],
) -> Difference | None:
    """None when every output is right and nothing else was touched."""
    refused = call.returns != 0
    for name, before in call.buffers.items():
        if (refused or name not in call.outputs) and not _same_bits(after[name], before):
            where, got, want, count = _first(after[name], before)
            rule = f"{name} is an input, leave it as it is"
            return Difference(
                "mismatch" if refused else "input changed",
                f"{name}[{where}] was {want} and is {got} after the call, "
                f"{numbers.counted(count, 'element is', 'elements are')} changed: "
                + ("a call that is refused changes nothing" if refused else rule),
            )
    if refused:
        return None
    for name in call.outputs:
        if isinstance(task.compare, Exact):
            wrong = None if _same_bits(after[name], wanted[name]) else _mismatch(name, call, wanted, after)
        else:
            wrong = _too_far(name, task, task.compare, size, call, after)
        if wrong is not None:
            guess = _guess(task, size, call, wanted, after)
            return Difference("mismatch", wrong + (f". {guess}" if guess else ""))
    return None


def same_buffers(a: Mapping[str, torch.Tensor], b: Mapping[str, torch.Tensor]) -> bool:
    return all(_same_bits(a[name], b[name]) for name in a)


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """Bit patterns: NaN equals NaN only if it is the same one, and -0 is not 0."""
    import torch

    return tensor.contiguous().view(getattr(torch, _BITS[tensor.element_size()]))


def _same_bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    import torch

    return a.shape == b.shape and torch.equal(bits(a), bits(b))


def _first(got: torch.Tensor, want: torch.Tensor) -> tuple[str, str, str, int]:
    """Indices of the first difference, both values, and how many there are."""
    differs = (bits(got) != bits(want)).flatten()
    at = int(differs.nonzero()[0])
    return (
        _indices(at, got.shape),
        _value(got.flatten()[at]),
        _value(want.flatten()[at]),
        int(differs.sum()),
    )


def _indices(flat: int, shape: torch.Size) -> str:
    out = []
    for extent in reversed(shape):
        flat, index = divmod(flat, extent)
        out.append(str(index))
    return ",".join(reversed(out))


def _value(scalar: torch.Tensor) -> str:
    number = scalar.item()
    return f"{number:.6g}" if isinstance(number, float) else str(number)


def _mismatch(
    name: str, call: Call, wanted: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor]
) -> str:
    where, got, want, count = _first(after[name], wanted[name])
    return (
        f"{name}[{where}] is {got}, expected {want}; "
        f"{count:,} of {after[name].numel():,} elements {'is' if count == 1 else 'are'} wrong"
    )


def _too_far(
    name: str, task: Task, rule: Relative, size: Size, call: Call, after: Mapping[str, torch.Tensor]
) -> str | None:
    """A sentence when the error is over `rule.times` that of torch in the same precision."""
    import torch

    def run(dtype: torch.dtype | None) -> torch.Tensor:
        buffers = {
            key: t.to(dtype) if dtype is not None and t.is_floating_point() else t.clone()
            for key, t in call.buffers.items()
        }
        task.reference(size, buffers)
        return buffers[name].double()

    exact, same, got = run(torch.float64), run(None), after[name].double()
    if not bool(torch.isfinite(got[torch.isfinite(exact)]).all()):
        at = int((torch.isfinite(exact) & ~torch.isfinite(got)).flatten().nonzero()[0])
        return (
            f"{name}[{_indices(at, got.shape)}] is {_value(got.flatten()[at])}, which no answer here can be"
        )
    error = (got - exact).abs()
    allowed = rule.times * float((same - exact).abs().max()) + _ROUNDING * float(exact.abs().max())
    if float(error.max()) <= allowed:
        return None
    wrong = (error > allowed).flatten()
    at = int(wrong.nonzero()[0])
    return (
        f"{name}[{_indices(at, got.shape)}] is {_value(got.flatten()[at])}, expected "
        f"{_value(exact.flatten()[at])} within {allowed:.3g}; {int(wrong.sum()):,} of {got.numel():,} "
        "elements are too far off"
    )


def _guess(
    task: Task,
    size: Size,
    call: Call,
    wanted: Mapping[str, torch.Tensor],
    after: Mapping[str, torch.Tensor],
) -> str:
    """The mistake this looks like, if it looks like one."""
    must_change = _written_by_reference(task, size, call, wanted)
    touched = [name for name in call.outputs if bool(must_change[name].any())]
    if touched and all(_same_bits(after[name], call.buffers[name]) for name in touched):
        return "Nothing was written: every output is as it was before the call"
    if touched and all(bool((bits(after[name])[must_change[name]] == 0).all()) for name in touched):
        return "Every element that had to be written is zero"
    for name, mistake in task.suspicions.items():
        buffers = {key: tensor.clone() for key, tensor in call.buffers.items()}
        mistake(size, buffers)
        if all(_same_bits(after[output], buffers[output]) for output in call.outputs):
            return f"It looks like this: {name}"
    wrote_elsewhere = [
        name
        for name in call.outputs
        if bool((~must_change[name] & (bits(after[name]) != bits(call.buffers[name]))).any())
    ]
    if wrote_elsewhere:
        return f"Elements of {wrote_elsewhere[0]} were written that had to stay as they were"
    missing = sum(
        int((must_change[name] & (bits(after[name]) == bits(call.buffers[name]))).sum()) for name in touched
    )
    wrong = sum(int((bits(after[name]) != bits(wanted[name])).sum()) for name in touched)
    return "The wrong elements were never written" if wrong == missing else ""


def _written_by_reference(
    task: Task, size: Size, call: Call, wanted: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Which elements of each output the reference writes: those that come out the same whatever was there."""
    other = {name: tensor.clone() for name, tensor in call.buffers.items()}
    for name in call.outputs:
        bits(other[name]).bitwise_not_()
    task.reference(size, other)
    return {name: bits(other[name]) == bits(wanted[name]) for name in call.outputs}
