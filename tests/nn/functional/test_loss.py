"""Losses of labels: values and gradients against torch in every spelling, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from tests.beside_torch import both, same

F, TF = paddle.nn.functional, torch.nn.functional


LABELS = [0, 4, 2, 2]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignored", [None, 2, -100])
def test_cross_entropy_of_integer_labels(reduction: str, weighted: bool, ignored: int | None) -> None:
    x, t = both(4, 5)
    labels = [-100 if ignored == -100 and k == 2 else k for k in LABELS]
    weight = np.arange(1.0, 6.0) if weighted else None
    settings = {} if ignored is None else {"ignore_index": ignored}
    ours = F.cross_entropy(x, paddle.to_tensor(labels), None if weight is None else paddle.to_tensor(weight), reduction=reduction, **settings)  # fmt: skip
    theirs = TF.cross_entropy(t, torch.tensor(labels), None if weight is None else torch.tensor(weight), reduction=reduction, **settings)  # fmt: skip
    if ignored == -100 and reduction == "mean" and not weighted:
        theirs = theirs * (2 / 4)  # as PaddlePaddle, we count the rows of a negative ignore_index
    same(ours, theirs, (x, t))
    for other in (paddle.to_tensor(labels).unsqueeze(1), paddle.to_tensor(labels, dtype="int32")):
        again = F.cross_entropy(x, other, None if weight is None else paddle.to_tensor(weight), reduction=reduction, **settings)  # fmt: skip
        np.testing.assert_allclose(again.numpy().reshape(ours.shape), ours.numpy())
        assert again.shape == ([4, 1] if reduction == "none" and other.ndim == 2 else ours.shape)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    ("axis", "shape"), [(1, (2, 5, 4)), (-1, (2, 4, 5)), (0, (5, 2, 4)), (1, (2, 5, 3, 2))]
)
def test_cross_entropy_along_any_axis(axis: int, shape, reduction: str) -> None:
    x, t = both(*shape)
    outer = [n for i, n in enumerate(shape) if i != axis % len(shape)]
    labels, weight = np.random.default_rng(3).integers(0, 5, outer), np.arange(1.0, 6.0)
    ours = F.cross_entropy(
        x, paddle.to_tensor(labels), paddle.to_tensor(weight), axis=axis, reduction=reduction
    )
    theirs = TF.cross_entropy(
        t.movedim(axis, 1), torch.tensor(labels), torch.tensor(weight), reduction=reduction
    )
    same(ours, theirs, (x, t))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_label_smoothing_is_a_soft_label(reduction: str, weighted: bool) -> None:
    """As PaddlePaddle 3.3.1: the smoothed label weighs the row too. (torch weighs each class's term by itself.)"""
    x, _ = both(4, 5)
    weight = paddle.to_tensor(np.arange(1.0, 6.0)) if weighted else None
    hard = F.cross_entropy(x, paddle.to_tensor(LABELS), weight, reduction=reduction, label_smoothing=0.1)
    soft = np.eye(5)[LABELS] * 0.9 + 0.1 / 5
    logs = torch.log_softmax(x.data, 1).numpy()
    rows = -(soft * logs).sum(1)
    factor = soft @ np.arange(1.0, 6.0) if weighted else np.ones(4)
    expected = (rows * factor).sum() / (factor.sum() if reduction == "mean" else 1)
    assert float(hard) == pytest.approx(expected, rel=1e-12)
    again = F.cross_entropy(x, paddle.to_tensor(soft), weight, reduction=reduction, soft_label=True)
    assert float(again) == pytest.approx(expected, rel=1e-12)
    t = torch.tensor(x.numpy(), requires_grad=True)
    if not weighted:
        same(
            hard, TF.cross_entropy(t, torch.tensor(LABELS), reduction=reduction, label_smoothing=0.1), (x, t)
        )


def test_label_smoothing_leaves_ignored_rows_out() -> None:
    x, t = both(4, 5)
    ours = F.cross_entropy(x, paddle.to_tensor(LABELS), ignore_index=2, label_smoothing=0.2)
    same(ours, TF.cross_entropy(t, torch.tensor(LABELS), ignore_index=2, label_smoothing=0.2), (x, t))


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_soft_labels(reduction: str) -> None:
    (x, t), (y, u) = both(4, 5), both(4, 5, seed=1, low=0.1)
    y, u = y / y.sum(axis=1, keepdim=True), u / u.sum(1, keepdim=True)
    same(F.cross_entropy(x, y.detach(), soft_label=True, reduction=reduction), TF.cross_entropy(t, u.detach(), reduction=reduction), (x, t))  # fmt: skip
    none = F.cross_entropy(x, y.detach(), soft_label=True, reduction="none")
    assert none.shape == [4, 1]
    np.testing.assert_allclose(
        none.numpy()[:, 0], TF.cross_entropy(t, u.detach(), reduction="none").detach().numpy()
    )


def test_probabilities_instead_of_scores() -> None:
    x, t = both(4, 5, low=0.1)
    ours = F.cross_entropy(x, paddle.to_tensor(LABELS), use_softmax=False)
    same(ours, TF.nll_loss(t.log(), torch.tensor(LABELS)), (x, t))


def test_when_no_row_counts_the_loss_is_zero() -> None:
    for weight in (None, paddle.ones([5], "float64")):
        x, _ = both(3, 5)
        loss = F.cross_entropy(x, paddle.full([3], -100, "int64"), weight)
        loss.backward()
        assert float(loss) == 0.0 and float(x.grad.abs().sum()) == 0.0


def test_large_scores_do_not_overflow() -> None:
    x = paddle.to_tensor([[1e4, -1e4, 0.0]], stop_gradient=False)
    loss = F.cross_entropy(x, paddle.to_tensor([1]))
    loss.backward()
    assert float(loss) == 2e4 and x.grad.tolist() == [[1.0, -1.0, 0.0]]


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_the_other_losses(reduction: str) -> None:
    for ours, theirs in ((F.mse_loss, TF.mse_loss), (F.l1_loss, TF.l1_loss)):
        (x, t), (y, u) = both(3, 4), both(3, 4, seed=1)
        same(ours(x, y, reduction), theirs(t, u, reduction=reduction), (x, t), (y, u))
    (x, t), labels, weight = (
        both(2, 5, 4),
        np.random.default_rng(0).integers(0, 5, (2, 4)),
        np.arange(1.0, 6.0),
    )
    ours = F.nll_loss(
        x, paddle.to_tensor(labels), paddle.to_tensor(weight), ignore_index=3, reduction=reduction
    )
    theirs = TF.nll_loss(t, torch.tensor(labels), torch.tensor(weight), ignore_index=3, reduction=reduction)
    same(ours, theirs, (x, t))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 5, 1])), ValueError, "^cross_entropy: label: expected 0 to 4, got 0 to 5"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 5, 1]), reduction="sum"), ValueError, "^cross_entropy: label: expected 0 to 4, got 0 to 5"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, -1, 1])), ValueError, "label: expected 0 to 4, got -1 to"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 1])), ValueError, r"label: expected shape \[3\] for input \[3, 5\], got \[2\]"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([[0, 1, 2]])), ValueError, r"got \[1, 3\]"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0.0, 1.5, 2.0])), TypeError, "label: expected integers"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 1, 2]), weight=paddle.ones([3])), ValueError, r"weight of shape \[5\], got \[3\]"),
        (lambda x: F.cross_entropy(x, paddle.ones([3, 4]), soft_label=True), ValueError, "soft label"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 1, 2]), axis=2), ValueError, "axis 2 is outside"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 1, 2]), reduction="avg"), ValueError, "reduction: expected one of none, mean, sum, got 'avg'"),
        (lambda x: F.mse_loss(x, paddle.ones([4])), ValueError, "^mse_loss: "),
        (lambda x: F.nll_loss(x, paddle.to_tensor([0, 9, 1])), ValueError, "^nll_loss: label: expected 0 to 4, got 0 to 9"),
    ],
)  # fmt: skip
def test_losses_that_do_not_fit(call, error, words: str) -> None:
    with pytest.raises(error, match=words):
        call(paddle.zeros([3, 5]))


def test_edit_distance():
    given = paddle.to_tensor([[1, 2, 3], [4, 5, 6], [4, 4, 4], [1, 1, 1]])
    wanted = paddle.to_tensor([[1, 3, 4, 1], [4, 5, 8, 1], [7, 7, 7, 1], [1, 1, 1, 1]])
    count, distance = F.loss.edit_distance(given, wanted, normalized=False)
    assert count.tolist() == [4] and distance.tolist() == [[3], [2], [4], [1]]
    lengths = paddle.to_tensor([3, 2, 0, 1]), paddle.to_tensor([4, 1, 2, 1])
    _, distance = F.loss.edit_distance(given, wanted, True, None, *lengths)
    np.testing.assert_allclose(distance.numpy()[:, 0], [0.75, 1, 1, 0])
    assert str(distance.dtype) == "paddle.float32" and count.dtype == paddle.int64
