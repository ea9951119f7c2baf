"""Checks of what a cache is given: numbers, types, devices, tables on the host, tokens.

Whatever comes instead, of any type, is refused with the argument's name, what came and what was wanted.
"""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, Any

import numpy as np

from common.serving.arguments import ArgumentError, require_size, require_tensor

if TYPE_CHECKING:
    import torch

# What torch and numpy raise about a value of a type they have no use for.
UNUSABLE = (TypeError, ValueError, RuntimeError, OverflowError)
_LOWEST = -(1 << 63)


def described(value: object) -> str:
    """A value in a message: itself if that is short and simple, else its type."""
    import torch

    simple = isinstance(value, str | bytes | bool | int | float | complex | np.generic | torch.dtype | None)
    return repr(value) if simple and len(repr(value)) < 40 else f"of type {type(value).__name__}"


def whole(name: str, value: object, least: int | None = 0) -> int:
    """A whole number, of any sign where `least` is None. True is an answer and not a number."""
    if not isinstance(value, bool | np.bool_):
        try:
            return require_size(name, value, _LOWEST if least is None else least)
        except ArgumentError:
            if isinstance(value, int | np.integer):
                raise
        except UNUSABLE:
            pass
    wanted = "a whole number" if least is None else f"a whole number of {least} or more"
    raise ArgumentError(f"{name} is {described(value)}, but must be {wanted}")


def real(name: str, value: object, wanted: str = "a number") -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, numbers.Real):
        raise ArgumentError(f"{name} is {described(value)}, but must be {wanted}")
    return float(value)


def array(name: str, given: object, dtype: Any = None) -> np.ndarray[Any, Any]:
    """What numpy makes of it, on the host."""
    where = getattr(getattr(given, "device", None), "type", "cpu")
    if where != "cpu":
        raise ArgumentError(f"{name} is on {where}, but must be on the host: pass .cpu()")
    try:
        return np.asarray(given, dtype=dtype)
    except UNUSABLE:
        raise ArgumentError(
            f"{name} is {described(given)}, but must hold numbers, as an array does"
        ) from None


def require_torch_device(name: str, device: object) -> torch.device:
    import torch

    try:
        if isinstance(device, str | torch.device):
            return torch.device(device)
    except RuntimeError:
        raise ArgumentError(f"{name} is {described(device)}, but torch knows no such device") from None
    raise ArgumentError(f'{name} is {described(device)}, but must be a torch device, such as "cpu"')


def require_floats(name: str, tensor: object) -> None:
    """A tensor of floating numbers with heads [..., head_dim]."""
    import torch

    require_tensor(name, tensor)
    assert isinstance(tensor, torch.Tensor)
    if not tensor.is_floating_point():
        raise ArgumentError(f"{name} is {tensor.dtype}, but must hold floating numbers")
    if tensor.ndim == 0:
        raise ArgumentError(f"{name} has shape [], but must be [..., head_dim]")


def require_float_type(name: str, dtype: object) -> torch.dtype:
    """A floating type of torch's; None is the usual one, float32."""
    import torch

    if dtype is None:
        return torch.float32
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise ArgumentError(
            f"{name} is {described(dtype)}, but must be a floating type, such as torch.float32"
        )
    return dtype


def require_finite(name: str, heads: torch.Tensor, sequences: Any, slots: Any) -> None:
    """Tokens [tokens, kv_heads, head_dim] without NaN and infinity: a head that has one has no scale.

    Their sum tells, which is one number from the device and no copy of the tokens: float32 has room for as
    many halves as there will ever be.
    """
    import torch

    if bool(torch.isfinite(heads.sum(dtype=torch.float32))):
        return
    token, head, element = torch.isfinite(heads).logical_not_().nonzero()[0].tolist()
    raise ArgumentError(
        f"{name}[{token}, {head}, {element}] is {float(heads[token, head, element])}, but must be finite: it "
        f"is of head {head} of the token for slot {slots[token]} of sequence {sequences[token]}, and nothing "
        "of that head could be read again"
    )
