"""What sparse attention (NSA) reads in a captured graph, and which parts of it a replay must copy in.

A server prepares a step's metadata in tensors of its own, sized for the step, and copies them into those that
its graphs were captured with, sized for the largest step. Between the two the row stride of the page tables
differs, and element 0 of the cumulative arrays is 0 for ever and not copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from common.serving.arguments import (
    ArgumentError,
    require_dtype,
    require_rows,
    require_size,
    require_tensor,
    require_type,
    require_vector,
)

if TYPE_CHECKING:
    import torch

FLASHMLA_TILE_WORDS = 8  # what its scheduler keeps for each part of the device


class Mode(Enum):
    """What a step computes: one token per request, all its drafts at once, or those that were accepted."""

    DECODE = "decode"
    TARGET_VERIFY = "target-verify"
    DRAFT_EXTEND = "draft-extend"


@dataclass(frozen=True)
class Step:
    """The sizes of one step.

    `draft_tokens` counts for target-verify, `accepted` (tokens by request) for draft-extend. Page tables of
    the server's own pages and metadata of FlashMLA are there when the attention backend asks for them.
    """

    mode: Mode
    batch: int
    max_len: int
    draft_tokens: int = 1
    accepted: tuple[int, ...] = ()
    real_page_columns: int | None = None
    flashmla_parts: int | None = None

    def __post_init__(self) -> None:
        require_type("mode", self.mode, Mode, f"one of {', '.join(map(str, Mode))}")
        require_type("accepted", self.accepted, Sequence, "pass the tokens of each request")
        sizes: dict[str, int | tuple[int, ...]] = {
            "batch": require_size("batch", self.batch),
            "max_len": require_size("max_len", self.max_len),
            "draft_tokens": require_size("draft_tokens", self.draft_tokens, least=1),
            "accepted": tuple(require_size("a number in accepted", number) for number in self.accepted),
        }
        for name in ("real_page_columns", "flashmla_parts"):
            if getattr(self, name) is not None:
                sizes[name] = require_size(name, getattr(self, name))
        for name, size in sizes.items():
            object.__setattr__(self, name, size)  # as Python's numbers, whatever they came as
        if self.mode is Mode.DRAFT_EXTEND and len(self.accepted) != self.batch:
            raise ArgumentError(
                f"accepted names {len(self.accepted)} requests, but the step has {self.batch}: "
                "draft-extend needs the tokens of each"
            )

    @property
    def queries(self) -> int:
        """Tokens that the step computes, over all requests."""
        if self.mode is Mode.DECODE:
            return self.batch
        return self.batch * self.draft_tokens if self.mode is Mode.TARGET_VERIFY else sum(self.accepted)


@dataclass(frozen=True)
class Field:
    """One copy of a step: `rows` × `columns` from behind the first `skip` elements. A vector has no rows."""

    name: str
    columns: int
    rows: int | None = None
    skip: int = 0


def step_fields(step: Step) -> tuple[Field, ...]:
    """What a replay of this step copies, in the order of the tensors below."""
    queries = step.queries
    found = [
        Field("cache_seqlens", step.batch),
        Field("cu_seqlens_k", step.batch, skip=1),
        Field("page_table_1", step.max_len, rows=queries),
        Field("nsa_cache_seqlens", queries),
        Field("nsa_seqlens_expanded", queries),
        Field("nsa_cu_seqlens_k", queries, skip=1),
    ]
    if step.real_page_columns is not None:
        found.append(Field("real_page_table", step.real_page_columns, rows=queries))
    if step.flashmla_parts is not None:
        found.append(Field("flashmla_tiles", FLASHMLA_TILE_WORDS, rows=step.flashmla_parts))
        found.append(Field("flashmla_num_splits", queries + 1))
    return tuple(found)


@dataclass(frozen=True)
class NsaMetadata:
    """The tensors of one step, or those of a captured graph; int32, all of them."""

    cache_seqlens: torch.Tensor
    cu_seqlens_k: torch.Tensor
    page_table_1: torch.Tensor  # one column a token
    nsa_cache_seqlens: torch.Tensor
    nsa_seqlens_expanded: torch.Tensor
    nsa_cu_seqlens_k: torch.Tensor
    real_page_table: torch.Tensor | None = None  # one column a page
    flashmla_tiles: torch.Tensor | None = None
    flashmla_num_splits: torch.Tensor | None = None


FIELD_NAMES = tuple(field.name for field in fields(NsaMetadata))


def copy_metadata(
    step: Step,
    precomputed: NsaMetadata,
    captured: NsaMetadata | Sequence[NsaMetadata],
    *,
    kernel: Path | None = None,
) -> None:
    """Copy a step's metadata into one set of captured tensors, or into several: speculative decoding captures
    three graphs that share their inputs. Raises ArgumentError before anything is written.
    """
    from common.serving.batched_copy import (
        Copy,
        batched_copy,
    )  # a device with it: not for those who count sizes

    require_type("step", step, Step)
    require_type("precomputed", precomputed, NsaMetadata)
    if not isinstance(captured, NsaMetadata):
        require_type("captured", captured, Sequence, "pass an NsaMetadata, or a list of them")
    sets = [captured] if isinstance(captured, NsaMetadata) else list(captured)
    wanted = step_fields(step)
    sources = {field.name: _part(field, precomputed, "precomputed") for field in wanted}
    copies = []
    for number, destinations in enumerate(sets):
        owner = "captured" if len(sets) == 1 else f"captured[{number}]"
        require_type(owner, destinations, NsaMetadata)
        for field in wanted:
            copies.append(
                Copy(f"{owner}.{field.name}", sources[field.name], _part(field, destinations, owner))
            )
    batched_copy(copies, kernel=kernel)


def _part(field: Field, metadata: NsaMetadata, owner: str) -> torch.Tensor:
    """The part of a tensor that is copied; an ArgumentError when the tensor is missing or too small."""
    import torch

    name = f"{owner}.{field.name}"
    tensor: torch.Tensor | None = getattr(metadata, field.name)
    if tensor is None:
        raise ArgumentError(f"{name} is missing, but this step has it: pass the tensor, or a step without it")
    require_tensor(name, tensor)
    require_dtype(name, tensor, torch.int32)
    if field.rows is None:
        require_vector(name, tensor, field.skip + field.columns)
        return tensor[field.skip : field.skip + field.columns]
    require_rows(name, tensor, field.rows, field.columns)
    return tensor[: field.rows, : field.columns]
