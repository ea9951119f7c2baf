"""Compares an answer with the reference: the first wrong element, their number, and the likely mistake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from grader.answers.places import indices, value_text
from grader.answers.tolerance import Output, Right, too_far
from grader.spec import Buffers, Call, Comparison, Exact, KnownMistake, OnBuffers, Size, Task
from grader.spec.random_inputs import Random
from grader.words import numbers

if TYPE_CHECKING:
    import torch

_NOTHING_WRITTEN = "Nothing was written: every output is as it was before the call"
# Other calls whose right answers may be computed to learn how exact torch is.
_OTHER_CALLS = 32
_THEIR_BYTES = 1 << 28
_BITS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


@dataclass(frozen=True)
class Difference:
    """`reason` is a word ("mismatch" or "input changed"), `message` the sentence for the student. `unwritten`
    names an output where nothing was written at all."""

    reason: str
    message: str
    unwritten: str = ""


@dataclass(frozen=True)
class Answer:
    """The right outputs: as the reference computes them in their own types and, where the comparison has a
    tolerance, the floating ones also in float64."""

    outputs: Buffers
    exact: Buffers = field(default_factory=dict)


def answer(task: Task, size: Size, call: Call) -> Answer:
    """To be computed only after the submission has run. A call that must be refused changes no buffer."""
    return _answer(task.reference if call.returns == 0 else None, task.compare, size, call)


def expected(task: Task, size: Size, call: Call) -> dict[str, torch.Tensor]:
    """All buffers but scratch, as the reference leaves them in their own types."""
    return _left_by(task.reference if call.returns == 0 else None, size, call)


def _answer(function: OnBuffers | None, rule: Comparison, size: Size, call: Call) -> Answer:
    import torch

    # Only outputs are kept: a case's inputs may be gigabytes.
    left = _left_by(function, size, call)
    typed = {name: left[name] for name in call.outputs}
    del left
    if isinstance(rule, Exact) or function is None:
        return Answer(typed)
    exact = _left_by(function, size, call, torch.float64)
    return Answer(typed, {name: exact[name] for name in typed if typed[name].is_floating_point()})


def _left_by(
    function: OnBuffers | None, size: Size, call: Call, floats: torch.dtype | None = None
) -> dict[str, torch.Tensor]:
    """Copies of the buffers after `function` changed them; floating ones as `floats` if that is given."""
    buffers = {
        name: tensor.to(floats, copy=True)
        if floats is not None and tensor.is_floating_point()
        else tensor.clone()
        for name, tensor in call.kept.items()
    }
    if function is not None:
        function(size, buffers)
    return buffers


def difference(
    task: Task,
    size: Size,
    call: Call,
    wanted: Answer,
    after: Buffers,
) -> Difference | None:
    """None when every output is right and nothing else but scratch was touched."""
    refused = call.returns != 0
    for name in call.kept if refused else call.inputs:
        before = call.buffers[name]
        if not _same_bits(after[name], before):
            where, got, want, count = _first(after[name], before)
            label = call.label(name)
            rule = f"{label} must hold after the call what it held before"
            return Difference(
                "mismatch" if refused else "input changed",
                f"{label}[{where}] was {want} and is {got} after the call, "
                f"{numbers.counted(count, 'element is', 'elements are')} changed: "
                + ("a call that is refused changes nothing" if refused else rule),
            )
    if refused:
        return None
    for name in call.outputs:
        others = _right_for_other_values(task, size, call, name)
        wrong = _wrong(name, task.compare, wanted, after[name], call.label(name), others)
        if wrong is not None:
            guess = _guess(task, size, call, wanted, after)
            unwritten = call.label(name) if guess == _NOTHING_WRITTEN else ""
            return Difference("mismatch", wrong + (f". {guess}" if guess else ""), unwritten)
    return None


def same_buffers(a: Buffers, b: Buffers) -> bool:
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
        indices(at, got.shape),
        value_text(got.flatten()[at]),
        value_text(want.flatten()[at]),
        int(differs.sum()),
    )


def _right_for_other_values(task: Task, size: Size, call: Call, name: str) -> Iterator[Right]:
    """An output of other calls of this size, each made when it is asked for."""
    calls = min(_OTHER_CALLS, _THEIR_BYTES // max(1, sum(tensor.nbytes for tensor in call.kept.values())))
    for number in range(calls):
        other = task.inputs(size, Random(f"other values {number}", call.buffers[name].device.type))
        right = answer(task, size, other)
        yield Right(right.exact[name], right.outputs[name].double())


def _wrong(
    name: str,
    rule: Comparison,
    wanted: Answer,
    got: torch.Tensor,
    label: str = "",
    others: Iterable[Right] = (),
) -> str | None:
    """A sentence when an output is wrong or outside the tolerance. It calls the output by its `label`."""
    typed = wanted.outputs[name]
    if not isinstance(rule, Exact) and name in wanted.exact:
        right = Right(wanted.exact[name], typed.double())
        return too_far(rule, Output(name, label, got.double(), right, others))
    if _same_bits(got, typed):
        return None
    where, is_now, want, count = _first(got, typed)
    return (
        f"{label}[{where}] is {is_now}, expected {want}; "
        f"{count:,} of {got.numel():,} elements {'is' if count == 1 else 'are'} wrong"
    )


@dataclass(frozen=True)
class _Made:
    """What a mistake makes, and which elements of an output it leaves open."""

    answer: Answer
    unknown: Buffers


def _made_by(mistake: KnownMistake, rule: Comparison, size: Size, call: Call) -> _Made:
    unknown: dict[str, torch.Tensor] = {}

    def leave(size: Size, buffers: Buffers) -> None:
        unknown.update(mistake(size, buffers) or {})

    return _Made(_answer(leave, rule, size, call), unknown)


def _is_like(made: _Made, task: Task, call: Call, wanted: Answer, after: Buffers) -> bool:
    """Whether the answer is what the mistake makes. Where it leaves elements open, one of the others must be
    wrong: else any answer would do."""
    shown = not made.unknown
    for name in call.outputs:
        typed, got = made.answer.outputs[name], after[name]
        wrong = bits(typed) != bits(wanted.outputs[name])
        if name in made.unknown:
            known = ~made.unknown[name]
            wrong, got = wrong & known, got.where(known, typed)
        shown |= bool(wrong.any())
        if not _looks_like(name, task.compare, made.answer, got):
            return False
    return shown


def _looks_like(name: str, rule: Comparison, made: Answer, got: torch.Tensor) -> bool:
    """Whether this is what a mistake makes. Unlike an answer, a mistake may make NaN, of any kind: then NaN
    must be in the same places."""
    if name in made.exact and bool((nan := made.exact[name].isnan()).any()):
        if not bool((got.isnan() == nan).all()):
            return False
        exact, typed = made.exact[name].masked_fill(nan, 0), made.outputs[name].masked_fill(nan, 0)
        made, got = Answer({name: typed}, {name: exact}), got.masked_fill(nan, 0)
    return _wrong(name, rule, made, got) is None


def _guess(
    task: Task,
    size: Size,
    call: Call,
    wanted: Answer,
    after: Buffers,
) -> str:
    """A sentence that names the likely mistake, or an empty one."""
    must_change = _written_by_reference(task, size, call, wanted)
    touched = [name for name in call.outputs if bool(must_change[name].any())]
    if touched and all(_same_bits(after[name], call.buffers[name]) for name in touched):
        return _NOTHING_WRITTEN
    if touched and all(bool((bits(after[name])[must_change[name]] == 0).all()) for name in touched):
        return "Every element that had to be written is zero"
    if name := _likely_mistake(task, size, call, wanted, after):
        return f"It looks like this: {name}"
    wrote_elsewhere = [
        name
        for name in call.outputs
        if bool((~must_change[name] & (bits(after[name]) != bits(call.buffers[name]))).any())
    ]
    if wrote_elsewhere:
        return f"Elements of {call.label(wrote_elsewhere[0])} were written that had to stay as they were"
    # Would the answer be right if the elements that did not change held their right values?
    right = (
        _wrong(name, task.compare, wanted, _filled_in(name, call, wanted, after)) is None for name in touched
    )
    return "The wrong elements were never written" if all(right) else ""


def _likely_mistake(task: Task, size: Size, call: Call, wanted: Answer, after: Buffers) -> str:
    """The name of the first mistake that makes this answer; of mistakes that leave elements open, of the one
    that leaves the fewest."""
    fewest: tuple[int, str] | None = None
    for name, mistake in task.known_mistakes.items():
        try:
            made = _made_by(mistake, task.compare, size, call)
        except (RuntimeError, LookupError, ValueError, ArithmeticError):
            continue  # this mistake cannot be made at this size; that must not cost the verdict
        left_open = sum(int(open_here.sum()) for open_here in made.unknown.values())
        if (fewest is None or left_open < fewest[0]) and _is_like(made, task, call, wanted, after):
            if left_open == 0:
                return name
            fewest = left_open, name
    return fewest[1] if fewest else ""


def _filled_in(name: str, call: Call, wanted: Answer, after: Buffers) -> torch.Tensor:
    return after[name].where(bits(after[name]) != bits(call.buffers[name]), wanted.outputs[name])


def _written_by_reference(task: Task, size: Size, call: Call, wanted: Answer) -> dict[str, torch.Tensor]:
    """Which elements of each output the reference writes: those that change when it starts from the outputs
    or from their complement. An element computed from other output elements differs then, and was written."""
    other = {name: tensor.clone() for name, tensor in call.kept.items()}
    for name in call.outputs:
        bits(other[name]).bitwise_not_()
    task.reference(size, other)
    return {
        name: (bits(other[name]) != ~bits(call.buffers[name]))
        | (bits(wanted.outputs[name]) != bits(call.buffers[name]))
        for name in call.outputs
    }
