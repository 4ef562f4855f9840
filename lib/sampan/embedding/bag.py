"""Embedding bags: the rows of a table that a bag of ids names, reduced to one row without being written
down."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .. import nn
from ..dtype import name_of
from ..engine.operator import operator
from ..engine.tape import written
from ..engine.tensor import Tensor
from ..kernels.arena import copied
from ..nn.initializer import Normal
from ..row_sparse import check_ids
from .operators import bag_sums, bag_tops

MODES = ("sum", "mean", "max")


def _ids(value: Any, name: str) -> torch.Tensor:
    """A copy: it is checked once and read again in backward, and the caller may overwrite what it passed
    in."""
    buffer = value.data if isinstance(value, Tensor) else value
    found = buffer if isinstance(buffer, torch.Tensor) else torch.as_tensor(np.asarray(buffer))
    if (
        found.dtype not in (torch.int32, torch.int64) and found.numel()
    ):  # NumPy takes an empty list for floats
        raise TypeError(f"{name}: expected int32 or int64, got {name_of(found.dtype)}")
    return copied(found, torch.int64)


def _bags(input: Any, offsets: Any, include_last_offset: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """(ids of all bags one after the other, where each bag starts, and the end)."""
    if isinstance(input, Sequence) and offsets is None and any(hasattr(bag, "__len__") for bag in input):
        alone = [place for place, bag in enumerate(input) if not hasattr(bag, "__len__")]
        if alone:
            raise TypeError(f"input[{alone[0]}]: expected a list of ids, got {input[alone[0]]!r}")
        if all(isinstance(bag, Sequence) for bag in input):
            ids = _ids([i for bag in input for i in bag], "input")  # lists are read in one go
        else:
            ids = torch.cat([_ids(bag, "input") for bag in input])
        if ids.ndim != 1:
            raise ValueError(f"input: expected bags of ids, got bags of shape {list(ids.shape[1:])}")
        return ids, torch.tensor([0, *np.cumsum([len(bag) for bag in input])])
    ids = _ids(input, "input")
    if ids.ndim == 2:
        if offsets is not None:
            raise ValueError("offsets: expected None for input of two axes, whose rows are the bags")
        return ids.flatten(), torch.arange(ids.shape[0] + 1, device=ids.device) * ids.shape[1]
    if ids.ndim != 1 or offsets is None:
        raise ValueError(
            "input: expected [bags, length], a list of lists, or [ids] with offsets, got shape "
            f"{list(ids.shape)}"
            f" {'without' if offsets is None else 'with'} offsets"
        )
    starts = _ids(offsets, "offsets")
    if starts.ndim != 1:
        raise ValueError(f"offsets: expected one axis, got shape {list(starts.shape)}")
    if not include_last_offset:
        starts = torch.cat([starts, starts.new_tensor([len(ids)])])
    falls = (starts[1:] < starts[:-1]).nonzero().flatten()
    wrong = ""
    if not len(starts) or int(starts[0]) != 0 or int(starts[-1]) != len(ids):
        wrong = f"{int(starts[0])} to {int(starts[-1])}" if len(starts) else "none"
    if len(falls):
        wrong = f"{int(starts[falls[0] + 1])} after {int(starts[falls[0]])} at place {int(falls[0]) + 1}"
    if wrong:
        raise ValueError(
            f"offsets: expected to start at 0, not to decrease, and to stay within {len(ids)} ids, got "
            f"{wrong}"
        )
    return ids, starts


@operator(returns="Any", amp="as_is")
def bag_places(input, offsets, include_last_offset, count, padding_idx, device):
    """The ids of all bags one after the other, where each bag starts and the end, and with padding_idx, which
    is left out, the places of the kept ids. Raises ValueError for ids that are not 0 to count - 1."""
    ids, starts = (t.to(device) for t in _bags(input, offsets, include_last_offset))
    check_ids(ids, count, "input")
    if padding_idx is None:
        return ids, starts
    kept = ids != padding_idx % count
    before = torch.cat([kept.new_zeros(1, dtype=torch.int64), kept.cumsum(0)])
    return ids[kept], before[starts], kept


@operator(amp="as_is")
def frequency_shares(ids, dtype):
    """1 / how often each id occurs among ids."""
    return (1.0 / torch.bincount(ids).double())[ids].to(dtype)


def embedding_bag(
    input: Any,
    weight: Tensor,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = True,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """[bags, d]: for each bag of ids the sum, mean or largest of their rows of `weight` [n, d].

    input: ids [bags, length]; or a list of lists; or [ids] one bag after the other, with `offsets` [bags]
    where each starts (include_last_offset: and where the last ends). per_sample_weights: a factor for each
    id, of input's shape, for mode "sum" alone; gets a gradient. padding_idx: this id counts nothing.
    max_norm: longer rows are first shortened to it, in place. scale_grad_by_freq: a row's gradient is divided
    by how often it was asked for. sparse: the gradient of a table is a RowSparse. An empty bag gives zeros.
    Arguments as torch has them; Paddle has no bag. Raises ValueError for ids outside, offsets that decrease,
    or a mode it does not know.
    """
    if mode not in MODES:
        raise ValueError(f"mode: expected one of {', '.join(MODES)}, got {mode!r}")
    if scale_grad_by_freq and mode == "max":
        raise ValueError("scale_grad_by_freq: expected mode 'sum' or 'mean', got 'max'")
    if per_sample_weights is not None and mode != "sum":
        raise ValueError(f"per_sample_weights: expected mode 'sum', got {mode!r}")
    count = weight.shape[0]
    if padding_idx is not None and not -count <= padding_idx < count:
        raise ValueError(f"padding_idx: expected {-count} to {count - 1}, got {padding_idx}")
    if not isinstance(input, Tensor):
        input, offsets = map(Tensor, _bags(input, offsets, include_last_offset))
        include_last_offset = True
    elif offsets is not None and not isinstance(offsets, Tensor):
        offsets = Tensor(_ids(offsets, "offsets"))
    device = weight.data.device
    ids, starts, *kept = bag_places(input, offsets, include_last_offset, count, padding_idx, device)
    scale: Any = None
    if per_sample_weights is not None:
        expected = (kept[0] if kept else ids).shape[0]
        if per_sample_weights.size != expected:
            raise ValueError(f"per_sample_weights: expected {expected}, got {int(per_sample_weights.size)}")
        scale = per_sample_weights.reshape([-1])
        scale = scale[kept[0]] if kept else scale
    if max_norm is not None and ids.shape[0]:
        torch.embedding_renorm_(weight.data, ids.data.unique(), max_norm, norm_type)
        written(weight.data)
    as_rows = sparse and weight.node is None
    if mode == "max":
        return bag_tops(weight, ids, starts, as_rows)
    share = frequency_shares(ids, weight.data.dtype) if scale_grad_by_freq else None
    return bag_sums(weight, scale, ids, starts, mode == "mean", as_rows, share)


class EmbeddingBag(nn.Layer):
    """A table [num_embeddings, embedding_dim] asked for bags of ids; see `embedding_bag` for the arguments.

    The table starts Normal(0, 1), the row `padding_idx` with zeros.

    >>> bags = paddle.embedding.EmbeddingBag(10, 4)
    >>> bags(paddle.to_tensor([[1, 2, 2], [0, 5, 9]])).shape
    paddle.Size([2, 4])
    """

    weight: Any

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = True,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        weight_attr: Any = None,
    ) -> None:
        super().__init__()
        for key, size in (("num_embeddings", num_embeddings), ("embedding_dim", embedding_dim)):
            if size <= 0:
                raise ValueError(f"{key}: expected 1 or more, got {size}")
        if mode not in MODES:
            raise ValueError(f"mode: expected one of {', '.join(MODES)}, got {mode!r}")
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.mode, self.sparse, self.include_last_offset, self.padding_idx = (
            mode,
            sparse,
            include_last_offset,
            padding_idx,
        )
        shape = [num_embeddings, embedding_dim]
        self.weight = self.create_parameter(shape, weight_attr, default_initializer=Normal(0.0, 1.0))
        if padding_idx is not None:
            self.weight.data[padding_idx] = 0.0

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}, mode={self.mode!r}"
