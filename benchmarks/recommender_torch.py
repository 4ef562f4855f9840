"""The recommender's networks in plain torch: peers of Sampan's in `recommender.py`, and the oracle of the tests.

Parameters have the names of Sampan's, so that `copied` finds them. Tables of many fields are one nn.Embedding with offsets,
a history is an nn.functional.embedding_bag with a weight for each position, as torch's documentation advises.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F


def tower(width: int, hidden: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in pairwise([width, *hidden]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear([width, *hidden][-1], 1))


class TwoTower(nn.Module):
    def __init__(self, num_users: int, num_items: int, dim: int, length: int, sparse: bool) -> None:
        super().__init__()
        self.num_items, self.sparse = num_items, sparse
        self.users = nn.Embedding(num_users, dim, sparse=sparse)
        self.items = nn.Embedding(num_items + 1, dim, sparse=sparse)
        self.mix = nn.Linear(dim, dim)
        self.recency = nn.Parameter(torch.zeros(length))

    def forward(
        self, users: torch.Tensor, history: torch.Tensor, items: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        there = history != self.num_items
        weights = torch.where(there, self.recency, -1e30).softmax(-1) * there
        taken = F.embedding_bag(
            history, self.items.weight, mode="sum", per_sample_weights=weights, sparse=self.sparse
        )
        return self.users(users) + self.mix(taken), self.items(items)


def sampled_softmax(users: torch.Tensor, items: torch.Tensor, log_q: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(users @ items.T - log_q, torch.arange(len(log_q)))


class DeepFM(nn.Module):
    def __init__(self, field_sizes: Sequence[int], dim: int, hidden: Sequence[int], sparse: bool) -> None:
        super().__init__()
        sizes = torch.tensor(field_sizes)
        self.register_buffer("starts", sizes.cumsum(0) - sizes)
        self.tables = nn.Embedding(int(sizes.sum()), 1 + dim, sparse=sparse)
        self.deep = tower(len(field_sizes) * dim, hidden)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        rows = self.tables(ids + self.starts)
        vectors = rows[:, :, 1:]
        products = 0.5 * (vectors.sum(1).square().sum(1) - vectors.square().sum((1, 2)))
        return rows[:, :, 0].sum(1) + products + self.deep(vectors.flatten(1)).squeeze(-1) + self.bias


class DIN(nn.Module):
    def __init__(
        self, num_items: int, num_marks: int, field_sizes: Sequence[int], dim: int, attention: Sequence[int],
        hidden: Sequence[int], sparse: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_items = num_items
        sizes = torch.tensor(field_sizes)
        self.register_buffer("starts", sizes.cumsum(0) - sizes)
        self.items = nn.Embedding(num_items + 1, dim, sparse=sparse)
        self.marks = nn.Embedding(num_marks, dim, sparse=sparse)
        self.context = nn.Embedding(int(sizes.sum()), dim, sparse=sparse)
        self.attention = tower(4 * dim, attention)
        self.deep = tower((3 + len(field_sizes)) * dim, hidden)

    def forward(
        self, items: torch.Tensor, history: torch.Tensor, marks: torch.Tensor, context: torch.Tensor
    ) -> torch.Tensor:
        item, past = self.items(items), self.items(history) + self.marks(marks)
        beside = item[:, None].expand_as(past)
        weights = self.attention(torch.cat([past, beside, past - beside, past * beside], -1))
        there = (history != self.num_items).to(past.dtype)[:, :, None]
        seen = (weights * there * past).sum(1)
        fields = self.context(context + self.starts).flatten(1)
        return self.deep(torch.cat([item, seen, item * seen, fields], -1)).squeeze(-1)


def copied(theirs: nn.Module, ours: Any) -> nn.Module:
    """The torch network with the weights of Sampan's; weights of linear layers are transposed."""
    values = dict(ours.named_parameters())
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            value = values.pop(name).data
            linear = name.endswith("weight") and value.ndim == 2 and not is_table(theirs, name)
            parameter.copy_(value.T if linear else value)
    if values:
        raise ValueError(f"ours: expected the same parameters, got {', '.join(values)} besides")
    return theirs


def is_table(network: nn.Module, name: str) -> bool:
    return isinstance(network.get_submodule(name.rpartition(".")[0]), nn.Embedding)


def gradients(network: nn.Module) -> dict[str, np.ndarray]:
    """Dense gradients, with those of linear layers transposed as in Sampan."""
    found = {}
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        grad = parameter.grad.to_dense()
        linear = name.endswith("weight") and grad.ndim == 2 and not is_table(network, name)
        found[name] = (grad.T if linear else grad).numpy()
    return found
