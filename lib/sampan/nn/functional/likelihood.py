"""Losses that compare predictions with targets, entry by entry: distances and likelihoods."""

import math
from typing import Any

import torch

from ...engine.apply import wrap
from ...engine.tensor import Refused
from ...ops import criteria
from ...ops.activation import log_sigmoid, log_softmax, softmax
from ...ops.indexing import one_hot, where
from .loss import cross_entropy, reduced
from .vision import plain

# fmt: off
__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "ctc_loss", "dice_loss", "gaussian_nll_loss",
    "kl_div", "l1_loss", "log_loss", "margin_cross_entropy", "mse_loss", "poisson_nll_loss", "rnnt_loss",
    "sigmoid_focal_loss", "smooth_l1_loss", "softmax_with_cross_entropy", "square_error_cost",
]
# fmt: on


def _number(reduction: str) -> int:
    """torch's number for a reduction."""
    if reduction not in criteria.NUMBERS:
        raise Refused(f"reduction: expected one of {', '.join(criteria.NUMBERS)}, got {reduction!r}")
    return criteria.NUMBERS[reduction]


def same_shape(*tensors: Any) -> None:
    """ValueError unless the tensors have one shape."""
    shapes = [list(t.shape) for t in tensors]
    if any(s != shapes[0] for s in shapes):
        raise Refused(f"expected tensors of one shape, got {', '.join(map(str, shapes))}")


def constant(target: Any) -> Any:
    """What gets no gradient in Paddle either: most targets, and weights of classes."""
    return target if target is None or target.stop_gradient else target.detach()


def alike(x: Any, y: Any) -> Any:
    """Both tensors in the dtype that they promote to."""
    kind = torch.promote_types(x.data.dtype, y.data.dtype)
    return x.astype(kind), y.astype(kind)


def mse_loss(input, label, reduction="mean", name=None):
    """(input - label)^2, averaged, summed or as it is."""
    return criteria.squared_loss(input, label, _number(reduction))


def l1_loss(input, label, reduction="mean", name=None):
    """|input - label|, averaged, summed or as it is."""
    return criteria.absolute_loss(input, label, _number(reduction))


def square_error_cost(input, label):
    """(input - label)^2, entry by entry."""
    return criteria.squared_loss(input, label, 0)


def smooth_l1_loss(input, label, reduction="mean", delta=1.0, is_huber=True, name=None):
    """(input - label)^2 / 2 up to a distance of delta, delta (|input - label| - delta / 2) beyond (Huber,
    1964).

    is_huber False divides it by delta.
    """
    loss = criteria.huber_loss(*alike(input, label), _number(reduction), float(delta))
    return loss if is_huber else loss / delta


def binary_cross_entropy(input, label, weight=None, reduction="mean", name=None):
    """-label log(input) - (1 - label) log(1 - input), either logarithm at least -100, times weight unless
    None.

    input: probabilities of label's shape. Raises ValueError for probabilities outside [0, 1].
    """
    number, label = _number(reduction), constant(label)
    same_shape(input, label)
    if weight is None:
        return criteria.bernoulli_loss(input, label, number)
    return reduced(criteria.bernoulli_loss(input, label, 0) * weight, reduction)


def binary_cross_entropy_with_logits(logit, label, weight=None, reduction="mean", pos_weight=None, name=None):
    """binary_cross_entropy of sigmoid(logit), without overflow; pos_weight: a factor for the label's part."""
    number, label, pos_weight = _number(reduction), constant(label), constant(pos_weight)
    same_shape(logit, label)
    if weight is None and pos_weight is None:
        return criteria.logistic_loss(logit, label, number)
    if pos_weight is None:
        loss = criteria.logistic_loss(logit, label, 0)
    else:
        loss = (1 - label) * logit - (label * (pos_weight - 1.0) + 1.0) * log_sigmoid(logit)
    return reduced(loss if weight is None else loss * weight, reduction)


def sigmoid_focal_loss(logit, label, normalizer=None, alpha=0.25, gamma=2.0, reduction="sum", name=None):
    """-alpha_t (1 - p_t)^gamma log(p_t), p_t the probability given to the right answer (Lin et al., 2017),
    over normalizer [1] unless None."""
    if normalizer is not None and normalizer.ndim > 1:
        raise Refused(f"normalizer: expected a number or [1], got shape {list(normalizer.shape)}")
    p = logit.sigmoid()
    right = p * label + (1 - p) * (1 - label)
    loss = (
        criteria.logistic_loss(logit, constant(label), 0)
        * (alpha * label + (1 - alpha) * (1 - label))
        * (1 - right) ** float(gamma)
    )
    return reduced(loss if normalizer is None else loss / normalizer, reduction)


def log_loss(input, label, epsilon=0.0001, name=None):
    """-label log(input + epsilon) - (1 - label) log(1 - input + epsilon), entry by entry."""
    label = constant(label)
    return -label * (input + epsilon).log() - (1 - label) * (1 - input + epsilon).log()


def kl_div(input, label, reduction="mean", log_target=False, name=None):
    """label (log(label) - input): input holds log probabilities, label probabilities (0 counts as 0), or,
    with log_target, their logarithms. reduction: also "batchmean", the sum over the number of rows."""
    if reduction not in (*criteria.NUMBERS, "batchmean"):
        raise Refused(f"reduction: expected none, mean, sum or batchmean, got {reduction!r}")
    label = constant(label)
    if log_target:
        loss = label.exp() * (label - input)
    else:
        share = label.data.clamp(min=0)
        loss = wrap(torch.xlogy(share, share)) - wrap(share) * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss
    return reduced(loss, reduction)


def poisson_nll_loss(input, label, log_input=True, full=False, epsilon=1e-8, reduction="mean", name=None):
    """e^input - label input, or without log_input: input - label log(input + epsilon): -log of Poisson's
    distribution.

    full adds Stirling's approximation of log(label!) where label > 1.
    """
    if epsilon <= 0:
        raise Refused(f"epsilon: expected a positive number, got {epsilon}")
    same_shape(input, label)
    loss = input.exp() - label * input if log_input else input - label * (input + epsilon).log()
    if full:
        safe = label.clip(min=1.0)
        stirling = safe * safe.log() - safe + 0.5 * (2 * math.pi * safe).log()
        loss = loss + where(label > 1, stirling, label * 0.0)
    return reduced(loss, reduction)


def gaussian_nll_loss(input, label, variance, full=False, epsilon=1e-6, reduction="mean", name=None):
    """(log(v) + (input - label)^2 / v) / 2 with v = max(variance, epsilon), plus log(2 pi) / 2 when full.

    variance: of input's shape, or without its last axis, or with length 1 there. Raises ValueError for
    negative ones.
    """
    shapes = list(input.shape), list(variance.shape)
    if shapes[0] != shapes[1]:
        if shapes[1] == shapes[0][:-1]:
            variance = variance.unsqueeze(-1)
        elif shapes[1] != [*shapes[0][:-1], 1]:
            raise Refused(f"gaussian_nll_loss: variance {shapes[1]} does not fit input {shapes[0]}")
    if bool((variance.data < 0).any()):
        raise Refused("gaussian_nll_loss: expected a variance of 0 or more, got negative entries")
    variance = constant(variance).clip(min=epsilon)
    loss = 0.5 * (variance.log() + (input - label) ** 2.0 / variance)
    return reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def dice_loss(input, label, epsilon=1e-5, name=None):
    """1 - 2 |a b| / (|a| + |b|) for each row, averaged: input [n, ..., classes] probabilities, label [n, ...,
    1] ints."""
    if input.ndim < 2 or list(label.shape) != [*input.shape[:-1], 1]:
        raise Refused(f"dice_loss: label {list(label.shape)} does not fit input {list(input.shape)}")
    hot, axes = one_hot(label.squeeze(-1), input.shape[-1]), list(range(1, input.ndim))
    both = (input * hot).sum(axis=axes)
    return (1 - 2 * both / (input.sum(axis=axes) + hot.sum(axis=axes) + epsilon)).mean()


def softmax_with_cross_entropy(
    logits,
    label,
    soft_label=False,
    ignore_index=-100,
    numeric_stable_mode=True,
    return_softmax=False,
    axis=-1,
):
    """-log softmax(logits)[label] along `axis`, which keeps length 1; with return_softmax also the
    softmax."""
    at = axis % logits.ndim if logits.ndim else 0
    if not soft_label and label.ndim == logits.ndim - 1:
        label = label.unsqueeze(at)
    loss = cross_entropy(logits, label, None, ignore_index, "none", soft_label, axis)
    return (loss, softmax(logits, axis)) if return_softmax else loss


def margin_cross_entropy(
    logits,
    label,
    margin1=1.0,
    margin2=0.5,
    margin3=0.0,
    scale=64.0,
    group=None,
    return_softmax=False,
    reduction="mean",
):
    """Cross-entropy of scale cos(angle), where the right class has scale (cos(margin1 angle + margin2) -
    margin3).

    logits: [n, classes], cosines (Deng et al., 2019: ArcFace; margin1 is SphereFace's, margin3 CosFace's).
    label: [n] or [n, 1]. reduction "none" or None keeps [n, 1]. return_softmax: also the softmax.
    """
    if reduction not in (*criteria.NUMBERS, None):
        raise Refused(f"reduction: expected none, mean, sum or None, got {reduction!r}")
    hot = one_hot(label.reshape([-1]), logits.shape[-1]).astype(logits.dtype)
    angle = (logits * hot).sum(axis=-1, keepdim=True).clip(-1.0, 1.0).acos()
    moved = (angle * margin1 + margin2).cos() - margin3
    scores = (logits * (1 - hot) + hot * moved) * scale
    loss = reduced(cross_entropy(scores, label.reshape([-1, 1]), reduction="none"), reduction or "none")
    return (loss, softmax(scores, -1)) if return_softmax else loss


def _lengths(name: str, given: Any, batch: int, most: int) -> list[int]:
    values = [int(n) for n in plain(given)]
    if len(values) != batch or any(not 0 <= n <= most for n in values):
        raise Refused(f"expected {batch} {name} from 0 to {most}, got {values}")
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
):
    """Connectionist temporal classification (Graves et al., 2006): -log of the probability of the labels.

    log_probs: [time, batch, classes] scores (a softmax is taken here, as in Paddle). labels: [batch, n] ints.
    input_lengths, label_lengths: [batch]. norm_by_times: gradients are divided by the input's length.
    zero_infinity: 0 for labels that do not fit. reduction: "mean" divides each loss by its label's length
    first.
    """
    _number(reduction)
    times, batch, classes = log_probs.shape
    lengths = _lengths("input_lengths", input_lengths, batch, times)
    counts = _lengths("label_lengths", label_lengths, batch, labels.shape[-1])
    if not 0 <= blank < classes:
        raise Refused(f"blank: expected 0 to {classes - 1}, got {blank}")
    spelled = labels.data.long().clone()  # torch reads what they name without a check, in backward once more
    if spelled.ndim == 2:  # what lies behind a sequence's end may be anything
        ends = torch.tensor(counts, device=spelled.device)[:, None]
        spelled.masked_fill_(torch.arange(spelled.shape[1], device=spelled.device) >= ends, blank)
    if spelled.numel() and not 0 <= int(spelled.min()) <= int(spelled.max()) < classes:
        raise Refused(
            f"labels: expected 0 to {classes - 1}, got {int(spelled.min())} to {int(spelled.max())}"
        )
    loss = criteria.ctc(log_softmax(log_probs, -1), spelled, lengths, counts, blank)
    if norm_by_times:
        own = loss / wrap(torch.tensor(lengths, dtype=loss.data.dtype, device=loss.data.device))
        loss = own + (loss - own).detach()
    if zero_infinity:
        loss = where(loss.isinf(), wrap(torch.zeros_like(loss.data)), loss)
    if reduction == "mean":
        return (loss / wrap(torch.tensor(counts, dtype=loss.data.dtype, device=loss.data.device))).mean()
    return reduced(loss, reduction)


def rnnt_loss(
    input, label, input_lengths, label_lengths, blank=0, fastemit_lambda=0.001, reduction="mean", name=None
):
    """The transducer's loss (Graves, 2012): -log of the probability of the labels over all alignments.

    input: [batch, time, labels + 1, classes] log probabilities (Paddle's CPU kernel takes no softmax either).
    label: [batch, labels] ints; input_lengths, label_lengths: [batch]. fastemit_lambda: gradients of
    emissions are 1 + fastemit_lambda times as large (Yu et al., 2021).
    """
    _number(reduction)
    batch, times, columns, _ = input.shape
    lengths = _lengths("input_lengths", input_lengths, batch, times)
    counts = _lengths("label_lengths", label_lengths, batch, columns - 1)
    both = (torch.tensor(n, device=input.data.device) for n in (lengths, counts))
    return reduced(criteria.transducer(input, label.data, *both, blank, fastemit_lambda), reduction)
