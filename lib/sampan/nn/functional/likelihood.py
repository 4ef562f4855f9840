"""Losses that compare predictions with targets, entry by entry: distances and likelihoods."""

import math
from typing import Any

import torch

from ...engine.apply import wrap
from ...engine.operator import operator
from ...engine.tensor import InvalidArgument, Tensor
from ...kernels import speech_ctc
from ...ops import criteria
from ...ops.activation import log_sigmoid, softmax
from ...ops.indexing import where
from .loss import cross_entropy, number_of, reduced
from .vision import plain

# fmt: off
__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "ctc_loss", "gaussian_nll_loss", "kl_div",
    "l1_loss", "mse_loss", "poisson_nll_loss", "smooth_l1_loss", "softmax_with_cross_entropy",
    "square_error_cost",
]
# fmt: on


def same_shape(*tensors: Any) -> None:
    """ValueError unless the tensors have one shape."""
    shapes = [list(t.shape) for t in tensors]
    if any(s != shapes[0] for s in shapes):
        raise InvalidArgument(f"expected tensors of one shape, got {', '.join(map(str, shapes))}")


def constant(target: Any) -> Any:
    """What gets no gradient in Paddle either: most targets, and weights of classes."""
    return target if target is None or target.stop_gradient else target.detach()


def alike(x: Any, y: Any) -> Any:
    """Both tensors in the dtype that they promote to."""
    kind = torch.promote_types(x.data.dtype, y.data.dtype)
    return x.astype(kind), y.astype(kind)


def mse_loss(input, label, reduction="mean", name=None) -> Tensor:
    """(input - label)^2, averaged, summed or as it is."""
    return criteria.squared_loss(input, label, number_of(reduction))


def l1_loss(input, label, reduction="mean", name=None) -> Tensor:
    """|input - label|, averaged, summed or as it is."""
    return criteria.absolute_loss(input, label, number_of(reduction))


def square_error_cost(input, label) -> Tensor:
    """(input - label)^2, entry by entry."""
    return criteria.squared_loss(input, label, 0)


def smooth_l1_loss(input, label, reduction="mean", delta=1.0, is_huber=True, name=None) -> Tensor:
    """(input - label)^2 / 2 up to a distance of delta, delta (|input - label| - delta / 2) beyond (Huber,
    1964).

    is_huber False divides it by delta.
    """
    loss = criteria.huber_loss(*alike(input, label), number_of(reduction), float(delta))
    return loss if is_huber else loss / delta


def binary_cross_entropy(input, label, weight=None, reduction="mean", name=None) -> Tensor:
    """-label log(input) - (1 - label) log(1 - input), either logarithm at least -100, times weight unless
    None.

    input: probabilities of label's shape. Raises ValueError for probabilities outside [0, 1].
    """
    number, label = number_of(reduction), constant(label)
    same_shape(input, label)
    if weight is None:
        return criteria.bernoulli_loss(input, label, number)
    return reduced(criteria.bernoulli_loss(input, label, 0) * weight, reduction)


def binary_cross_entropy_with_logits(
    logit, label, weight=None, reduction="mean", pos_weight=None, name=None
) -> Tensor:
    """binary_cross_entropy of sigmoid(logit), without overflow; pos_weight: a factor for the label's part."""
    number, label, pos_weight = number_of(reduction), constant(label), constant(pos_weight)
    same_shape(logit, label)
    if weight is None and pos_weight is None:
        return criteria.logistic_loss(logit, label, number)
    if pos_weight is None:
        loss = criteria.logistic_loss(logit, label, 0)
    else:
        loss = (1 - label) * logit - (label * (pos_weight - 1.0) + 1.0) * log_sigmoid(logit)
    return reduced(loss if weight is None else loss * weight, reduction)


@operator(returns=tuple[Tensor, ...])
def entropies(p):
    """p and p log(p); a negative p counts as 0."""
    share = p.clamp(min=0)
    return share, torch.xlogy(share, share)


def kl_div(input, label, reduction="mean", log_target=False, name=None) -> Tensor:
    """label (log(label) - input): input holds log probabilities, label probabilities (0 counts as 0), or,
    with log_target, their logarithms. reduction: also "batchmean", the sum over the number of rows."""
    if reduction not in (*criteria.NUMBERS, "batchmean"):
        raise InvalidArgument(f"reduction: expected none, mean, sum or batchmean, got {reduction!r}")
    label = constant(label)
    if log_target:
        loss = label.exp() * (label - input)
    else:
        share, entropy = entropies(label)
        loss = entropy - share * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss
    return reduced(loss, reduction)


def poisson_nll_loss(
    input, label, log_input=True, full=False, epsilon=1e-8, reduction="mean", name=None
) -> Tensor:
    """e^input - label input, or without log_input: input - label log(input + epsilon): -log of Poisson's
    distribution.

    full adds Stirling's approximation of log(label!) where label > 1.
    """
    if epsilon <= 0:
        raise InvalidArgument(f"epsilon: expected a positive number, got {epsilon}")
    same_shape(input, label)
    loss = input.exp() - label * input if log_input else input - label * (input + epsilon).log()
    if full:
        safe = label.clip(min=1.0)
        stirling = safe * safe.log() - safe + 0.5 * (2 * math.pi * safe).log()
        loss = loss + where(label > 1, stirling, label * 0.0)
    return reduced(loss, reduction)


def gaussian_nll_loss(
    input, label, variance, full=False, epsilon=1e-6, reduction="mean", name=None
) -> Tensor:
    """(log(v) + (input - label)^2 / v) / 2 with v = max(variance, epsilon), plus log(2 pi) / 2 when full.

    variance: of input's shape, or without its last axis, or with length 1 there. Raises ValueError for
    negative ones.
    """
    shapes = list(input.shape), list(variance.shape)
    if shapes[0] != shapes[1]:
        if shapes[1] == shapes[0][:-1]:
            variance = variance.unsqueeze(-1)
        elif shapes[1] != [*shapes[0][:-1], 1]:
            raise InvalidArgument(f"gaussian_nll_loss: variance {shapes[1]} does not fit input {shapes[0]}")
    if bool((variance.data < 0).any()):
        raise InvalidArgument("gaussian_nll_loss: expected a variance of 0 or more, got negative entries")
    variance = constant(variance).clip(min=epsilon)
    loss = 0.5 * (variance.log() + (input - label) ** 2.0 / variance)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def softmax_with_cross_entropy(
    logits,
    label,
    soft_label=False,
    ignore_index=-100,
    numeric_stable_mode=True,
    return_softmax=False,
    axis=-1,
) -> Any:
    """-log softmax(logits)[label] along `axis`, which keeps length 1; with return_softmax also the
    softmax."""
    at = axis % logits.ndim if logits.ndim else 0
    if not soft_label and label.ndim == logits.ndim - 1:
        label = label.unsqueeze(at)
    loss = cross_entropy(logits, label, None, ignore_index, "none", soft_label, axis)
    return (loss, softmax(logits, axis)) if return_softmax else loss


def lengths_of(name: str, given: Any, batch: int, most: int) -> list[int]:
    values = [int(n) for n in plain(given)]
    if len(values) != batch or any(not 0 <= n <= most for n in values):
        raise InvalidArgument(f"expected {batch} {name} from 0 to {most}, got {values}")
    return values


def ctc_loss(
    log_probs,
    labels,
    input_lengths,
    label_lengths,
    blank=0,
    reduction="mean",
    norm_by_times=False,
    zero_infinity=False,
) -> Tensor:
    """Connectionist temporal classification (Graves et al., 2006): -log of the probability of the labels.

    log_probs: [time, batch, classes] scores (a softmax is taken here, as in Paddle). labels: [batch, n] ints.
    input_lengths, label_lengths: [batch]. norm_by_times: gradients are divided by the input's length.
    zero_infinity: 0 for labels that do not fit. reduction: "mean" divides each loss by its label's length
    first.
    """
    number_of(reduction)
    if log_probs.ndim != 3 or labels.ndim != 2:
        raise InvalidArgument(
            "expected log_probs [time, batch, classes] and labels [batch, n], "
            f"got {[*log_probs.shape]} and {[*labels.shape]}"
        )
    times, batch, classes = log_probs.shape
    lengths = lengths_of("input_lengths", input_lengths, batch, times)
    counts = lengths_of("label_lengths", label_lengths, batch, labels.shape[-1])
    if not isinstance(blank, int) or not 0 <= blank < classes:
        raise InvalidArgument(f"blank: expected 0 to {classes - 1}, got {blank!r}")
    owned, wrong = speech_ctc.owned_labels(labels.data, counts, classes)
    if wrong is not None:
        raise InvalidArgument(f"labels: expected 0 to {classes - 1}, got {wrong}")
    loss = criteria.ctc(log_probs, owned, lengths, counts, blank, norm_by_times)
    if zero_infinity:
        loss = where(loss.isinf(), wrap(torch.zeros_like(loss.data)), loss)
    if reduction == "mean":
        return (loss / wrap(torch.tensor(counts, dtype=loss.data.dtype, device=loss.data.device))).mean()
    return reduced(loss, reduction)
