"""Images resized, sampled, rearranged and padded; look-up of rows; distances: against torch and written-out values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle

F, TF = paddle.nn.functional, torch.nn.functional


def both(*shape: int, seed: int = 0, low: float = -1.0):
    values = np.random.default_rng(seed).uniform(low, 1.0, shape)
    return paddle.to_tensor(values, stop_gradient=False), torch.tensor(values, requires_grad=True)


def same(ours, theirs, *pairs) -> None:
    assert ours.shape == list(theirs.shape)
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-10)
    weights = np.random.default_rng(5).uniform(0.5, 1.5, ours.shape)
    (ours * paddle.to_tensor(weights)).sum().backward()
    (theirs * torch.tensor(weights)).sum().backward()
    for x, t in pairs:
        np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    ("shape", "size", "mode"),
    [((2, 3, 5), [8], "linear"), ((2, 3, 5, 4), [3, 9], "bilinear"), ((2, 3, 5, 4), [3, 9], "bicubic"),
     ((1, 2, 3, 4, 5), [4, 3, 9], "trilinear")],
)  # fmt: skip
@pytest.mark.parametrize("corners", [False, True])
def test_interpolation(shape, size, mode: str, corners: bool) -> None:
    x, t = both(*shape)
    same(F.interpolate(x, size, mode=mode, align_corners=corners), TF.interpolate(t, size, mode=mode, align_corners=corners), (x, t))  # fmt: skip
    x, t = both(*shape)
    last = F.interpolate(
        x.moveaxis(1, -1),
        size,
        mode=mode,
        align_corners=corners,
        data_format={3: "NWC", 4: "NHWC", 5: "NDHWC"}[x.ndim],
    )
    same(last.moveaxis(-1, 1), TF.interpolate(t, size, mode=mode, align_corners=corners), (x, t))


@pytest.mark.parametrize("shape", [(2, 3, 5, 4), (1, 2, 3, 4, 5)])
def test_nearest_and_scale_factors(shape) -> None:
    for factor in (2, 1.7, 0.5):
        x, t = both(*shape)
        same(F.interpolate(x, scale_factor=factor), TF.interpolate(t, scale_factor=factor), (x, t))
    x, t = both(2, 3, 5, 4)
    same(F.interpolate(x, scale_factor=[1.5, 2.0], mode="bilinear"), TF.interpolate(t, scale_factor=(1.5, 2.0), mode="bilinear"), (x, t))  # fmt: skip


def test_align_mode_1_puts_new_pixels_at_multiples() -> None:
    x = paddle.to_tensor([[[0.0, 10.0, 20.0, 30.0]]])
    found = F.interpolate(x, [6], mode="linear", align_mode=1)  # pixel i at i 4 / 6
    np.testing.assert_allclose(found.numpy()[0, 0], [0, 20 / 3, 40 / 3, 20, 80 / 3, 30], rtol=1e-6)
    square = F.interpolate(x.reshape([1, 1, 2, 2]), [4, 4], mode="bilinear", align_mode=1).numpy()[0, 0]
    np.testing.assert_allclose(square[0], [0, 5, 10, 10])
    np.testing.assert_allclose(square[:, 0], [0, 10, 20, 20])


def test_smoothing_while_shrinking() -> None:
    for mode in ("bilinear", "bicubic"):
        x, t = both(1, 2, 9, 8)
        same(F.interpolate(x, [4, 3], mode=mode, antialias=True), TF.interpolate(t, (4, 3), mode=mode, antialias=True), (x, t))  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({}, ValueError, "expected size or scale_factor"),
        ({"size": [2, 2], "scale_factor": 2}, ValueError, "expected size or scale_factor"),
        ({"size": [2]}, ValueError, "size: expected an int or 2"),
        ({"size": [2, 2], "mode": "linear"}, ValueError, "does not fit x"),
        ({"size": [2, 2], "align_corners": True}, ValueError, "does not go with"),
        ({"size": [2, 2], "mode": "bicubic", "align_corners": 2}, TypeError, "align_corners"),
        ({"scale_factor": -1.0}, ValueError, "scale_factor"),
        ({"size": [0, 2]}, ValueError, "lengths of 1 or more"),
    ],
)
def test_interpolation_refuses(settings, error, words: str) -> None:
    with pytest.raises(error, match=words):
        F.interpolate(paddle.ones([1, 1, 3, 3]), **settings)


@pytest.mark.parametrize("shape", [[2, 3, 4, 5], [2, 3, 2, 4, 5]])
@pytest.mark.parametrize("corners", [False, True])
def test_affine_grids_and_sampling(shape, corners: bool) -> None:
    axes = len(shape) - 2
    theta, t = both(2, axes, axes + 1)
    same(F.affine_grid(theta, shape, corners), TF.affine_grid(t, shape, corners), (theta, t))
    for padding in ("zeros", "border", "reflection"):
        for mode in ("bilinear", "nearest"):
            (x, u), (grid, v) = both(*shape, seed=1), both(2, *[3] * axes, axes, seed=2)
            ours = F.grid_sample(x, grid * 1.3, mode, padding, corners)
            theirs = TF.grid_sample(u, v * 1.3, mode, padding, corners)
            same(ours, theirs, (x, u), (grid, v))


def test_sampling_says_that_it_has_no_second_derivative() -> None:
    x, _ = both(1, 1, 3, 3)
    value = F.grid_sample(x, paddle.zeros([1, 2, 2, 2], "float64")).sum()
    with pytest.raises(NotImplementedError, match="grid_sample has no second derivative"):
        paddle.grad(value, [x], create_graph=True)


def test_rearranged_pixels() -> None:
    x, t = both(2, 8, 3, 4)
    same(F.pixel_shuffle(x, 2), TF.pixel_shuffle(t, 2), (x, t))
    x, t = both(2, 3, 4, 6)
    same(F.pixel_unshuffle(x, 2), TF.pixel_unshuffle(t, 2), (x, t))
    x, t = both(2, 6, 3, 4)
    same(F.channel_shuffle(x, 3), TF.channel_shuffle(t, 3), (x, t))
    x, t = both(2, 3, 4, 8)
    same(
        F.pixel_shuffle(x, 2, "NHWC"), TF.pixel_shuffle(t.permute(0, 3, 1, 2), 2).permute(0, 2, 3, 1), (x, t)
    )
    film = paddle.arange(1, 9, dtype="float32").reshape([2, 4, 1, 1])  # two steps, four channels
    assert F.temporal_shift(film, 2).flatten().tolist() == [0, 6, 3, 4, 1, 0, 7, 8]


def test_windows_as_columns_and_back() -> None:
    x, t = both(2, 3, 6, 5)
    same(F.unfold(x, [2, 3], [1, 2], [1, 2], [2, 1]), TF.unfold(t, (2, 3), (2, 1), (1, 2), (1, 2)), (x, t))
    x, t = both(2, 3, 6, 5)
    same(F.unfold(x, 2, paddings=[1, 0, 0, 2]), TF.unfold(TF.pad(t, (0, 2, 1, 0)), 2), (x, t))
    x, t = both(2, 12, 20)
    same(F.fold(x, [5, 6], 2), TF.fold(t, (5, 6), 2), (x, t))
    x, t = both(2, 12, 30)
    same(F.fold(x, [5, 6], 2, paddings=[0, 1, 1, 0]), TF.fold(t, (6, 7), 2)[:, :, :-1, 1:], (x, t))


# --- padding, rows, distances, masks --------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular", "constant"])
def test_padding(mode: str) -> None:
    for shape, pad in (
        ((2, 3, 5), [2, 1]),
        ((2, 3, 5, 4), [1, 2, 0, 3]),
        ((1, 2, 3, 4, 5), [1, 2, 1, 0, 2, 2]),
    ):
        x, t = both(*shape)
        same(F.pad(x, pad, mode), TF.pad(t, pad, mode), (x, t))
        x, t = both(*shape)
        last = {3: "NLC", 4: "NHWC", 5: "NDHWC"}[len(shape)]
        same(
            F.pad(x.moveaxis(1, -1), pad, mode, data_format=last).moveaxis(-1, 1),
            TF.pad(t, pad, mode),
            (x, t),
        )


def test_pairs_of_padding_find_their_axes() -> None:
    x, t = both(2, 3)
    same(F.pad(x, [1, 2, 0, 3]), TF.pad(t, [0, 3, 1, 2]), (x, t))  # one for each axis: from the first
    same(F.pad(x, [1, 2, 0, 3], pad_from_left_axis=False), TF.pad(t, [1, 2, 0, 3]))
    same(F.pad(x, [1, 2], value=7.0), TF.pad(t, [1, 2], value=7.0))  # fewer: from the last
    x, t = both(2, 3, 4, 5)
    same(F.pad(x, [1, 0, 2, 1, 0, 3, 1, 1]), TF.pad(t, [1, 1, 0, 3, 2, 1, 1, 0]), (x, t))
    for bad, words in (([1, 2, 3], "pairs"), ("up", "mode"), ([9, 0, 0, 0], "cannot pad 9")):
        with pytest.raises(ValueError, match=words):
            F.pad(x, [1, 1, 1, 1], bad) if isinstance(bad, str) else F.pad(x, bad, "reflect" if bad[0] == 9 else "constant")  # fmt: skip


def test_rows_of_a_table() -> None:
    ids = np.array([[1, 3, 1], [0, 2, 2]])
    for options in ({}, {"padding_idx": 2}, {"padding_idx": -3}, {"scale_grad_by_freq": True}):
        w, t = both(4, 5)
        theirs = TF.embedding(torch.tensor(ids), t, **options)
        if "padding_idx" in options:  # Paddle reads the padding row as zeros
            theirs = theirs * torch.tensor(ids != options["padding_idx"] % 4).unsqueeze(-1)
        same(F.embedding(paddle.to_tensor(ids), w, **options), theirs, (w, t))
    w, t = both(4, 5)
    found = F.embedding(paddle.to_tensor(ids), w.detach(), max_norm=0.5)
    expected = TF.embedding(torch.tensor(ids), t.detach().clone(), max_norm=0.5)
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-12)
    with pytest.raises(ValueError, match="padding_idx: expected -4 to 3, got 7"):
        F.embedding(paddle.to_tensor(ids), w, padding_idx=7)
    with pytest.raises(ValueError, match=r"expected an id from 0 to 3, got [45]"):
        F.embedding(paddle.to_tensor(ids + 2), w)


def test_distances() -> None:
    (x, t), (y, u) = both(3, 4), both(3, 4, seed=1)
    for p in (1.0, 2.0, 3.0, float("inf")):
        same(F.pairwise_distance(x, y, p), TF.pairwise_distance(t, u, p), (x, t), (y, u))
        for tensor in (x, y):
            tensor.clear_gradient()
        t.grad = u.grad = None
    same(F.cosine_similarity(x, y), TF.cosine_similarity(t, u), (x, t), (y, u))
    (a, b), (c, d), (w, v), (e, f) = both(3, 4), both(3, 5, seed=1), both(2, 4, 5, seed=2), both(1, 2, seed=3)
    same(F.bilinear(a, c, w, e), TF.bilinear(b, d, v, f.reshape(2)), (a, b), (c, d), (w, v))
    for p in (1.0, 2.0, 3.0):
        (x, t) = both(3, 4)
        same(F.normalize(x, p, -1), TF.normalize(t, p, -1), (x, t))


def test_masks_trees_and_samples_of_labels() -> None:
    assert F.sequence_mask(paddle.to_tensor([1, 3, 0])).tolist() == [[1, 0, 0], [1, 1, 1], [0, 0, 0]]
    assert F.sequence_mask(paddle.to_tensor([[2]]), 3, "bool").tolist() == [[[True, True, False]]]
    ids = paddle.to_tensor([[[2, 2], [6, 1]], [[3, 9], [6, 1]], [[0, 1], [9, 0]]])
    parents = paddle.to_tensor([[[0, 0], [1, 1]], [[1, 0], [1, 0]], [[0, 0], [0, 1]]])
    assert F.gather_tree(ids, parents).tolist() == [
        [[2, 2], [1, 6]],
        [[3, 3], [6, 1]],
        [[0, 1], [9, 0]],
    ]  # Paddle's
    np.testing.assert_allclose(
        F.label_smooth(paddle.to_tensor([[0.0, 1.0]]), epsilon=0.2).numpy(), [[0.1, 0.9]]
    )
    label, chosen = F.class_center_sample(paddle.to_tensor([7, 3, 7]), 20, 6)
    assert chosen.tolist() == sorted(set(chosen.tolist())) and len(chosen.tolist()) == 6
    assert [chosen.tolist()[i] for i in label.tolist()] == [7, 3, 7]
