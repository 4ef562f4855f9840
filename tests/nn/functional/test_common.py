"""Padding, look-up of rows, distances, masks and samples of labels: against torch and written-out values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from tests.beside_torch import both, same

F, TF = paddle.nn.functional, torch.nn.functional


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
