"""Samples of ops/criteria.py, and functions that compute the same by other means."""

from typing import Any

import torch

from sampan.ops.criteria import NUMBERS

from .declare import Array, sampled

_PAIR = [((3, 4), (3, 4), 1), ((2, 3), (3,), 0)]

_UNIT = [(Array(s, 0.1, 0.9), Array(s, 0.1, 0.9), r) for s, r in (((3, 4), 1), ((3,), 0))]


def _torchs(loss: Any, *names: str) -> Any:
    """torch's function of the same meaning; names: of its settings after the reduction."""

    def twin(x: Any, y: Any, reduction: int, *more: Any) -> Any:
        settings = dict(zip(names, more, strict=True))
        return loss(*torch.broadcast_tensors(x, y), reduction=tuple(NUMBERS)[reduction], **settings)

    return twin


sampled("squared_loss", reference=_torchs(torch.nn.functional.mse_loss), samples=_PAIR)
sampled("absolute_loss", reference=_torchs(torch.nn.functional.l1_loss), samples=_PAIR)
sampled(
    "huber_loss",
    reference=_torchs(torch.nn.functional.huber_loss, "delta"),
    samples=[(*sample, 0.5) for sample in _PAIR],
)
sampled("bernoulli_loss", reference=_torchs(torch.nn.functional.binary_cross_entropy), samples=_UNIT)
sampled(
    "logistic_loss", reference=_torchs(torch.nn.functional.binary_cross_entropy_with_logits), samples=_UNIT
)
