"""Many tables of one width in one piece of memory, so that one call looks up in all of them."""

from collections.abc import Sequence
from typing import Any

import torch

from .. import nn
from ..dtype import as_device
from ..engine.operator import operator
from ..engine.tensor import Tensor
from ..nn.functional import embedding
from ..nn.initializer import Normal
from .operators import integers


@operator(amp="as_is")
def rows_of_tables(ids, counts, starts):
    """The rows, int64 [..., tables], of an id in each table. counts: their rows; starts: their first ones."""
    wrong = ((ids < 0) | (ids >= counts)).nonzero()
    if len(wrong):
        at = wrong[0].tolist()
        raise ValueError(
            f"ids{at}: expected 0 to {int(counts[at[-1]]) - 1}, for table {at[-1]}, got {int(ids[tuple(at)])}"
        )
    return ids + starts


class EmbeddingTables(nn.Layer):
    """Tables with `num_embeddings` [tables] rows each, all `embedding_dim` wide: one look-up, one gradient,
    one step.

    The way of recommenders with one table a field (FBGEMM calls it table-batched). Table t is `table(t)`, a
    view.
    """

    weight: Any
    _counts: Tensor  # [tables], and where each begins
    _starts: Tensor

    def __init__(self, num_embeddings: Sequence[int], embedding_dim: int, weight_attr: Any = None) -> None:
        super().__init__()
        counts = [int(n) for n in num_embeddings]
        if not counts or min(counts) <= 0 or embedding_dim <= 0:
            raise ValueError(
                f"num_embeddings, embedding_dim: expected lengths of 1 or more, got {counts} and "
                f"{embedding_dim}"
            )
        self.num_embeddings, self.embedding_dim = counts, embedding_dim
        lengths = torch.tensor(counts, device=as_device(None))
        # buffers: they go where the weights go
        self.register_buffer("_counts", Tensor(lengths), persistable=False)
        self.register_buffer("_starts", Tensor(lengths.cumsum(0) - lengths), persistable=False)
        shape = [sum(counts), embedding_dim]
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=Normal(0.0, 1.0))

    def forward(self, ids: Tensor) -> Tensor:
        """ids: [..., tables], an id of each table; returns [..., tables, embedding_dim]."""
        places = integers(ids)
        if places.ndim < 1 or places.shape[-1] != len(self.num_embeddings):
            raise ValueError(
                f"ids: expected [..., {len(self.num_embeddings)}], an id of each table, got {[*ids.shape]}"
            )
        return embedding(rows_of_tables(ids, self._counts, self._starts), self.weight)

    def table(self, number: int) -> Tensor:
        """The rows of one table, in the memory of all."""
        if not 0 <= number < len(self.num_embeddings):
            raise ValueError(f"number: expected 0 to {len(self.num_embeddings) - 1}, got {number}")
        start = sum(self.num_embeddings[:number])
        return Tensor(self.weight.data[start : start + self.num_embeddings[number]])

    def extra_repr(self) -> str:
        return (
            f"{len(self.num_embeddings)} tables, {sum(self.num_embeddings)} rows, width {self.embedding_dim}"
        )
