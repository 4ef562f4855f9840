"""Layers whose weights are cut over the processes of a group: tensor parallelism (Paddle's module
`fleet.layers.mpu`).

Every process of the group calls them with the same input, or with its own columns where that is said. Values
and gradients are those of the layer in one process. Method: Megatron-LM, Shoeybi et al. 2019.
"""

from __future__ import annotations

import contextlib
from typing import Any

from ...creation import zeros_like
from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...nn import functional as F
from ...nn.initializer import Constant
from ...nn.layer import Layer
from ...ops import where
from ..group import Group
from . import topology
from .mp_ops import copied, joined, label_losses, own_columns, total
from .parallel_random import get_rng_state_tracker

__all__ = [
    "ColumnParallelLinear",
    "ParallelCrossEntropy",
    "ParallelMultiLabelCrossEntropy",
    "RowParallelLinear",
    "VocabParallelEmbedding",
]


class _Parallel(Layer):
    """A layer over a group of processes: that of tensor parallelism, or `mp_group`."""

    def __init__(self, mp_group: Group | None, name: str | None) -> None:
        super().__init__()
        kind = type(self).__name__
        group = mp_group or topology.current(kind).get_model_parallel_group()
        self.model_parallel_group, self.name = group, name
        self.world_size, self.rank, self.is_mp = group.nranks, group.rank, group.nranks > 1

    def _part(self, what: str, size: int) -> int:
        """How long this process's part is. AssertionError where the parts are not equal."""
        if size % self.world_size:
            kind = type(self).__name__
            raise AssertionError(
                f"{kind}: {what}: expected a multiple of the {self.world_size} processes, got {size}"
            )
        return size // self.world_size

    def _cut(self, shape: list[int], attr: Any, axis: int) -> Any:
        """A parameter that is one part of a larger one. Each process draws from a state of its own."""
        tracker = get_rng_state_tracker()
        with tracker.rng_state() if self.is_mp and tracker.states_ else contextlib.nullcontext():
            made: Any = self.create_parameter(shape, attr)
        made.is_distributed = self.is_mp
        if self.is_mp:
            made.split_axis = axis
        return made


class VocabParallelEmbedding(_Parallel):
    """`nn.Embedding` of which each process has some rows: ids [...] give [..., embedding_dim], in all
    processes.

    weight: [num_embeddings / processes, embedding_dim]. ValueError for ids that the whole table does not
    have.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        weight_attr: Any = None,
        mp_group: Group | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(mp_group, name)
        rows = self._part("num_embeddings", num_embeddings)
        self.num_embeddings = self.origin_num_embeddings = num_embeddings
        self.vocab_start_index = self.rank * rows
        self.weight = self._cut([rows, embedding_dim], weight_attr, 0)

    def forward(self, x: Tensor) -> Tensor:
        """The rows of these ids."""
        if not self.is_mp:
            return F.embedding(x, self.weight)
        ids = x.data
        if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < self.num_embeddings:
            least, most = int(ids.min()), int(ids.max())
            raise InvalidArgument(
                f"VocabParallelEmbedding: x: expected ids of 0 to {self.num_embeddings - 1}, got {least} to "
                f"{most}"
            )
        own = x - self.vocab_start_index
        here = (own >= 0).logical_and(own < self.weight.shape[0])
        rows = F.embedding(where(here, own, zeros_like(own)), self.weight)
        return total(where(here.unsqueeze(-1), rows, zeros_like(rows)), self.model_parallel_group)


class ColumnParallelLinear(_Parallel):
    """`nn.Linear` of which each process has some columns: x [..., in_features], the same in all processes,
    gives [..., out_features], or this process's columns of it.

    weight: [in_features, out_features / processes]. has_bias: with a bias, which starts at 0; without one
    unless given. gather_output: False returns this process's columns, for a RowParallelLinear.
    fuse_matmul_bias: the value is the same.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        has_bias: bool | None = None,
        gather_output: bool = True,
        fuse_matmul_bias: bool = False,
        mp_group: Group | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(mp_group, name)
        self.gather_output, self.fuse_matmul_bias = gather_output, fuse_matmul_bias
        columns = self.output_size_per_partition = self._part("out_features", out_features)
        self.weight = self._cut([in_features, columns], weight_attr, 1)
        self.bias = self._cut([columns], Constant(0.0), 0) if has_bias else None

    def forward(self, x: Tensor) -> Tensor:
        """x W + b."""
        group = self.model_parallel_group
        columns = F.linear(copied(x, group), self.weight, self.bias)
        return joined(columns, group) if self.gather_output else columns


class RowParallelLinear(_Parallel):
    """`nn.Linear` of which each process has some rows: x [..., in_features] gives [..., out_features], the
    same in all processes.

    weight: [in_features / processes, out_features]; the bias, which starts at 0, is whole in each process.
    input_is_parallel: x has this process's columns, as from ColumnParallelLinear with gather_output=False.
    fuse_matmul_bias: the value is the same.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        weight_attr: Any = None,
        has_bias: bool = True,
        input_is_parallel: bool = False,
        fuse_matmul_bias: bool = False,
        mp_group: Group | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(mp_group, name)
        self.in_features, self.out_features = in_features, out_features
        self.input_is_parallel, self.fuse_matmul_bias = input_is_parallel, fuse_matmul_bias
        rows = self.input_size_per_partition = self._part("in_features", in_features)
        self.weight = self._cut([rows, out_features], weight_attr, 0)
        self.bias = self.create_parameter([out_features], Constant(0.0)) if has_bias else None

    def forward(self, x: Tensor) -> Tensor:
        """x W + b."""
        group = self.model_parallel_group
        columns = x if self.input_is_parallel else own_columns(x, group)
        value = total(F.linear(columns, self.weight), group)
        return value if self.bias is None else value + self.bias


class ParallelCrossEntropy(_Parallel):
    """Softmax and cross entropy of logits of which each process has some classes: logits [..., classes /
    processes] and labels [...] or [..., 1] give losses [..., 1], the same in all processes.

    ignore_index: labels with a loss of 0. ValueError for other labels that are not classes.
    """

    def __init__(
        self, mp_group: Group | None = None, name: str | None = None, ignore_index: int = -100
    ) -> None:
        super().__init__(mp_group, name)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, label: Tensor) -> Tensor:
        """log(sum of exp(logits)) - logit of the label."""
        labels = label if label.ndim == input.ndim else label.unsqueeze(-1)
        return label_losses(type(self).__name__, input, labels, self.ignore_index, self.model_parallel_group)


class ParallelMultiLabelCrossEntropy(_Parallel):
    """Softmax and cross entropy with several labels for each row, each with a weight: logits [..., classes /
    processes], labels and weights [..., labels] give losses [..., 1].

    ignore_index: labels with a loss of 0. sum_multi_label_loss: False gives the loss of each label [...,
    labels].
    """

    def __init__(
        self,
        mp_group: Group | None = None,
        name: str | None = None,
        ignore_index: int = -100,
        sum_multi_label_loss: bool = True,
    ) -> None:
        super().__init__(mp_group, name)
        self.ignore_index, self.sum_multi_label_loss = ignore_index, sum_multi_label_loss

    def forward(self, input: Tensor, label: Tensor, smooth_weight: Tensor) -> Tensor:
        """The weighted sum of the losses of the labels."""
        losses = label_losses(type(self).__name__, input, label, self.ignore_index, self.model_parallel_group)
        weighted = losses * smooth_weight
        return weighted.sum(-1, keepdim=True) if self.sum_multi_label_loss else weighted
