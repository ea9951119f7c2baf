"""Keys, values and queries for attention: normal ones, and ones as uneven as those of real models.

Both worlds give fp16 tensors, tokens as [batch, tokens, kv_heads, head_dim] and queries as
[batch, kv_heads · group, head_dim], and draw from their own generator: the same calls give the same
numbers on one device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

SINKS = 4  # first tokens, which every query attends to
SINK_VALUES = 0.1  # of the size of others: a sink takes weight and adds little
TOPICS = 6
TOPIC_SHARE = 0.1  # of the tokens have a topic, all equally likely
_QUERY_GAIN = 5.0  # of each direction, in a query whose elements are noise of variance 1
# How much a matching key raises a query's score, in units of the background's spread. A softmax
# turns five units into a factor of 150.
SINK_SCORE, TOPIC_SCORE, RECENT_SCORE = 7.0, 5.0, 6.0
_PERIODS = (12.0, 50.0, 200.0, 800.0)  # tokens, of the planes in which positions rotate


class NormalWorld:
    """Every element is normal with variance 1, independent of all others: no token matters more."""

    def __init__(
        self, batch: int, kv_heads: int, group: int, head_dim: int, seed: int, device: str | torch.device
    ) -> None:
        import torch

        self.batch, self.kv_heads, self.group, self.head_dim = batch, kv_heads, group, head_dim
        self.device = torch.device(device)
        self._random = torch.Generator(self.device).manual_seed(seed)

    def tokens(self, first: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of the tokens from position `first` on; each position may be drawn once."""
        shape = (self.batch, count, self.kv_heads, self.head_dim)
        return self._noise(*shape).half(), self._noise(*shape).half()

    def queries(self, step: int) -> torch.Tensor:
        """What the token at position `step` looks for."""
        return self._noise(self.batch, self.kv_heads * self.group, self.head_dim).half()

    def _noise(self, *shape: int) -> torch.Tensor:
        import torch

        return torch.randn(shape, generator=self._random, device=self.device)


class SkewedWorld(NormalWorld):
    """Normal noise, plus what makes real attention uneven.

    Each head has its own directions, orthogonal and not along any channel. Besides its noise, a query looks
    for three things: the sinks, which are the first tokens of the sequence and have small values; the current
    topic, which one token in sixty has and which changes every `topic_steps` steps, cyclically;
    and its own position, rotated in planes of different speed as in rotary
    embeddings, which is close to the keys of recent tokens.
    """

    def __init__(
        self,
        batch: int,
        kv_heads: int,
        group: int,
        head_dim: int,
        seed: int,
        device: str | torch.device,
        topic_steps: int,
    ) -> None:
        import torch

        super().__init__(batch, kv_heads, group, head_dim, seed, device)
        self.topic_steps = topic_steps
        count = 1 + TOPICS + 2 * len(_PERIODS)
        if head_dim < count:
            raise ValueError(
                f"head_dim is {head_dim}, but {count} orthogonal directions need {count} or more"
            )
        random = torch.Generator().manual_seed(seed)  # on the host: the same directions on every device
        drawn = torch.randn(kv_heads, head_dim, count, generator=random, dtype=torch.float64)
        directions = torch.linalg.qr(drawn).Q.transpose(1, 2).float().to(self.device)
        self._sink = directions[:, 0]  # [kv_heads, head_dim]
        self._topics = directions[:, 1 : 1 + TOPICS].transpose(0, 1)  # [topics, kv_heads, head_dim]
        self._planes = directions[:, 1 + TOPICS :]  # [kv_heads, 2 · planes, head_dim]

    def tokens(self, first: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        shape = (self.batch, count, self.kv_heads, self.head_dim)
        positions = torch.arange(first, first + count, device=self.device)
        keys = self._noise(*shape)
        keys += self._gain(RECENT_SCORE) * self._places(positions)
        drawn = torch.rand(self.batch, count, generator=self._random, device=self.device)
        number = (drawn * (TOPICS / TOPIC_SHARE)).long()  # beyond TOPICS: no topic
        for topic in range(TOPICS):
            keys[number == topic] += self._gain(TOPIC_SCORE) * self._topics[topic]
        values = self._noise(*shape)
        is_sink = positions < SINKS
        keys[:, is_sink] += self._gain(SINK_SCORE) * self._sink
        values[:, is_sink] *= SINK_VALUES
        return keys.half(), values.half()

    def queries(self, step: int) -> torch.Tensor:
        import torch

        place = self._places(torch.tensor([step], device=self.device))[0]
        sought = self._sink + self._topics[step // self.topic_steps % TOPICS] + place
        noise = self._noise(self.batch, self.kv_heads, self.group, self.head_dim)
        return (noise + _QUERY_GAIN * sought.unsqueeze(1)).flatten(1, 2).half()

    def _gain(self, score: float) -> float:
        """The factor of a direction that gives a key this score."""
        return score * float(self.head_dim**0.5) / _QUERY_GAIN

    def _places(self, positions: torch.Tensor) -> torch.Tensor:
        """Unit vectors [positions, kv_heads, head_dim] whose product falls with their distance."""
        import torch

        periods = torch.tensor(_PERIODS, dtype=torch.float64, device=self.device)
        angles = positions.double().unsqueeze(1) * (2 * torch.pi / periods)
        turned = torch.cat([angles.cos(), angles.sin()], 1).float() / len(_PERIODS) ** 0.5
        return torch.einsum("np,hpd->nhd", turned, self._planes)
