"""The decoding step of decode_step.cu, in torch and on the CPU, from a batch's own tensors."""

from __future__ import annotations

import torch

from common.serving.batch import Batch
from common.serving.decode_engine import HEADS, ROW

HEAD_DIM = ROW // HEADS


def rotate(rows: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """[batch, ROW] rotated by position, pairs half a head apart."""
    half = HEAD_DIM // 2
    pair = torch.arange(half, dtype=torch.float64)
    angle = positions.double()[:, None] * torch.exp2(-13.3 * pair / half)
    cosine, sine = torch.cos(angle)[:, None], torch.sin(angle)[:, None]
    heads = rows.double().view(-1, HEADS, HEAD_DIM)
    first, second = heads[..., :half], heads[..., half:]
    turned = torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)
    return turned.reshape(-1, ROW)


def decode(
    batch: Batch, embedding: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor
) -> torch.Tensor:
    """The output of all rows; the caches are updated in place (float64, on the CPU)."""
    fields = {name: tensor.cpu().long() for name, tensor in vars(batch).items() if name != "requests"}
    tokens = embedding[fields["input_ids"]].double()
    queries = rotate(tokens[:, 0], fields["positions"])
    k_cache[fields["out_loc"]] = rotate(tokens[:, 1], fields["positions"])
    v_cache[fields["out_loc"]] = tokens[:, 2]
    rows = []
    for number, keys in enumerate(fields["seq_lens"].tolist()):
        slots = fields["page_table"][number, :keys]
        q = queries[number].view(HEADS, 1, HEAD_DIM)
        k = k_cache[slots].view(keys, HEADS, HEAD_DIM).transpose(0, 1)
        v = v_cache[slots].view(keys, HEADS, HEAD_DIM).transpose(0, 1)
        weights = torch.softmax((q * k).sum(-1) / HEAD_DIM**0.5, -1)
        rows.append((weights[..., None] * v).sum(1).view(ROW))
    return torch.stack(rows)
