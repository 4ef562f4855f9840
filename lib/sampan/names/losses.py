"""Losses with margins and of distances between examples; hierarchical, adaptive and sampled softmax."""

import math
from typing import Any

import torch

from ..engine.apply import wrap
from ..engine.spelling import spell
from ..engine.tensor import InvalidArgument, Tensor
from ..nn.functional.common import pairwise_distance
from ..nn.functional.likelihood import constant, same_shape
from ..nn.functional.loss import cross_entropy, reduced
from ..ops import criteria
from ..ops.activation import log_sigmoid, log_softmax, softmax, softplus
from ..ops.embedding import rows_at
from ..ops.gathering import take_along_axis
from ..ops.indexing import one_hot, where
from ..ops.joining import concat
from ..ops.linalg import linear

# fmt: off
__all__ = [
    "adaptive_log_softmax_with_loss", "class_center_sample", "cosine_embedding_loss", "dice_loss",
    "hinge_embedding_loss", "hsigmoid_loss", "log_loss", "margin_cross_entropy", "margin_ranking_loss",
    "multi_label_margin_loss", "multi_label_soft_margin_loss", "multi_margin_loss", "npair_loss",
    "sigmoid_focal_loss", "soft_margin_loss", "triplet_margin_loss", "triplet_margin_with_distance_loss",
]
# fmt: on


def margin_ranking_loss(input, other, label, margin=0.0, reduction="mean", name=None):
    """max(0, -label (input - other) + margin): with label 1 `input` should be the larger, with -1 `other`."""
    return reduced(((other - input) * label + margin).clip(min=0.0), reduction)


def hinge_embedding_loss(input, label, margin=1.0, reduction="mean", name=None):
    """input where label is 1, max(0, margin - input) where it is -1."""
    apart = (margin - input).clip(min=0.0)
    return reduced(where(label == 1, input, input * 0.0) + where(label == -1, apart, input * 0.0), reduction)


def cosine_embedding_loss(input1, input2, label, margin=0, reduction="mean", name=None):
    """1 - cos where label is 1, max(0, cos - margin) where it is -1; inputs [n, d] or [d], label [n] or
    [1]."""
    same_shape(input1, input2)
    if label.ndim != 1 or input1.ndim > 2 or not input1.dtype.is_floating_point:
        raise InvalidArgument(
            f"cosine_embedding_loss: label {[*label.shape]} does not fit floats {[*input1.shape]}"
        )
    lengths = [(x * x).sum(axis=-1) + 1e-11 for x in (input1, input2)]
    cos = (input1 * input2).sum(axis=-1) / (lengths[0] * lengths[1]).sqrt()
    apart = (cos - margin).clip(min=0.0)
    return reduced(where(label == 1, 1 - cos, cos * 0.0) + where(label == -1, apart, cos * 0.0), reduction)


def soft_margin_loss(input, label, reduction="mean", name=None):
    """log(1 + e^(-label input)), labels 1 and -1."""
    same_shape(input, label)
    return reduced(softplus(-label.astype(input.dtype) * input), reduction)


def multi_label_soft_margin_loss(input, label, weight=None, reduction="mean", name=None):
    """The mean over the classes of -label log(p) - (1 - label) log(1 - p), p = sigmoid(input), times
    weight."""
    same_shape(input, label)
    loss = -(label * log_sigmoid(input) + (1 - label) * log_sigmoid(-input))
    return reduced((loss if weight is None else loss * weight).mean(axis=-1), reduction)


def multi_margin_loss(input, label, p=1, margin=1.0, weight=None, reduction="mean", name=None):
    """The sum over the other classes, divided by the number of all classes, of max(0, margin - input[label] +
    input)^p."""
    classes = input.shape[1]
    if label.shape[0] != input.shape[0] or (weight is not None and list(weight.shape) != [classes]):
        raise InvalidArgument(
            f"multi_margin_loss: label {list(label.shape)} or weight does not fit input {list(input.shape)}"
        )
    label = label.reshape([-1, 1])
    loss = (margin - take_along_axis(input, label, 1) + input).clip(min=0.0) ** float(p)
    loss = loss.mean(axis=1) - margin**p / classes  # the true class has no margin
    if weight is not None:
        loss = loss * weight.index_select(label.reshape([-1]))
    return reduced(loss, reduction)


def multi_label_margin_loss(input, label, reduction="mean", name=None):
    """The sum over target classes i and other classes j of max(0, 1 - input[i] + input[j]), over the number
    of classes.

    input: [n, classes]; label: [n, classes], the target classes, then -1.
    """
    if input.ndim != 2 or label.ndim != 2:
        raise InvalidArgument(
            f"multi_label_margin_loss: expected two axes each, got {list(input.shape)} and "
            f"{list(label.shape)}"
        )
    rows, classes = input.shape
    given = label.data.long()
    if given.numel() and not -1 <= int(given.min()) <= int(given.max()) < classes:
        raise InvalidArgument(f"multi_label_margin_loss: expected labels from -1 to {classes - 1}")
    counted = (given >= 0).cumprod(1).bool()  # up to the first -1
    places = given.masked_fill(~counted, classes)
    right = torch.zeros(rows, classes + 1, dtype=torch.bool, device=given.device).scatter_(1, places, True)
    picked = take_along_axis(input, wrap(given.clamp(min=0)), 1)
    apart = (1 - picked.unsqueeze(2) + input.unsqueeze(1)).clip(min=0.0)
    pairs = (counted.unsqueeze(2) & ~right[:, None, :classes]).to(input.data.dtype)
    return reduced((apart * wrap(pairs)).sum(axis=[1, 2]) / classes, reduction)


def triplet_margin_with_distance_loss(
    input, positive, negative, distance_function=None, margin=1.0, swap=False, reduction="mean", name=None
):
    """max(0, d(input, positive) - d(input, negative) + margin), d the distance_function (by default
    Euclidean).

    swap: the negative's distance from `positive` is taken where it is smaller (Balntas et al., 2016).
    Raises ValueError for a negative margin or negative distances.
    """
    if margin < 0:
        raise InvalidArgument(f"margin: expected 0 or more, got {margin}")
    same_shape(input, positive, negative)
    distance = distance_function or pairwise_distance
    near, far = distance(input, positive), distance(input, negative)
    if swap:
        far = far.minimum(distance(positive, negative))
    if bool((near.data < 0).any()) or bool((far.data < 0).any()):
        raise InvalidArgument("distance_function: expected distances of 0 or more, got negative ones")
    return reduced((near - far + margin).clip(min=0.0), reduction)


def triplet_margin_loss(
    input, positive, negative, margin=1.0, p=2, epsilon=1e-6, swap=False, reduction="mean", name=None
):
    """triplet_margin_with_distance_loss by pairwise_distance in the p-norm."""
    return triplet_margin_with_distance_loss(
        input, positive, negative, lambda x, y: pairwise_distance(x, y, p, epsilon), margin, swap, reduction
    )


def npair_loss(anchor, positive, labels, l2_reg=0.002):
    """Cross-entropy of anchor positive^T against equal labels, and l2_reg / 4 of their squares
    (Sohn, 2016).

    anchor, positive: [n, d]; labels: [n].
    """
    if not anchor.size or not positive.size:
        raise InvalidArgument("npair_loss: expected anchor and positive that are not empty")
    labels = labels.reshape([-1, 1])
    alike = (labels == labels.swapaxes(0, 1)).astype("float32")
    target = alike / alike.sum(axis=1, keepdim=True)
    squares = (anchor * anchor).sum(axis=1).mean() + (positive * positive).sum(axis=1).mean()
    loss = -(target * log_softmax(anchor @ positive.swapaxes(0, 1), 1)).sum(axis=1, keepdim=True)
    return squares * (0.25 * l2_reg) + (target * loss).sum(axis=0).mean()


def hsigmoid_loss(
    input, label, num_classes, weight, bias=None, path_table=None, path_code=None, is_sparse=False, name=None
):
    """-log of the product of the decisions' probabilities on the path from the root to the class: [n, 1]
    (Morin and Bengio, 2005).

    input: [n, d]; label: [n] or [n, 1]; weight: [num_classes - 1, d], a row for each inner node; bias: [..,
    1] or None.
    path_table, path_code: [n, longest path], the nodes on the path (then -1) and the decisions there; without
    them the tree is a complete binary tree. is_sparse: accepted, the gradient is dense.
    """
    if num_classes < 2:
        raise InvalidArgument(f"num_classes: expected 2 or more, got {num_classes}")
    if path_table is None:
        leaf = label.data.long().reshape(-1, 1) + num_classes
        bits = torch.arange(int(math.log2(2 * num_classes - 1)) if num_classes > 1 else 1, device=leaf.device)
        nodes, codes = (leaf >> (bits + 1)) - 1, (leaf >> bits) & 1
    else:
        nodes, codes = path_table.data.long(), path_code.data.long()
    counted, nodes = (nodes >= 0).to(input.data.dtype), wrap(nodes.clamp(min=0))
    if nodes.size and int(nodes.data.max()) >= len(weight):
        raise InvalidArgument(
            f"hsigmoid_loss: label or path_table contain node {int(nodes.data.max())}, weight has "
            f"{len(weight)} rows"
        )
    scores = (rows_at(nodes, weight) @ input.unsqueeze(2)).squeeze(2)
    if bias is not None:
        scores = scores + rows_at(nodes, bias.reshape([-1, 1])).squeeze(2)
    scores = scores.clip(-40.0, 40.0) * wrap(counted)  # padding counts log 2, as in Paddle
    return (softplus(scores, 1, 50) - wrap(codes.to(input.data.dtype)) * scores).sum(axis=1, keepdim=True)


def adaptive_log_softmax_with_loss(
    input, label, head_weight, tail_weights, cutoffs, head_bias=None, name=None
):
    """(log probability of each label [n], minus their mean): frequent classes first, the others in clusters
    with smaller projections (Grave et al., 2017).

    input: [n, d], label: [n] (or [d] and a single label). head_weight: [d, cutoffs[0] + clusters];
    tail_weights: [d, h] and [h, size] for each cluster; cutoffs: where clusters end, the number of classes
    last.
    """
    if label.ndim > 1 or input.ndim != label.ndim + 1 or (label.ndim and input.shape[0] != label.shape[0]):
        raise InvalidArgument(
            f"adaptive_log_softmax_with_loss: label {list(label.shape)} does not fit input "
            f"{list(input.shape)}"
        )
    single = label.ndim == 0
    if single:
        input, label = input.unsqueeze(0), label.unsqueeze(0)
    wanted = label.data.long()
    if wanted.numel() and not 0 <= int(wanted.min()) <= int(wanted.max()) < cutoffs[-1]:
        raise InvalidArgument(f"label: expected 0 to {cutoffs[-1] - 1}, got {wanted.min()} to {wanted.max()}")
    ends = torch.tensor([int(c) for c in cutoffs], device=wanted.device)
    cluster = torch.bucketize(wanted, ends, right=True)
    place = torch.where(cluster > 0, ends[0] + cluster - 1, wanted)
    value = _log_at(linear(input, head_weight, head_bias), place)
    order, parts = [], []
    for i, (first, second) in enumerate(tail_weights, 1):
        rows = (cluster == i).nonzero().flatten()
        if len(rows):
            scores = linear(linear(input.index_select(wrap(rows)), first), second)
            parts.append(_log_at(scores, wanted[rows] - ends[i - 1]))
            order.append(rows)
    if parts:
        rest = (cluster == 0).nonzero().flatten()
        back = torch.cat([*order, rest]).argsort()
        value = value + concat([*parts, value.index_select(wrap(rest)) * 0.0]).index_select(wrap(back))
    return (value.squeeze(0) if single else value), -value.mean()


def _log_at(scores: Any, places: torch.Tensor) -> Any:
    """log softmax(scores)[place] of each row."""
    return take_along_axis(log_softmax(scores, 1), wrap(places.unsqueeze(1)), 1).squeeze(1)


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
) -> Any:
    """Cross-entropy of scale cos(angle), where the target class has scale (cos(margin1 angle + margin2) -
    margin3).

    logits: [n, classes], cosines (Deng et al., 2019: ArcFace; margin1 is SphereFace's, margin3 CosFace's).
    label: [n] or [n, 1]. reduction "none" or None keeps [n, 1]. return_softmax: also the softmax.
    """
    if reduction not in (*criteria.NUMBERS, None):
        raise InvalidArgument(f"reduction: expected none, mean, sum or None, got {reduction!r}")
    hot = one_hot(label.reshape([-1]), logits.shape[-1]).astype(logits.dtype)
    angle = (logits * hot).sum(axis=-1, keepdim=True).clip(-1.0, 1.0).acos()
    moved = (angle * margin1 + margin2).cos() - margin3
    scores = (logits * (1 - hot) + hot * moved) * scale
    loss = reduced(cross_entropy(scores, label.reshape([-1, 1]), reduction="none"), reduction or "none")
    return (loss, softmax(scores, -1)) if return_softmax else loss


def class_center_sample(label, num_classes, num_samples, group=None) -> tuple[Tensor, Tensor]:
    """Sample classes: all that are in `label`, and random others up to num_samples (An et al., 2021).

    Returns (label as indices into the sorted list, the sorted list). Raises ValueError for more samples than
    classes.
    """
    if num_samples > num_classes or label.ndim != 1 or not label.size:
        raise InvalidArgument(
            f"class_center_sample: {num_samples} of {num_classes} classes, label {[*label.shape]}"
        )
    positive = label.data.unique()
    others = torch.ones(num_classes, dtype=torch.bool, device=positive.device)
    others[positive.long()] = False
    others = others.nonzero().flatten().to(positive.dtype)
    drawn = others[torch.randperm(len(others))[: max(num_samples - len(positive), 0)]]
    chosen = torch.cat([positive, drawn]).sort().values
    return wrap(torch.searchsorted(chosen, label.data).to(label.data.dtype)), wrap(chosen)


def log_loss(input, label, epsilon=0.0001, name=None) -> Tensor:
    """-label log(input + epsilon) - (1 - label) log(1 - input + epsilon), entry by entry."""
    label = constant(label)
    return -label * (input + epsilon).log() - (1 - label) * (1 - input + epsilon).log()


def dice_loss(input, label, epsilon=1e-5, name=None) -> Tensor:
    """1 - 2 |a b| / (|a| + |b|) for each row, averaged: input [n, ..., classes] probabilities, label [n, ...,
    1] ints."""
    if input.ndim < 2 or list(label.shape) != [*input.shape[:-1], 1]:
        raise InvalidArgument(f"dice_loss: label {list(label.shape)} does not fit input {list(input.shape)}")
    hot, axes = one_hot(label.squeeze(-1), input.shape[-1]), list(range(1, input.ndim))
    both = (input * hot).sum(axis=axes)
    return (1 - 2 * both / (input.sum(axis=axes) + hot.sum(axis=axes) + epsilon)).mean()


def sigmoid_focal_loss(
    logit, label, normalizer=None, alpha=0.25, gamma=2.0, reduction="sum", name=None
) -> Tensor:
    """-alpha_t (1 - p_t)^gamma log(p_t), p_t the probability of the label (Lin et al., 2017),
    over normalizer [1] unless None."""
    if normalizer is not None and normalizer.ndim > 1:
        raise InvalidArgument(f"normalizer: expected a number or [1], got shape {list(normalizer.shape)}")
    p = logit.sigmoid()
    right = p * label + (1 - p) * (1 - label)
    loss = (
        criteria.logistic_loss(logit, constant(label), 0)
        * (alpha * label + (1 - alpha) * (1 - label))
        * (1 - right) ** float(gamma)
    )
    return reduced(loss if normalizer is None else loss / normalizer, reduction)


spell(globals(), __name__)
