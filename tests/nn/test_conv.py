"""Layers of convolution: modes of padding, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn
from tests.nn.beside_torch import same_as_torch


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


CASES = {
    "conv": (
        lambda: nn.Conv2D(4, 6, (3, 2), stride=(2, 1), padding=1, dilation=(1, 2), groups=2),
        lambda: torch.nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=1, dilation=(1, 2), groups=2),
        (2, 4, 7, 6),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradients(name):
    same_as_torch(CASES[name])


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: nn.Conv2D(3, 4, 3, groups=2), "groups"),
        (lambda: nn.Conv2D(3, 4, 0), "kernel_size"),
    ],
)
def test_bad_settings_and_shapes_are_named(make, what):
    with pytest.raises(ValueError, match=what):
        make()
