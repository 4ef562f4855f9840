"""Convolution, pooling, normalisation, dropout and losses: values and gradients against torch in every spelling."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.tensor import Tensor

F, TF = paddle.nn.functional, torch.nn.functional


def both(*shape: int, seed: int = 0, low: float = -1.0) -> tuple[Tensor, torch.Tensor]:
    values = np.random.default_rng(seed).uniform(low, 1.0, shape)
    return paddle.to_tensor(values, stop_gradient=False), torch.tensor(values, requires_grad=True)


def same(ours: Tensor, theirs: torch.Tensor, *pairs, tolerance: float = 1e-10) -> None:
    """Equal values, and equal gradients of a weighted sum."""
    assert ours.shape == list(theirs.shape)
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=tolerance, atol=tolerance)
    weights = np.random.default_rng(5).uniform(0.5, 1.5, ours.shape)
    (ours * paddle.to_tensor(weights)).sum().backward()
    (theirs * torch.tensor(weights)).sum().backward()
    for x, t in pairs:
        np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=tolerance, atol=tolerance)


def same_pads(size, kernel, stride) -> list[int]:
    """(left, right, top, bottom) of "SAME", from its definition: the output is ceil(size / stride) long."""
    pads: list[int] = []
    for n, k, s in reversed(list(zip(size, kernel, stride, strict=True))):
        total = max((ceil(n / s) - 1) * s + k - n, 0)
        pads += [total // 2, total - total // 2]
    return pads


# --- convolution ----------------------------------------------------------------------------------------------

SPELLINGS = [  # Paddle's, and (left, right, top, bottom)
    (0, (0, 0, 0, 0)), (1, (1, 1, 1, 1)), ([1, 2], (2, 2, 1, 1)), ((2, 1), (1, 1, 2, 2)), ([1, 2, 0, 1], (0, 1, 1, 2)),
    ([[0, 0], [0, 0], [1, 2], [0, 1]], (0, 1, 1, 2)), ("VALID", (0, 0, 0, 0)), ("SAME", None), ("same", None),
]  # fmt: skip


@pytest.mark.parametrize("stride", [1, 2, [2, 3]])
@pytest.mark.parametrize(("padding", "pads"), SPELLINGS, ids=str)
def test_convolution_in_every_spelling_of_padding(padding, pads, stride) -> None:
    (x, t), (w, v), (b, c) = both(2, 4, 7, 6), both(6, 4, 3, 2, seed=1), both(6, seed=2)
    step = (stride, stride) if isinstance(stride, int) else tuple(stride)
    pads = same_pads((7, 6), (3, 2), step) if pads is None else pads
    ours = F.conv2d(x, w, b, stride=stride, padding=padding)
    same(ours, TF.conv2d(TF.pad(t, tuple(pads)), v, c, stride=step), (x, t), (w, v), (b, c))


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("dilation", [1, 2, (2, 1)])
def test_convolution_with_groups_and_dilation(groups: int, dilation) -> None:
    (x, t), (w, v) = both(2, 4, 7, 6), both(4, 4 // groups, 3, 2, seed=1)
    same(
        F.conv2d(x, w, stride=(1, 2), padding=1, dilation=dilation, groups=groups),
        TF.conv2d(t, v, stride=(1, 2), padding=1, dilation=dilation, groups=groups), (x, t), (w, v),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("padding", "pads"),
    [(1, (1, 1, 1, 1)), ([1, 2, 0, 1], (0, 1, 1, 2)), ([[0, 0], [1, 2], [0, 1], [0, 0]], (0, 1, 1, 2))],
    ids=str,
)
def test_channels_last(padding, pads) -> None:  # the pairs stand in the order of the format
    (x, t), (w, v), (b, c) = both(2, 7, 6, 4), both(3, 4, 3, 2, seed=1), both(3, seed=2)
    padded = TF.pad(t.permute(0, 3, 1, 2), pads)
    theirs = TF.conv2d(padded, v, c).permute(0, 2, 3, 1)
    same(F.conv2d(x, w, b, padding=padding, data_format="NHWC"), theirs, (x, t), (w, v), (b, c))
    (x, t) = both(2, 7, 6, 4)
    theirs = TF.max_pool2d(TF.pad(t.permute(0, 3, 1, 2), pads, value=-np.inf), 3, 2).permute(0, 2, 3, 1)
    same(F.max_pool2d(x, 3, 2, padding=padding, data_format="NHWC"), theirs, (x, t))


def test_same_padding_sets_dilation_to_one() -> None:  # as PaddlePaddle 3.3.1
    (x, _), (w, _) = both(1, 2, 6, 6), both(2, 2, 3, 3, seed=1)
    found = F.conv2d(x, w, padding="SAME", dilation=2)
    np.testing.assert_array_equal(found.numpy(), F.conv2d(x, w, padding="SAME").numpy())


def test_convolution_of_an_empty_batch() -> None:
    w = paddle.ones([3, 2, 3, 3])
    w.stop_gradient = False
    found = F.conv2d(paddle.zeros([0, 2, 5, 5]), w)
    assert found.shape == [0, 3, 3, 3]
    found.sum().backward()
    assert float(w.grad.abs().sum()) == 0.0


# --- pooling --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(("kernel", "stride"), [(3, 2), (2, None), ((3, 2), (2, 1)), (3, 3)])
@pytest.mark.parametrize("padding", [0, 1, [1, 0]])
def test_pooling_as_torch_has_it(padding, kernel, stride, ceil_mode: bool) -> None:
    if ceil_mode and kernel == 2 and padding:
        return  # torch drops the windows that begin behind x, Paddle keeps them: tests/parity has its answers
    x, t = both(2, 3, 7, 6)
    pads = padding if isinstance(padding, int) else tuple(padding)
    value, mask = F.max_pool2d(x, kernel, stride, padding, return_mask=True, ceil_mode=ceil_mode)
    theirs, places = TF.max_pool2d(t, kernel, stride, pads, ceil_mode=ceil_mode, return_indices=True)
    assert mask.dtype == paddle.int32 and mask.tolist() == places.tolist()
    same(value, theirs, (x, t))
    for exclusive in (True, False):
        x, t = both(2, 3, 7, 6)
        ours = F.avg_pool2d(x, kernel, stride, padding, ceil_mode=ceil_mode, exclusive=exclusive)
        same(ours, TF.avg_pool2d(t, kernel, stride, pads, ceil_mode, not exclusive), (x, t))
    x, t = both(2, 3, 7, 6)
    ours = F.avg_pool2d(x, kernel, stride, padding, ceil_mode=ceil_mode, divisor_override=5)
    size = kernel * kernel if isinstance(kernel, int) else kernel[0] * kernel[1]
    same(
        ours, TF.avg_pool2d(t, kernel, stride, pads, ceil_mode, False) * size / 5, (x, t)
    )  # as Paddle has it


@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize(
    ("padding", "pads"),
    [([1, 0, 0, 1], (0, 1, 1, 0)), ([0, 1, 1, 0], (1, 0, 0, 1)), (2, (2, 2, 2, 2)), ([[0, 0], [0, 0], [1, 0], [0, 1]], (0, 1, 1, 0)), ("SAME", None)],
    ids=str,
)  # fmt: skip
def test_pooling_with_uneven_padding(padding, pads, ceil_mode: bool) -> None:
    """A window counts what lies inside the image; one behind it holds the least float32, and no mean."""
    values = np.random.default_rng(0).uniform(-1, 1, (1, 2, 7, 6))
    pads = same_pads((7, 6), (3, 3), (2, 2)) if pads is None else pads
    left, right, top, bottom = pads
    rows, columns = [], []
    for starts, n, before, after in ((rows, 7, top, bottom), (columns, 6, left, right)):
        last = n + before + after - 3
        starts += range(-before, last - before + 1, 2)
        if ceil_mode and last % 2:
            starts.append(starts[-1] + 2)
    largest, mean, winners = (np.zeros((1, 2, len(rows), len(columns))) for _ in range(3))
    for c in range(2):
        for i, r in enumerate(rows):
            for j, s in enumerate(columns):
                window = values[0, c, max(r, 0) : r + 3, max(s, 0) : s + 3]
                if not window.size:
                    largest[0, c, i, j], mean[0, c, i, j] = np.finfo(np.float32).min, np.nan
                    winners[0, c, i, j] = -1
                    continue
                largest[0, c, i, j], mean[0, c, i, j] = window.max(), window.mean()
                winners[0, c, i, j] = np.flatnonzero(values[0, c] == window.max())[0]
    x = paddle.to_tensor(values)
    found = F.max_pool2d(x, 3, 2, padding, ceil_mode=ceil_mode)
    np.testing.assert_array_equal(found.numpy(), largest)
    if padding != "SAME":  # which a mask takes for no padding, as in Paddle
        found, mask = F.max_pool2d(x, 3, 2, padding, return_mask=True, ceil_mode=ceil_mode)
        np.testing.assert_array_equal(found.numpy(), largest)
        np.testing.assert_array_equal(mask.numpy(), winners)
    np.testing.assert_allclose(F.avg_pool2d(x, 3, 2, padding, ceil_mode=ceil_mode).numpy(), mean, rtol=1e-12)


def test_adaptive_pooling() -> None:
    for size in (1, (3, 2), (None, 4), 7):
        x, t = both(2, 3, 7, 5)
        theirs = TF.adaptive_avg_pool2d(t, size)
        same(F.adaptive_avg_pool2d(x, size), theirs, (x, t))
    x = paddle.ones([1, 4, 4, 3])
    assert F.adaptive_avg_pool2d(x, 2, data_format="NHWC").shape == [1, 2, 2, 3]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x, w: F.conv2d(x, w, padding="HALF"), "padding: expected 'SAME' or 'VALID', got 'HALF'"),
        (lambda x, w: F.conv2d(x, w, padding=[1, 2, 3]), r"padding: expected an int, 2 or 4"),
        (lambda x, w: F.conv2d(x, w, padding=1.5), "padding: expected an int"),
        (lambda x, w: F.conv2d(x, w, padding=[[0, 0], [1, 1], [0, 0], [0, 0]]), "padding: batch and channels cannot"),
        (lambda x, w: F.conv2d(x, w, padding=-1), "padding: expected 0 or more"),
        (lambda x, w: F.conv2d(x, w, stride=0), "stride"),
        (lambda x, w: F.conv2d(x, w, stride=[1, 2, 3]), "stride: expected an int or 2"),
        (lambda x, w: F.conv2d(x, w, groups=3), r"conv2d: x \[2, 4, 7, 6\] should have 12 channels"),
        (lambda x, w: F.conv2d(x, w, data_format="NCWH"), "data_format: expected 'NCHW' or 'NHWC', got 'NCWH'"),
        (lambda x, w: F.conv2d(x[0], w), "conv2d: expected x with 4 axes"),
        (lambda x, w: F.conv2d(x[:, :, :2], w), "Kernel size can't be greater"),
        (lambda x, w: F.max_pool2d(x, 3, padding=-1), "padding: expected 0 or more"),
        (lambda x, w: F.avg_pool2d(x[0], 3), "avg_pool2d: expected x with 4 axes"),
        (lambda x, w: F.max_pool2d(x, 0), "max_pool"),
        (lambda x, w: F.max_pool2d(x, 2, return_mask=True, data_format="NHWC"), "return_mask needs data_format with channels first"),
    ],
)  # fmt: skip
def test_images_and_windows_that_do_not_fit(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(paddle.zeros([2, 4, 7, 6]), paddle.zeros([6, 4, 3, 2]))


# --- normalisation --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5, 3), (2, 3, 4), (2, 3, 4, 5)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(shape, training: bool) -> None:
    (x, t), (w, v), (b, c) = both(*shape), both(3, seed=1), both(3, seed=2)
    mean, variance = np.array([0.1, -0.2, 0.3]), np.array([0.5, 1.0, 2.0])
    m, s = paddle.to_tensor(mean), paddle.to_tensor(variance)
    ours = F.batch_norm(x, m, s, w, b, training=training, momentum=0.8, epsilon=1e-3)
    theirs = TF.batch_norm(t, None if training else torch.tensor(mean), None if training else torch.tensor(variance), v, c, training, 0.0, 1e-3)  # fmt: skip
    axes = (0, *range(2, len(shape)))
    batch = (x.numpy().mean(axes), x.numpy().var(axes)) if training else (mean, variance)
    np.testing.assert_allclose(m.numpy(), 0.8 * mean + 0.2 * batch[0], rtol=1e-10)
    # Divided by n, not n - 1: as PaddlePaddle 3.3.1 has it.
    np.testing.assert_allclose(s.numpy(), 0.8 * variance + 0.2 * batch[1], rtol=1e-10)
    same(ours, theirs, (x, t), (w, v), (b, c))


def test_batch_norm_by_the_statistics_that_are_asked_for() -> None:
    x, _ = both(4, 3)
    m, s = paddle.zeros([3], "float64"), paddle.ones([3], "float64")
    kept = F.batch_norm(x, m, s, training=True, use_global_stats=True)
    assert m.tolist() == [0.0] * 3
    np.testing.assert_allclose(kept.numpy(), x.numpy() / np.sqrt(1 + 1e-5), rtol=1e-12)
    own = F.batch_norm(x, m, s, training=False, use_global_stats=False)
    np.testing.assert_allclose(own.numpy().mean(0), 0.0, atol=1e-12)
    np.testing.assert_allclose(m.numpy(), 0.1 * x.numpy().mean(0), rtol=1e-10)  # as PaddlePaddle 3.3.1


def test_batch_norm_refuses_statistics_that_were_overwritten() -> None:
    x, _ = both(4, 3)
    m, s = paddle.zeros([3], "float64"), paddle.ones([3], "float64")
    fixed = F.batch_norm(x, m, s).sum()
    own = F.batch_norm(x, m, s, training=True)  # writes m and s
    (own * own).sum().backward()  # and does not need them itself
    with pytest.raises(RuntimeError, match="normalize_batch needs what it saved"):
        fixed.backward()


def test_batch_norm_with_channels_last() -> None:
    x, t = both(2, 4, 5, 3)
    ours = F.batch_norm(
        x, paddle.zeros([3], "float64"), paddle.ones([3], "float64"), training=True, data_format="NHWC"
    )
    theirs = TF.batch_norm(t.permute(0, 3, 1, 2), None, None, None, None, True).permute(0, 2, 3, 1)
    same(ours, theirs, (x, t))


@pytest.mark.parametrize("axes", [1, 2])
def test_layer_norm(axes: int) -> None:
    shape = (4,) if axes == 1 else (3, 4)
    (x, t), (w, v), (b, c) = both(2, 3, 4), both(*shape, seed=1), both(*shape, seed=2)
    same(F.layer_norm(x, shape, w, b, 1e-3), TF.layer_norm(t, shape, v, c, 1e-3), (x, t), (w, v), (b, c))
    x, t = both(2, 3, 4)
    same(F.layer_norm(x, shape[0] if axes == 1 else shape), TF.layer_norm(t, shape), (x, t))
    x, t = both(2, 3, 4)
    flat = F.layer_norm(x, shape, w.reshape([-1]), b.reshape([-1]))  # Paddle keeps them flat
    np.testing.assert_allclose(flat.numpy(), TF.layer_norm(t, shape, v, c).detach().numpy(), rtol=1e-10)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: F.batch_norm(x, paddle.zeros([2]), paddle.ones([3])), r"batch_norm: expected running_mean of shape \[3\], got \[2\]"),
        (lambda x: F.batch_norm(x, paddle.zeros([3]), paddle.ones([3]), weight=paddle.ones([4])), "weight of shape"),
        (lambda x: F.batch_norm(x, paddle.zeros([3]), paddle.ones([3]), data_format="NCWH"), "data_format one of NC, NCL"),
        (lambda x: F.layer_norm(x, [3, 5]), r"layer_norm: normalized_shape \[3, 5\] does not end the shape of x"),
        (lambda x: F.layer_norm(x, [4], weight=paddle.ones([3])), "weight|shape"),
    ],
)  # fmt: skip
def test_normalisations_that_do_not_fit(call, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call(paddle.zeros([2, 3, 4]))


# --- dropout --------------------------------------------------------------------------------------------------


def test_dropout_keeps_its_promise_on_average() -> None:
    paddle.seed(0)
    x = paddle.ones([40_000])
    for mode, inside, outside in (("upscale_in_train", 4 / 3, 1.0), ("downscale_in_infer", 1.0, 0.75)):
        found = F.dropout(x, 0.25, mode=mode).numpy()
        assert set(np.unique(found).round(5)) == {0.0, np.float32(round(inside, 5))}
        assert abs((found == 0).mean() - 0.25) < 0.01
        np.testing.assert_allclose(F.dropout(x, 0.25, training=False, mode=mode).numpy(), outside)


def test_dropout_gives_the_gradient_its_own_mask() -> None:
    x = paddle.ones([100])
    x.stop_gradient = False
    y = F.dropout(x, 0.5)
    y.sum().backward()
    assert x.grad.tolist() == y.tolist() and 0 < (y == 0).sum() < 100


def test_dropout_along_axes() -> None:
    paddle.seed(1)
    for axis, same_along in ((0, 1), (1, 0), ([0], 1), (-1, 0)):
        found = F.dropout(paddle.ones([60, 50]), 0.5, axis=axis).numpy()
        assert (found.std(axis=same_along) == 0).all() and found.std() > 0
    assert F.dropout(paddle.ones([60, 50]), 0.5, axis=[0, 1]).numpy().std(axis=0).min() > 0


def test_dropout_at_its_ends_and_beyond() -> None:
    x = paddle.ones([3])
    assert F.dropout(x, 0.0) is x and F.dropout(x, 1.0).tolist() == [0.0] * 3
    for call, words in (
        (lambda: F.dropout(x, 1.5), "p from 0 to 1, got 1.5"),
        (lambda: F.dropout(x, 0.5, mode="up"), "mode 'upscale_in_train'"),
        (lambda: F.dropout(x, 0.5, axis=1), "axis 1 is outside an array of 1 axes"),
    ):
        with pytest.raises(ValueError, match=f"dropout: .*{words}"):
            call()


# --- losses ---------------------------------------------------------------------------------------------------

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
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 5, 1])), ValueError, "Target 5 is out of bounds"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 5, 1]), reduction="sum"), ValueError, "expected labels from 0 to 4, got 0 to 5"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, -1, 1])), ValueError, "Target -1"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 1])), ValueError, r"label \[2\] does not fit input \[3, 5\]"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([[0, 1, 2]])), ValueError, r"label \[1, 3\] does not fit"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0.0, 1.5, 2.0])), TypeError, "expected integer labels"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 1, 2]), weight=paddle.ones([3])), ValueError, r"weight of shape \[5\], got \[3\]"),
        (lambda x: F.cross_entropy(x, paddle.ones([3, 4]), soft_label=True), ValueError, "soft label"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 1, 2]), axis=2), ValueError, "axis 2 is outside"),
        (lambda x: F.cross_entropy(x, paddle.to_tensor([0, 1, 2]), reduction="avg"), ValueError, "reduction: expected one of mean, sum, none, got 'avg'"),
        (lambda x: F.mse_loss(x, paddle.ones([4])), ValueError, "squared_loss"),
        (lambda x: F.nll_loss(x, paddle.to_tensor([0, 9, 1])), ValueError, "expected labels from 0 to 4"),
    ],
)  # fmt: skip
def test_losses_that_do_not_fit(call, error, words: str) -> None:
    with pytest.raises(error, match=words):
        call(paddle.zeros([3, 5]))


def test_linear() -> None:
    (w, v), (b, c) = both(4, 5, seed=1), both(5, seed=2)
    for shape in ((3, 4), (2, 3, 4), (4,)):
        x, t = both(*shape)
        same(F.linear(x, w.detach(), b.detach()), TF.linear(t, v.detach().T, c.detach()), (x, t))
    with pytest.raises(ValueError, match=r"linear: expected x \[\.\.\., in\] and weight \[in, out\]"):
        F.linear(paddle.zeros([3, 5]), w)
    for shape in ((4,), (2, 4, 5)):  # a weight of another rank: the product of matmul
        (x, t), (w, v) = both(2, 3, 4), both(*shape, seed=3)
        same(F.linear(x, w), t @ v, (x, t), (w, v))
        np.testing.assert_allclose(
            F.linear(x, w, paddle.ones([1])).numpy(), (t @ v + 1).detach().numpy(), rtol=1e-6
        )


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,kj", [(2, 3), (4, 3)]), ("ii", [(3, 3)]), ("ii->i", [(3, 3)]), ("ij->ji", [(2, 3)]),
        ("ij->", [(2, 3)]), ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]), ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
        ("i,j,k->ijk", [(2,), (3,), (4,)]), ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 2)]), ("iij,j->i", [(2, 2, 3), (3,)]),
        ("i...->...", [(2, 3, 4)]), ("...,...", [(2, 3), (3,)]), ("ij,ij->ij", [(2, 3), (2, 3)]), ("bi,bj,bk->bijk", [(2, 3), (2, 2), (2, 4)]),
    ],
)  # fmt: skip
def test_einsum_as_numpy(equation: str, shapes) -> None:
    pairs = [both(*s, seed=i) for i, s in enumerate(shapes)]
    ours = paddle.einsum(equation, *(x for x, _ in pairs))
    np.testing.assert_allclose(ours.numpy(), np.einsum(equation, *(x.numpy() for x, _ in pairs)), rtol=1e-12)
    same(ours, torch.einsum(equation, *(t for _, t in pairs)), *pairs)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [("ij,jk->ik", [(2, 3), (2, 3)]), ("ij->ij", [(2,)]), ("ij,jk", [(2, 3)]), ("ij->k", [(2, 3)])],
)  # fmt: skip
def test_einsum_refuses(equation: str, shapes) -> None:
    with pytest.raises(ValueError, match="einsum"):
        paddle.einsum(equation, *(paddle.zeros(list(s)) for s in shapes))


def test_einsum_of_a_label_that_is_written_twice_fills_the_diagonal() -> None:
    x = paddle.arange(1, 7, dtype="float64").reshape([2, 3])
    expected = x.numpy()[:, :, None] * np.eye(3)
    np.testing.assert_array_equal(paddle.einsum("ij->ijj", x).numpy(), expected)


ORDERS = [(0, 1, 2, 3), (2, 3, 0, 1), (0, 2, 3, 1), (3, 2, 1, 0)]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("order_g", ORDERS)
@pytest.mark.parametrize("order_x", ORDERS)
def test_batch_norm_of_one_sample_in_any_order_of_memory(order_x, order_g, training):
    """torch 2.13 gives a wrong gradient where a sample and its gradient lie in memory in different orders."""
    generator = torch.Generator().manual_seed(5)
    values, given = (torch.randn(1, 4, 3, 5, generator=generator, dtype=torch.float64) for _ in range(2))

    def gradient(x, g):
        x = paddle.Tensor(x, stop_gradient=False)
        mean, variance = paddle.zeros([4], "float64"), paddle.ones([4], "float64")
        out = paddle.nn.functional.batch_norm(x, mean, variance, training=training)
        return paddle.grad(out, x, paddle.Tensor(g))[0].data

    def laid_out(t, order):
        return t.permute(order).contiguous().permute([order.index(axis) for axis in range(4)])

    found = gradient(laid_out(values, order_x), laid_out(given, order_g))
    torch.testing.assert_close(found, gradient(values, given))
