"""Convolutions over one to three axes and their transposes: values and gradients against torch, sizes by formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle

F, TF = paddle.nn.functional, torch.nn.functional


def both(*shape: int, seed: int = 0):
    values = np.random.default_rng(seed).uniform(-1.0, 1.0, shape)
    return paddle.to_tensor(values, stop_gradient=False), torch.tensor(values, requires_grad=True)


def same(ours, theirs, *pairs) -> None:
    assert ours.shape == list(theirs.shape)
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-10, atol=1e-10)
    weights = np.random.default_rng(5).uniform(0.5, 1.5, ours.shape)
    (ours * paddle.to_tensor(weights)).sum().backward()
    (theirs * torch.tensor(weights)).sum().backward()
    for x, t in pairs:
        np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-10, atol=1e-10)


SIZES = {1: (7,), 2: (7, 6), 3: (5, 4, 6)}


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 2, 2)])
def test_convolution(axes: int, stride: int, padding: int, dilation: int, groups: int) -> None:
    (x, t), (w, v) = both(2, 4, *SIZES[axes]), both(6, 4 // groups, *[2] * axes, seed=1)
    b, c = both(6, seed=2)
    ours = getattr(F, f"conv{axes}d")(x, w, b, stride, padding, dilation, groups)
    theirs = getattr(TF, f"conv{axes}d")(t, v, c, stride, padding, dilation, groups)
    same(ours, theirs, (x, t), (w, v), (b, c))


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(
    ("stride", "padding", "rest", "dilation", "groups"), [(1, 0, 0, 1, 1), (3, 1, 2, 2, 2)]
)
def test_transposed_convolution(axes: int, last: bool, stride: int, padding: int, rest: int, dilation: int, groups: int) -> None:  # fmt: skip
    (x, t), (w, v), (b, c) = (
        both(2, 4, *SIZES[axes]),
        both(4, 3, *[2] * axes, seed=1),
        both(3 * groups, seed=2),
    )
    data_format = {1: "NLC", 2: "NHWC", 3: "NDHWC"}[axes] if last else {1: "NCL", 2: "NCHW", 3: "NCDHW"}[axes]
    ours = getattr(F, f"conv{axes}d_transpose")(
        x.moveaxis(1, -1) if last else x, w, b, stride, padding, rest, groups=groups, dilation=dilation,
        data_format=data_format,
    )  # fmt: skip
    theirs = getattr(TF, f"conv_transpose{axes}d")(t, v, c, stride, padding, rest, groups, dilation)
    same(ours.moveaxis(-1, 1) if last else ours, theirs, (x, t), (w, v), (b, c))


def test_a_transposed_convolution_has_the_size_that_was_asked_for() -> None:
    (x, t), (w, v) = both(1, 2, 5, 4), both(2, 3, 3, 3, seed=1)
    same(
        F.conv2d_transpose(x, w, stride=2, output_size=[12, 9]),
        TF.conv_transpose2d(t, v, None, 2, 0, (1, 0)),
        (x, t),
    )
    for size in ([13, 9], [10, 9]):
        with pytest.raises(ValueError, match=r"output_size in \[11, 9\] to less than \(2, 2\) more"):
            F.conv2d_transpose(x, w, stride=2, output_size=size)
    with pytest.raises(ValueError, match="output_padding or output_size"):
        F.conv2d_transpose(x, w, stride=2, output_size=[12, 9], output_padding=1)


def test_uneven_padding_cuts_a_transposed_convolution() -> None:
    (x, t), (w, v) = both(1, 2, 5, 4), both(2, 3, 3, 3, seed=1)
    same(
        F.conv2d_transpose(x, w, padding=[1, 0, 2, 1]),
        TF.conv_transpose2d(t, v)[:, :, 1:, 2:-1],
        (x, t),
        (w, v),
    )


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
def test_a_layer_pads_as_its_mode_says(mode: str) -> None:
    layer = paddle.nn.Conv2D(2, 3, 3, padding=1, padding_mode=mode)
    theirs = torch.nn.Conv2d(2, 3, 3, padding=1, padding_mode=mode)
    with torch.no_grad():
        theirs.weight.copy_(layer.weight.data)
        theirs.bias.copy_(layer.bias.data)
    x = np.random.default_rng(0).normal(size=(2, 2, 5, 6)).astype("float32")
    found, expected = layer(paddle.to_tensor(x)).numpy(), theirs(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: paddle.nn.Conv2D(2, 3, 3, padding_mode="mirror"), ValueError, "padding_mode"),
        (lambda: paddle.nn.Conv2D(2, 3, 3, padding=[1, 1], padding_mode="reflect"), TypeError, "padding: expected an int"),
        (lambda: paddle.nn.Conv2D(2, 3, 3, data_format="NCL"), ValueError, "data_format"),
        (lambda: paddle.nn.Conv1D(2, 3, 0), ValueError, "kernel_size"),
        (lambda: paddle.nn.Conv2D(2, 3, 3, weight_attr=False), ValueError, "weight_attr"),
    ],
)  # fmt: skip
def test_layers_refuse_settings(call, error, words: str) -> None:
    with pytest.raises(error, match=words):
        call()
