"""Losses beside torch's, losses over all alignments, and losses written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import sampan as paddle
from tests.beside_torch import both, same

F, TF = paddle.nn.functional, torch.nn.functional


SIGNS = np.sign(np.random.default_rng(9).normal(size=(3, 4)))
BITS = (SIGNS > 0).astype("float64")


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_that_torch_has_too(reduction: str) -> None:
    r = {"reduction": reduction}
    (x, t), (y, u) = both(3, 4, high=3), both(3, 4, seed=1)
    same(F.smooth_l1_loss(x, y, delta=0.7, **r), TF.huber_loss(t, u, delta=0.7, **r), (x, t), (y, u))
    x, t = both(3, 4)
    same(
        F.smooth_l1_loss(x, y, delta=0.7, is_huber=False, **r), TF.smooth_l1_loss(t, u, beta=0.7, **r), (x, t)
    )
    (x, t), bits = both(3, 4, low=0.1, high=0.9), (paddle.to_tensor(BITS), torch.tensor(BITS))
    same(F.binary_cross_entropy(x, bits[0], **r), TF.binary_cross_entropy(t, bits[1], **r), (x, t))
    (x, t), (w, v) = both(3, 4), both(4, low=0.1)
    ours = F.binary_cross_entropy_with_logits(x, bits[0], w.detach(), pos_weight=w.detach(), **r)
    same(
        ours, TF.binary_cross_entropy_with_logits(t, bits[1], v.detach(), pos_weight=v.detach(), **r), (x, t)
    )
    share = np.random.default_rng(2).uniform(0, 1, (3, 4))
    share[0, 0] = 0.0
    reduced = {"mean": torch.mean, "sum": torch.sum, "none": lambda v: v}[
        reduction
    ]  # torch's mean warns of itself
    for logs in (False, True):
        x, t = both(3, 4, high=0.0)
        theirs = TF.kl_div(t, torch.tensor(share), reduction="none", log_target=logs)
        same(F.kl_div(x, paddle.to_tensor(share), log_target=logs, **r), reduced(theirs), (x, t))
    x, t = both(3, 4)
    counts = np.arange(12.0).reshape(3, 4) / 4
    same(F.poisson_nll_loss(x, paddle.to_tensor(counts), full=True, **r), TF.poisson_nll_loss(t, torch.tensor(counts), full=True, **r), (x, t))  # fmt: skip
    (x, t), variance = both(3, 4), np.random.default_rng(3).uniform(0.1, 1, (3, 4))
    same(F.gaussian_nll_loss(x, y, paddle.to_tensor(variance), full=True, **r), TF.gaussian_nll_loss(t, u, torch.tensor(variance), full=True, **r), (x, t))  # fmt: skip
    for name in ("hinge_embedding_loss", "soft_margin_loss"):
        x, t = both(3, 4)
        same(
            getattr(F, name)(x, paddle.to_tensor(SIGNS), **r),
            getattr(TF, name)(t, torch.tensor(SIGNS), **r),
            (x, t),
        )
    (x, t), (y, u), (z, v) = both(3, 4), both(3, 4, seed=1), both(3, 4, seed=2)
    same(F.margin_ranking_loss(x, y, paddle.to_tensor(SIGNS), 0.3, **r), TF.margin_ranking_loss(t, u, torch.tensor(SIGNS), 0.3, **r), (x, t))  # fmt: skip
    same(
        F.triplet_margin_loss(x, y, z, swap=True, **r),
        TF.triplet_margin_loss(t, u, v, swap=True, **r),
        (y, u),
        (z, v),
    )
    x, t = both(3, 4)
    label = np.array([1, -1, 1])
    same(F.cosine_embedding_loss(x, y, paddle.to_tensor(label), 0.1, **r), TF.cosine_embedding_loss(t, u, torch.tensor(label), 0.1, **r), (x, t))  # fmt: skip
    x, t = both(3, 4)
    same(
        F.multi_label_soft_margin_loss(x, bits[0], **r),
        TF.multilabel_soft_margin_loss(t, bits[1], **r),
        (x, t),
    )
    x, t = both(3, 4)
    right = np.array([[3, 0, -1, 1], [-1, 2, 1, 0], [1, 2, 3, 0]])
    same(F.multi_label_margin_loss(x, paddle.to_tensor(right), **r), TF.multilabel_margin_loss(t, torch.tensor(right), **r), (x, t))  # fmt: skip
    x, t = both(3, 4)
    hard = np.array([3, 0, 2])
    same(F.multi_margin_loss(x, paddle.to_tensor(hard), 2, 0.7, **r), TF.multi_margin_loss(t, torch.tensor(hard), 2, 0.7, **r), (x, t))  # fmt: skip


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ctc(reduction: str) -> None:
    x, t = both(7, 3, 5)
    labels, lengths, counts = np.array([[1, 2, 2], [3, 3, 0], [4, 0, 0]]), [7, 5, 6], [3, 2, 1]
    ours = F.ctc_loss(x, *(paddle.to_tensor(v) for v in (labels, lengths, counts)), reduction=reduction)
    theirs = TF.ctc_loss(t.log_softmax(2), torch.tensor(labels), lengths, counts, reduction=reduction)
    same(ours, theirs, (x, t))


def test_ctc_of_labels_that_do_not_fit() -> None:
    x, _ = both(2, 1, 4)
    given = [
        paddle.to_tensor(v) for v in ([[1, 1]], [2], [2])
    ]  # a repeated label needs a blank between: 3 steps
    assert F.ctc_loss(x, *given, reduction="none").tolist() == [float("inf")]
    value = F.ctc_loss(x, *given, zero_infinity=True)
    value.backward()
    assert float(value) == 0.0 and float(x.grad.abs().sum()) == 0.0
    for bad, words in (({"blank": 4}, "blank"), ({"reduction": "all"}, "reduction")):
        with pytest.raises(ValueError, match=words):
            F.ctc_loss(x, *given, **bad)
    with pytest.raises(ValueError, match="input_lengths from 0 to 2, got"):
        F.ctc_loss(x, given[0], paddle.to_tensor([3]), given[2])


def test_ctc_divides_gradients_by_the_time_but_not_the_value() -> None:
    (x, _), (y, _) = both(4, 1, 3), both(4, 1, 3)
    given = [paddle.to_tensor(v) for v in ([[1, 2]], [4], [2])]
    plain, shared = F.ctc_loss(x, *given), F.ctc_loss(y, *given, norm_by_times=True)
    plain.backward()
    shared.backward()
    assert float(plain) == pytest.approx(float(shared), rel=1e-12)
    np.testing.assert_allclose(y.grad.numpy(), x.grad.numpy() / 4, rtol=1e-12)


def test_ctc_refuses_what_it_cannot_read() -> None:
    x, _ = both(4, 2, 5)
    labels, lengths, counts = (paddle.to_tensor(v) for v in ([[1, 2], [3, 9]], [4, 3], [2, 1]))
    F.ctc_loss(x, labels, lengths, counts)  # 9 lies behind the end of its label
    for bad, words in (
        ((x, labels, lengths, paddle.to_tensor([2, 2])), "ctc_loss: labels: expected 0 to 4, got 9"),
        ((x, labels - 2, lengths, counts), "labels: expected 0 to 4, got -1"),
        ((x, labels, lengths, paddle.to_tensor([-1, 1])), r"label_lengths from 0 to 2, got \[-1, 1\]"),
        ((x, labels, lengths, paddle.to_tensor([3, 1])), r"label_lengths from 0 to 2, got \[3, 1\]"),
        ((x, labels, paddle.to_tensor([5, 1]), counts), r"input_lengths from 0 to 4, got \[5, 1\]"),
        ((x, labels, paddle.to_tensor([4]), counts), "expected 2 input_lengths"),
        ((x[0], labels, lengths, counts), r"\[time, batch, classes\]"),
        ((x, labels[0], lengths, counts), r"labels \[batch, n\]"),
    ):
        with pytest.raises(ValueError, match=words):
            F.ctc_loss(*bad)
    for blank in (-1, 5, 1.5, "0"):
        with pytest.raises(ValueError, match=f"blank: expected 0 to 4, got {blank!r}"):
            F.ctc_loss(x, labels, lengths, counts, blank=blank)
    with pytest.raises(TypeError, match="expected float32 or float64, got float16"):
        F.ctc_loss(x.astype("float16"), labels, lengths, counts)


def test_ctc_has_no_second_derivative_and_sees_overwritten_logits() -> None:
    x, _ = both(4, 1, 5)
    given = [paddle.to_tensor(v) for v in ([[1, 2]], [4], [2])]
    with pytest.raises(NotImplementedError, match="ctc_loss has no second derivative"):
        paddle.grad(F.ctc_loss(x, *given), x, create_graph=True)
    y = x * 1.0
    loss = F.ctc_loss(y, *given)
    y.add_(paddle.ones([1], "float64"))
    with pytest.raises(RuntimeError):
        loss.backward()


def test_ctc_under_auto_cast_is_float32() -> None:
    x, labels = paddle.randn([6, 2, 5]), paddle.to_tensor([[1, 2], [3, 3]])
    x.stop_gradient = False
    with paddle.amp.auto_cast(dtype="bfloat16"):
        loss = F.ctc_loss(x.astype("bfloat16"), labels, paddle.to_tensor([6, 5]), paddle.to_tensor([2, 2]))
    loss.backward()
    assert loss.dtype == paddle.float32 and x.grad.dtype == paddle.float32 and bool(x.grad.isfinite().all())


def alignments(lp: np.ndarray, label: list[int], blank: int) -> float:
    """-log of the sum over every order of `time` blanks and the labels, the last one a blank."""
    time, total = lp.shape[0], []
    for emits in itertools.combinations(range(time - 1 + len(label)), len(label)):
        t = u = 0
        score = 0.0
        for step in range(time - 1 + len(label)):
            if step in emits:
                score += lp[t, u, label[u]]
                u += 1
            else:
                score += lp[t, u, blank]
                t += 1
        total.append(score + lp[t, u, blank])
    return -np.logaddexp.reduce(total)


def test_the_transducer_is_the_sum_over_all_alignments() -> None:
    values = np.random.default_rng(0).normal(size=(3, 5, 4, 6))
    x = paddle.to_tensor(values, stop_gradient=False)
    labels, lengths, counts = np.array([[1, 2, 4], [3, 3, 0], [5, 1, 1]]), [5, 3, 1], [3, 1, 2]
    given = [paddle.to_tensor(v) for v in (labels, lengths, counts)]
    logs = F.log_softmax(x, -1)
    found = F.rnnt_loss(logs, *given, fastemit_lambda=0.0, reduction="none")
    expected = [
        alignments(logs.numpy()[b, : lengths[b], : counts[b] + 1], labels[b, : counts[b]].tolist(), 0)
        for b in range(3)
    ]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
    found.sum().backward()
    step, moved = 1e-5, np.random.default_rng(1).normal(size=values.shape)

    def at(sign: int) -> float:
        changed = F.log_softmax(paddle.to_tensor(values + sign * step * moved), -1)
        return float(F.rnnt_loss(changed, *given, fastemit_lambda=0.0, reduction="sum"))

    assert float((x.grad.numpy() * moved).sum()) == pytest.approx((at(1) - at(-1)) / (2 * step), rel=1e-7)


def test_fastemit_makes_the_gradients_of_labels_larger() -> None:
    values = np.random.default_rng(0).normal(size=(1, 3, 2, 4))
    given = [paddle.to_tensor(v) for v in ([[2]], [3], [1])]
    slopes = []
    for factor in (0.0, 0.5):
        x = paddle.to_tensor(values, stop_gradient=False)
        F.rnnt_loss(x, *given, fastemit_lambda=factor).backward()
        slopes.append(x.grad.numpy())
    np.testing.assert_allclose(slopes[1][..., 2], 1.5 * slopes[0][..., 2])
    np.testing.assert_allclose(slopes[1][..., 0], slopes[0][..., 0])


def test_margins_on_the_angle() -> None:
    x, t = both(3, 5)
    label = np.array([4, 0, 2])
    cos = t.clamp(-1, 1)
    right = torch.cos(1.2 * cos.acos() + 0.3) - 0.1
    hot = TF.one_hot(torch.tensor(label), 5).bool()
    theirs = TF.cross_entropy(torch.where(hot, right, cos) * 8.0, torch.tensor(label))
    same(F.margin_cross_entropy(x, paddle.to_tensor(label), 1.2, 0.3, 0.1, 8.0), theirs, (x, t))
