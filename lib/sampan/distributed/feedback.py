"""Error feedback: what was rounded off or not sent of a gradient is added to the next one.

Without it, a part that is left out in every step is lost; with it, it is only late (Seide et al., "1-bit
stochastic gradient descent", Interspeech 2014; Stich et al., "Sparsified SGD with memory", NeurIPS 2018).
"""

from collections.abc import Callable

import torch

__all__ = ["largest", "only_largest", "with_feedback"]


def with_feedback(
    gradient: torch.Tensor,
    residual: torch.Tensor,
    compress: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """What a worker sends of a gradient: `compress(gradient + residual)`.

    gradient: a vector [n], which does not change. residual: [n], what earlier calls have left out; it becomes
    what this one leaves out, in place, and 0 where that is not finite: an overflow or NaN is not sent again.
    compress: returns the values as the receivers will see them, [n], in any dtype.
    """
    wanted = gradient + residual
    sent = compress(wanted)
    left = wanted - sent
    residual.copy_(torch.where(left.isfinite(), left, torch.zeros_like(left)))
    return sent


def largest(values: torch.Tensor, count: int) -> torch.Tensor:
    """The places [count] of the largest magnitudes of a vector [n]. NaN is larger than any number."""
    return values.abs().topk(count).indices


def only_largest(values: torch.Tensor, count: int) -> torch.Tensor:
    """A copy of a vector [n] with zeros in all places but those of its `count` largest magnitudes."""
    places = largest(values, count)
    return torch.zeros_like(values).index_copy_(0, places, values[places])
