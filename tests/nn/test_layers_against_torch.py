"""Each layer with its own parameters against torch's: value and gradients of input and parameters."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan import nn

CASES = {
    "linear": (lambda: nn.Linear(5, 3), lambda: torch.nn.Linear(5, 3), (2, 4, 5)),
    "linear without bias": (
        lambda: nn.Linear(5, 3, bias_attr=False),
        lambda: torch.nn.Linear(5, 3, bias=False),
        (2, 5),
    ),
    "conv": (
        lambda: nn.Conv2D(4, 6, (3, 2), stride=(2, 1), padding=1, dilation=(1, 2), groups=2),
        lambda: torch.nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=1, dilation=(1, 2), groups=2),
        (2, 4, 7, 6),
    ),
    "max pool": (lambda: nn.MaxPool2D(3, 2, 1), lambda: torch.nn.MaxPool2d(3, 2, 1), (2, 3, 7, 7)),
    "avg pool": (
        lambda: nn.AvgPool2D(2, exclusive=False, padding=1),
        lambda: torch.nn.AvgPool2d(2, padding=1),
        (2, 3, 6, 6),
    ),
    "adaptive pool": (
        lambda: nn.AdaptiveAvgPool2D((2, 3)),
        lambda: torch.nn.AdaptiveAvgPool2d((2, 3)),
        (2, 3, 5, 7),
    ),
    "batch norm 1d": (lambda: nn.BatchNorm1D(4), lambda: torch.nn.BatchNorm1d(4), (6, 4)),
    "batch norm 1d length": (lambda: nn.BatchNorm1D(4), lambda: torch.nn.BatchNorm1d(4), (6, 4, 3)),
    "batch norm 2d": (lambda: nn.BatchNorm2D(4), lambda: torch.nn.BatchNorm2d(4), (6, 4, 3, 2)),
    "layer norm": (lambda: nn.LayerNorm([3, 4]), lambda: torch.nn.LayerNorm([3, 4]), (2, 3, 4)),
    "flatten": (lambda: nn.Flatten(), lambda: torch.nn.Flatten(), (2, 3, 4)),
    "relu": (nn.ReLU, torch.nn.ReLU, (3, 4)),
    "sigmoid": (nn.Sigmoid, torch.nn.Sigmoid, (3, 4)),
    "tanh": (nn.Tanh, torch.nn.Tanh, (3, 4)),
    "gelu": (nn.GELU, torch.nn.GELU, (3, 4)),
    "gelu tanh": (lambda: nn.GELU(True), lambda: torch.nn.GELU("tanh"), (3, 4)),
    "softmax": (lambda: nn.Softmax(1), lambda: torch.nn.Softmax(1), (3, 4, 2)),
    "log softmax": (lambda: nn.LogSoftmax(1), lambda: torch.nn.LogSoftmax(1), (3, 4, 2)),
}


def pair_of(name):
    ours, theirs, shape = CASES[name]
    ours, theirs = ours().to(dtype="float64"), theirs().double()
    generator = np.random.default_rng(3)
    for key in ("weight", "bias"):
        own = getattr(ours, key, None)
        if own is not None:
            value = generator.normal(size=own.shape)
            own.set_value(value)
            value = value.T if key == "weight" and name.startswith("linear") else value
            value = value.reshape(getattr(theirs, key).shape)  # Paddle keeps a layer norm's flat
            with torch.no_grad():
                getattr(theirs, key).copy_(torch.from_numpy(np.ascontiguousarray(value)))
    return ours, theirs, generator.normal(size=shape), generator


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradients(name):
    ours, theirs, x, generator = pair_of(name)
    mine, other = paddle.to_tensor(x, stop_gradient=False), torch.from_numpy(x).requires_grad_()
    for _ in range(2):  # twice, for what moves between calls
        out, expected = ours(mine), theirs(other)
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-10, atol=1e-12)
    weights = generator.normal(size=out.shape)
    (out * paddle.to_tensor(weights)).sum().backward()
    (expected * torch.from_numpy(weights)).sum().backward()
    np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-9, atol=1e-11)
    for key in ("weight", "bias"):
        if getattr(ours, key, None) is not None:
            wanted = getattr(theirs, key).grad.numpy()
            wanted = wanted.T if key == "weight" and name.startswith("linear") else wanted
            found = getattr(ours, key).grad.numpy().reshape(wanted.shape)
            np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("batch norm")])
def test_running_statistics_follow_paddles_rule(name):
    ours, theirs, x, _ = pair_of(name)
    axes = tuple(i for i in range(x.ndim) if i != 1)
    mean, variance = np.zeros(4), np.ones(4)
    for scale in (1.0, 3.0, 0.5):
        batch = x * scale + scale
        ours(paddle.to_tensor(batch))
        mean = 0.9 * mean + 0.1 * batch.mean(axes)
        variance = 0.9 * variance + 0.1 * batch.var(axes)  # Paddle keeps the biased variance
    np.testing.assert_allclose(ours._mean.numpy(), mean, rtol=1e-12)
    np.testing.assert_allclose(ours._variance.numpy(), variance, rtol=1e-12)
    theirs.running_mean.copy_(torch.from_numpy(mean))
    theirs.running_var.copy_(torch.from_numpy(variance))
    ours.eval(), theirs.eval()
    np.testing.assert_allclose(
        ours(paddle.to_tensor(x)).numpy(), theirs(torch.from_numpy(x)).detach().numpy(), rtol=1e-10
    )
    np.testing.assert_allclose(ours._mean.numpy(), mean, rtol=1e-12)  # evaluation moves nothing
    assert sorted(ours.state_dict()) == ["_mean", "_variance", "bias", "weight"]


LOSSES = {
    "cross entropy": (nn.CrossEntropyLoss, torch.nn.CrossEntropyLoss, {}),
    "cross entropy sum": (nn.CrossEntropyLoss, torch.nn.CrossEntropyLoss, {"reduction": "sum"}),
    "cross entropy ignoring": (nn.CrossEntropyLoss, torch.nn.CrossEntropyLoss, {"ignore_index": 1}),
    "cross entropy smoothed": (nn.CrossEntropyLoss, torch.nn.CrossEntropyLoss, {"label_smoothing": 0.2}),
    "nll": (nn.NLLLoss, torch.nn.NLLLoss, {"reduction": "none"}),
    "nll mean": (nn.NLLLoss, torch.nn.NLLLoss, {}),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_of_labels(name):
    ours, theirs, settings = LOSSES[name]
    generator = np.random.default_rng(5)
    x, label = generator.normal(size=(6, 4)), generator.integers(0, 4, 6)
    mine, other = paddle.to_tensor(x, stop_gradient=False), torch.from_numpy(x).requires_grad_()
    loss, expected = (
        ours(**settings)(mine, paddle.to_tensor(label)),
        theirs(**settings)(other, torch.from_numpy(label)),
    )
    np.testing.assert_allclose(loss.numpy(), expected.detach().numpy(), rtol=1e-12)
    loss.sum().backward(), expected.sum().backward()
    np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-10, atol=1e-14)


def test_cross_entropy_takes_labels_with_a_last_axis_of_one_and_class_weights():
    generator = np.random.default_rng(6)
    x, label, weight = (
        generator.normal(size=(6, 4)),
        generator.integers(0, 4, (6, 1)),
        generator.uniform(1, 2, 4),
    )
    loss = nn.CrossEntropyLoss(weight=paddle.to_tensor(weight))(paddle.to_tensor(x), paddle.to_tensor(label))
    expected = torch.nn.CrossEntropyLoss(torch.from_numpy(weight))(
        torch.from_numpy(x), torch.from_numpy(label[:, 0])
    )
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_mse(reduction):
    x, y = np.random.default_rng(7).normal(size=(2, 3, 4))
    loss = nn.MSELoss(reduction)(paddle.to_tensor(x), paddle.to_tensor(y))
    expected = torch.nn.MSELoss(reduction=reduction)(torch.from_numpy(x), torch.from_numpy(y))
    np.testing.assert_allclose(loss.numpy(), expected.numpy(), rtol=1e-12)


def test_dropout_keeps_the_mean_and_does_nothing_in_evaluation():
    paddle.seed(1)
    layer = nn.Dropout(0.25)
    x = paddle.ones([200, 200])
    out = layer(x).numpy()
    assert set(np.unique(out)) == {0.0, np.float32(1 / 0.75)}
    assert abs((out == 0).mean() - 0.25) < 0.01  # 40,000 draws: five standard deviations
    layer.eval()
    assert (layer(x).numpy() == 1).all()


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: nn.Linear(-1, 2), "in_features"),
        (lambda: nn.Linear(2, 2.0), "out_features"),
        (lambda: nn.Conv2D(3, 4, 3, groups=2), "groups"),
        (lambda: nn.Conv2D(3, 4, 0), "kernel_size"),
        (lambda: nn.Dropout(1.5)(paddle.ones([2])), "p"),
        (lambda: nn.LayerNorm([]), "normalized_shape"),
        (lambda: nn.LayerNorm([3, 0]), "normalized_shape"),
        (lambda: nn.CrossEntropyLoss(reduction="avg"), "reduction"),
        (lambda: nn.MSELoss("avg"), "reduction"),
        (lambda: nn.BatchNorm2D(3)(paddle.ones([2, 3])), "x: BatchNorm2D expects 4 axes"),
        (lambda: nn.Linear(3, 2)(paddle.ones([2, 4])), "linear"),
    ],
)
def test_bad_settings_and_shapes_are_named(make, what):
    with pytest.raises(ValueError, match=what):
        make()
