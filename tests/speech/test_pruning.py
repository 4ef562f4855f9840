"""Channels and entries that go: which ones, how many, and that the rest stays as it is."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn
from sampan.engine.errors import InvalidArgument
from sampan.speech import AudioClassifier
from sampan.speech.pruning import Sparsity, fewer_channels, without_block
from tests.speech.test_architectures import CONFORMER, RECURRENT


def test_channels_that_do_nothing_go_and_nothing_changes():
    paddle.seed(0)
    model = AudioClassifier.from_config(CONFORMER)
    for feed in (model.model.encoder.blocks[0].feed1, model.model.encoder.blocks[0].feed2):
        feed.linear2.weight.data[[1, 4, 30]] = 0
    made = fewer_channels(model, 29)
    model.eval(), made.eval()
    assert made.config["encoder"]["hidden"] == 29
    assert made.model.encoder.blocks[0].feed1.linear1.weight.shape == [8, 29]
    x = paddle.randn([1, 30, 8])
    found, expected = (m(input_features=x).logits.numpy() for m in (made, model))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    with pytest.raises(InvalidArgument, match=r"hidden: expected 1 to 32, got 33"):
        fewer_channels(model, 33)
    with pytest.raises(InvalidArgument, match=r"model: expected a Conformer, got a network without"):
        fewer_channels(AudioClassifier.from_config(RECURRENT), 2)


def test_a_block_that_does_nothing_goes_and_nothing_changes():
    paddle.seed(0)
    config = {**CONFORMER, "encoder": {**CONFORMER["encoder"], "num_layers": 3}}
    model = AudioClassifier.from_config(config)
    idle = model.model.encoder.blocks[1]
    for name, value in idle.named_parameters():  # each part adds nothing, and the last norm is the identity
        if name.split(".")[-2] in ("linear2", "out_proj", "pointwise2"):
            value.data.zero_()
    without = [without_block(model, removed) for removed in range(3)]
    model.eval()
    x = paddle.randn([1, 30, 8])
    expected = model(input_features=x).logits.numpy()
    for removed, made in enumerate(without):
        made.eval()
        assert made.config["encoder"]["num_layers"] == 2 and len(made.model.encoder.blocks) == 2
        found = made(input_features=x).logits.numpy()
        assert np.allclose(found, expected, atol=1e-3) == (removed == 1)
    for removed in (-1, 3):
        with pytest.raises(InvalidArgument, match=rf"removed: expected one of 3 blocks, .* got {removed}"):
            without_block(model, removed)
    with pytest.raises(InvalidArgument, match="and not the only one"):
        without_block(AudioClassifier.from_config(CONFORMER), 0)


def test_the_share_of_zeros_rises_by_the_schedule_and_stays():
    paddle.seed(0)
    network = nn.Sequential(nn.Linear(30, 40), nn.Linear(40, 20))
    network[1].weight.data.mul_(100)  # compared by the size of their own matrix
    before = {name: value.numpy().copy() for name, value in network.named_parameters()}
    sparsity = Sparsity(network, 0.6, 20, every=5)
    weights = [layer.weight.data for layer in network]
    for step in range(1, 31):
        for layer in network:
            layer.bias.data.add_(1.0)
        sparsity.step(step)
        share = float(sum((w == 0).sum() for w in weights)) / 2000
        last = 1 if step < 5 else min(step // 5 * 5, 25)
        assert share == pytest.approx(0.6 * (1 - max(1 - last / 20, 0) ** 3), abs=1e-3)
    for layer, name in ((network[0], "0.weight"), (network[1], "1.weight")):
        left = layer.weight.numpy()
        assert 0.5 < (left == 0).mean() < 0.7
        assert np.array_equal(left[left != 0], before[name][left != 0])
        assert np.abs(before[name][left == 0]).max() <= np.abs(left[left != 0]).min()
    assert np.allclose(network[0].bias.numpy(), before["0.bias"] + 30, atol=1e-4)


def test_kept_names_and_bad_settings():
    network = nn.Sequential(nn.Linear(30, 40), nn.Linear(40, 20))
    Sparsity(network, 0.9, 1, keep=("0.",)).step(1)
    assert bool((network[0].weight.data != 0).all())
    assert float((network[1].weight.data == 0).float().mean()) == pytest.approx(0.9, abs=1e-3)
    with pytest.raises(InvalidArgument, match=r"share: expected 0 to less than 1, got 1"):
        Sparsity(network, 1, 5)
    with pytest.raises(InvalidArgument, match=r"steps, every: expected 1 or more, got 0 and 10"):
        Sparsity(network, 0.5, 0)
    none = Sparsity(network, 0.0, 3)
    none.step(1)
    assert all(bool(torch.all(mask == 1)) for mask in none.masks.values())
