"""What every metric shares, and accuracy."""

import abc
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..engine.spelling import spelled
from ..engine.tensor import InvalidArgument, Tensor


class Metric(abc.ABC):
    """Counts over batches: `compute` (on Tensors), then `update` with what it gave; `accumulate` is the
    result.

    Numbers and lists that a subclass keeps as attributes are its state, and go into a training checkpoint.
    """

    @abc.abstractmethod
    def reset(self) -> None:
        """Clear the state."""

    @abc.abstractmethod
    def update(self, *args: Any) -> Any:
        """Add the results of `compute` for one batch."""

    @abc.abstractmethod
    def accumulate(self) -> Any:
        """The result over all batches since `reset`."""

    @abc.abstractmethod
    def name(self) -> str | list[str]:
        """The name of the result, or a list of names."""

    def compute(self, *args: Any) -> Any:
        """By default returns the outputs and labels unchanged."""
        return args

    def state_dict(self) -> dict[str, Any]:
        """The attributes that are numbers, lists or arrays."""
        return {k: v for k, v in vars(self).items() if isinstance(v, int | float | list | np.ndarray)}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a `state_dict`."""
        vars(self).update(state_dict)


def _right(input: Any, label: Any, k: int) -> torch.Tensor:
    """bool [batch, k]: whether the j-th best class of input [batch, classes] is the label."""
    scores = input.data if isinstance(input, Tensor) else torch.as_tensor(np.asarray(input))
    labels = label.data if isinstance(label, Tensor) else torch.as_tensor(np.asarray(label))
    if scores.ndim < 2 or not 1 <= k <= scores.shape[-1]:
        raise InvalidArgument(f"input: expected [batch, {k} classes or more], got shape {list(scores.shape)}")
    if labels.ndim == scores.ndim and labels.shape[-1] == scores.shape[-1] > 1:
        labels = labels.argmax(-1)  # one-hot
    elif labels.ndim == scores.ndim and labels.shape[-1] == 1:
        labels = labels[..., 0]
    if labels.shape != scores.shape[:-1]:
        shapes = f"{list(scores.shape[:-1])} for an input of {list(scores.shape)}, got {list(labels.shape)}"
        raise InvalidArgument(f"label: expected shape {shapes}")
    best = scores.argmax(-1, keepdim=True) if k == 1 else scores.topk(k, dim=-1).indices
    return best == labels[..., None].to(best.device)


@spelled()
def accuracy(
    input: Tensor, label: Tensor, k: int = 1, correct: Any = None, total: Any = None, name: str | None = None
) -> Tensor:
    """The share of samples whose label is among the k best classes. input [batch, classes]; returns a float32
    scalar."""
    return Tensor(_right(input, label, k).any(-1).float().mean())


class Accuracy(Metric):
    """The share of samples whose label is among the k best classes, for each k of topk.

    Names are `acc`, or `acc_top1`, `acc_top5` for several.
    """

    def __init__(self, topk=(1,), name=None, *args, **kwargs):
        self.topk = (topk,) if isinstance(topk, int) else tuple(topk)
        if not self.topk or any(not isinstance(k, int) or k < 1 for k in self.topk):
            raise InvalidArgument(f"topk: expected positive whole numbers, got {topk!r}")
        self.maxk = max(self.topk)
        base = name or "acc"
        self._name = [base] if len(self.topk) == 1 else [f"{base}_top{k}" for k in self.topk]
        self.reset()

    def reset(self) -> None:
        self.total = [0.0] * len(self.topk)
        self.count = [0] * len(self.topk)

    def compute(self, pred: Any, label: Any, *args: Any) -> Tensor:
        """float32 [batch, max(topk) or all classes]: 1 where the j-th best class is the label."""
        return Tensor(_right(pred, label, min(self.maxk, *pred.shape[-1:] or [1])).float())

    def update(self, correct: Any, *args: Any) -> Any:
        """Take what `compute` gave; returns the accuracy of this batch."""
        hits = correct.data if isinstance(correct, Tensor) else torch.as_tensor(np.asarray(correct))
        number = hits[..., 0].numel()
        batch = [int(hits[..., :k].sum()) for k in self.topk]
        self.total = [t + b for t, b in zip(self.total, batch, strict=True)]
        self.count = [c + number for c in self.count]
        return self._shares(batch, [number] * len(batch))

    def accumulate(self) -> Any:
        return self._shares(self.total, self.count)

    def _shares(self, hits: Sequence[float], counts: Sequence[int]) -> Any:
        shares = [h / n if n else 0.0 for h, n in zip(hits, counts, strict=True)]
        return shares[0] if len(shares) == 1 else shares

    def name(self) -> list[str]:
        return self._name
