"""The same copies in torch, measured beside the kernels."""

from __future__ import annotations

from grader.spec import Buffers, Size

from .layout import captured, pairs, reference

SIX_COPIES = "six .copy_"
FOREACH = "torch._foreach_copy_"
CONTIGUOUS = "one contiguous .copy_ of the same bytes"


def foreach_copy(size: Size, buffers: Buffers) -> None:
    """One call for a list of tensors, as serving code uses it today."""
    import torch

    destinations, sources = zip(*pairs(size, buffers), strict=True)
    torch._foreach_copy_(destinations, sources)


def contiguous_copy(size: Size, buffers: Buffers) -> None:
    """As many bytes without gaps, which a copy into a wider table never has."""
    count = size.batch * size.columns
    buffers[captured("page_table")].view(-1)[:count].copy_(buffers["page_table"].view(-1)[:count])


ALTERNATIVES = {SIX_COPIES: reference, FOREACH: foreach_copy}
YARDSTICKS = {CONTIGUOUS: contiguous_copy}
