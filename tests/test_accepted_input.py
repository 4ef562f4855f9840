"""Input that PaddlePaddle 3.3.1 takes: numbers of other kinds, None for a flag, shapes and modes that it does not check.

Expected values are PaddlePaddle's, asked for the same calls.
"""

from __future__ import annotations

import numpy as np
import pytest

import sampan as paddle

F, nn = paddle.nn.functional, paddle.nn
X = paddle.to_tensor([[1.0, 2.0], [3.0, -4.0]])
NUMBERS = [
    np.float32(2),
    np.float64(2),
    np.int64(2),
    np.array(2.0),
    paddle.to_tensor(2.0),
    paddle.to_tensor(2),
]


@pytest.mark.parametrize(
    "name",
    [
        "sum",
        "mean",
        "max",
        "min",
        "amax",
        "amin",
        "all",
        "any",
        "argmax",
        "argmin",
        "logsumexp",
        "std",
        "var",
        "norm",
        "nansum",
        "nanmean",
        "mode",
        "count_nonzero",
    ],
)
def test_keepdim_none_is_false(name: str) -> None:
    function = getattr(paddle, name, None) or getattr(paddle.linalg, name)
    x = X > 0 if name in ("all", "any") else X
    got, expected = (function(x, axis=0, keepdim=k) for k in (None, False))
    for a, b in zip(*([r] if isinstance(r, paddle.Tensor) else r for r in (got, expected)), strict=True):
        assert a.shape == b.shape and bool((a == b).all())


def test_kthvalue_without_keepdim() -> None:
    assert paddle.kthvalue(X, 1, 0, None)[0].tolist() == [1, -4]


@pytest.mark.parametrize("p", NUMBERS, ids=repr)
def test_the_order_of_a_norm(p) -> None:
    for function in (paddle.dist, paddle.cdist, F.pairwise_distance):
        np.testing.assert_array_equal(function(X, X * 2, p).numpy(), function(X, X * 2, 2.0).numpy())
    for call in (
        lambda p: paddle.renorm(X, p, 0, 1.0),
        lambda p: F.normalize(X, p),
        lambda p: paddle.pdist(X, p),
    ):
        np.testing.assert_array_equal(call(p).numpy(), call(2.0).numpy())


@pytest.mark.parametrize("p", ["2", None, paddle.to_tensor([2.0])], ids=["text", "None", "vector"])
def test_what_is_no_order_of_a_norm(p) -> None:
    for name, call in {
        "dist": lambda: paddle.dist(X, X, p), "renorm": lambda: paddle.renorm(X, p, 0, 1.0),
        "normalize": lambda: F.normalize(X, p), "pairwise_distance": lambda: F.pairwise_distance(X, X, p),
    }.items():  # fmt: skip
        with pytest.raises((TypeError, ValueError), match="p: expected a number") as caught:
            call()
        assert name in str(caught.value)


@pytest.mark.parametrize("coeff", [*NUMBERS, 2, True], ids=repr)
@pytest.mark.parametrize("kind", ["L1Decay", "L2Decay"])
def test_coefficients_of_penalties(kind: str, coeff) -> None:
    made = getattr(paddle.regularizer, kind)(coeff)
    assert made._coeff == float(coeff) and str(made) == f"{kind}, coeff={float(coeff):f}"
    for wrong in (None, "0.1", [0.1]):
        with pytest.raises((TypeError, ValueError), match=f"{kind}: coeff: expected a number"):
            getattr(paddle.regularizer, kind)(wrong)


@pytest.mark.parametrize("offset", [np.int64(1), paddle.to_tensor(1), True], ids=repr)
def test_the_offset_of_indices(offset) -> None:
    assert paddle.triu_indices(3, 3, offset).tolist() == [[0, 0, 1], [1, 2, 2]]
    assert paddle.tril_indices(2, 2, offset).tolist() == [[0, 0, 1, 1], [0, 1, 0, 1]]


def _made(initializer, shape=(64, 48), dtype="float32"):
    return nn.Layer().create_parameter(list(shape), dtype=dtype, default_initializer=initializer)


@pytest.mark.parametrize(
    "number", [np.float32(3), np.array(3.0), paddle.to_tensor(3.0), paddle.to_tensor(3)], ids=repr
)
def test_numbers_of_initializers(number) -> None:
    I = nn.initializer
    calls = [
        lambda n: I.Constant(n), lambda n: I.Normal(n), lambda n: I.Normal(0.0, n), lambda n: I.TruncatedNormal(n),
        lambda n: I.TruncatedNormal(0.0, n), lambda n: I.TruncatedNormal(b=n), lambda n: I.Uniform(-1.0, n),
        lambda n: I.XavierNormal(gain=n), lambda n: I.XavierUniform(gain=n), lambda n: I.Orthogonal(n),
    ]  # fmt: skip
    for call in calls:
        paddle.seed(1)
        got = _made(call(number)).numpy()
        paddle.seed(1)
        np.testing.assert_array_equal(got, _made(call(3.0)).numpy())
    for wrong in (None, "x", paddle.to_tensor([1.0, 2.0])):
        with pytest.raises((TypeError, ValueError), match="Normal: mean: expected a number"):
            I.Normal(wrong)


def test_a_range_or_scale_without_width_or_sign() -> None:
    assert _made(nn.initializer.Uniform(1, 1)).numpy().tolist() == np.ones((64, 48)).tolist()
    assert abs(float(_made(nn.initializer.Normal(0.0, -3.0)).std()) - 3) < 0.2
    assert 0 < float(_made(nn.initializer.XavierUniform(gain=-3.0)).abs().max()) < 1


@pytest.mark.parametrize(
    "value", [[1, 2, 3], [[1.0], [2.0]], np.arange(6), paddle.to_tensor(2.0), [1]], ids=repr
)
def test_a_parameter_takes_the_shape_of_its_assigned_value(value) -> None:
    expected = np.asarray(value, np.float32)
    weight = nn.Linear(2, 3, weight_attr=paddle.ParamAttr(initializer=nn.initializer.Assign(value))).weight
    np.testing.assert_array_equal(weight.numpy(), expected)
    called = _made(nn.initializer.Constant(1.0), (2, 3))
    nn.initializer.Assign(value)(called)
    assert called.numpy().tolist() == expected.tolist() and called.dtype == paddle.float32
    for wrong in (1, 1.5, None, "x"):
        with pytest.raises((TypeError, ValueError), match="Assign: value: expected"):
            nn.initializer.Assign(wrong)


def _momentum(**settings) -> list[list[float]]:
    layer = nn.Linear(2, 2, weight_attr=nn.initializer.Constant(1.0), bias_attr=nn.initializer.Constant(1.0))
    optimizer = paddle.optimizer.Momentum(0.1, parameters=layer.parameters(), **settings)
    for _ in range(3):
        ((layer(X) ** 2).sum() * 0.01).backward()
        optimizer.step()
        optimizer.clear_grad()
    return layer.weight.numpy().round(4).tolist()


def test_any_momentum() -> None:
    for momentum, first, second in ((1.0, 0.9515, 0.9062), (1.5, 0.9334, 0.8707), (-0.5, 0.9818, 0.9649)):
        assert np.allclose(_momentum(momentum=momentum), [[first] * 2, [second] * 2])
    assert np.allclose(_momentum(momentum=True), _momentum(momentum=1))
    assert _momentum(rescale_grad=np.array(0.5)) == _momentum(rescale_grad=0.5)


def test_decay_and_start_values_of_optimizers() -> None:
    for settings in ({"weight_decay": True}, {"weight_decay": 1.0}):
        assert np.allclose(_momentum(**settings), [[0.4481] * 2, [0.4131] * 2])
    made = paddle.optimizer.Adagrad(0.1, parameters=[X], initial_accumulator_value=paddle.to_tensor(0.5))
    assert made.initial_accumulator_value == 0.5


@pytest.mark.parametrize(("mode", "records"), [(1, True), (0, False), (None, False), (np.True_, True), (paddle.to_tensor(1), True), (paddle.to_tensor(False), False)])  # fmt: skip
def test_the_mode_of_recording(mode, records: bool) -> None:
    try:
        with paddle.set_grad_enabled(mode):
            assert paddle.is_grad_enabled() is records
    finally:
        paddle.set_grad_enabled(True)
    with pytest.raises(TypeError, match="set_grad_enabled: mode: expected True or False, got 'x'"):
        paddle.set_grad_enabled("x")


def test_schedules_that_start_late() -> None:
    lr = paddle.optimizer.lr

    def rates(schedule):
        found = []
        for _ in range(7):
            found.append(round(schedule(), 4))
            schedule.step()
        return found

    assert rates(lr.CosineAnnealingDecay(0.5, 4, 0.1, last_epoch=1)) == [
        0.3343,
        0.1686,
        0.1,
        0.1586,
        0.3,
        0.4414,
        0.5,
    ]
    assert rates(lr.CosineAnnealingDecay(0.5, 4, 0.1)) == [0.5, 0.4414, 0.3, 0.1586, 0.1, 0.1586, 0.3]
    assert rates(lr.LinearLR(0.5, 4, 0.5, 1.0, last_epoch=1)) == [0.6, 0.7, 0.8, 0.8, 0.8, 0.8, 0.8]
    assert rates(lr.LinearLR(0.5, 4, 0.5, 1.0)) == [0.25, 0.3125, 0.375, 0.4375, 0.5, 0.5, 0.5]
    assert rates(lr.LinearLR(0.5, 1.5, 0.5, 1.0)) == [0.25, 0.4167, 0.4167, 0.4167, 0.4167, 0.4167, 0.4167]
    jumped = lr.CosineAnnealingDecay(0.5, 4, 0.1)
    jumped.step(3)
    assert round(jumped(), 4) == 0.1586


def test_accuracy_of_fewer_classes_than_k() -> None:
    metric = paddle.metric.Accuracy(topk=(1, 5))
    scores = paddle.to_tensor([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3], [0.1, 0.1, 0.8], [0.2, 0.6, 0.2]])
    correct = metric.compute(scores, paddle.to_tensor([[1], [1], [0], [0]]))
    assert correct.shape == [4, 3]
    assert metric.update(correct) == [0.25, 1.0]


Z = np.array(
    [[0.3772 + 3.912j, -0.3963 + 2.8410j], [1.9213 - 2.1112j, 0.3147 - 3.7963j], [-3.0 + 1.0j, 3.0 - 1.0j]]
)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("softplus", lambda z: np.log(1 + np.exp(z))),
        ("log_sigmoid", lambda z: -np.log(1 + np.exp(-z))),
        ("hardswish", lambda z: np.where(z.real >= 3, z, np.where(z.real >= -3, z * (z + 3) / 6, 0))),
        ("silu", lambda z: z / (1 + np.exp(-z))),
        ("tanhshrink", lambda z: z - np.tanh(z)),
        ("softsign", lambda z: z / (1 + np.abs(z))),
    ],
)
def test_activations_of_complex_numbers(name: str, function) -> None:
    z = paddle.to_tensor(Z, stop_gradient=False)
    value = getattr(F, name)(z)
    np.testing.assert_allclose(value.numpy(), function(Z), rtol=1e-7)
    np.testing.assert_allclose(getattr(F, name)(z.detach()).numpy(), function(Z), rtol=1e-7)
    weights = np.linspace(0.5, 1.5, 6).reshape(3, 2) + 0.3j
    paddle.autograd.backward([value], [paddle.to_tensor(weights)])
    step, real = 1e-7, []
    for way in (step, step * 1j):  # the gradient of Re(conj(weights) f) by the real and by the imaginary part
        slope = (function(Z + way) - function(Z - way)) / (2 * step)
        real.append((np.conj(weights) * slope).real)
    expected = real[0] + 1j * real[1]
    inside = np.abs(np.abs(Z.real) - 3) > 1e-3  # away from the corners of hardswish
    np.testing.assert_allclose(z.grad.numpy()[inside], expected[inside], rtol=1e-5, atol=1e-6)


def test_softplus_above_its_threshold() -> None:
    z = paddle.to_tensor(Z[:1], stop_gradient=False)
    value = F.softplus(z, 1, 0)
    assert value[0, 0].numpy() == Z[0, 0] and value[0, 1].numpy() != Z[0, 1]
    x = paddle.to_tensor([1.5, 0.5], stop_gradient=False)
    (slope,) = paddle.grad(F.softplus(x, 1, 1).sum(), x, create_graph=True)
    np.testing.assert_allclose(slope.numpy(), [1.0, 1 / (1 + np.exp(-0.5))], rtol=1e-6)


@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 4), (0, 3, 2, 2)], ids=str)
def test_batch_norm_of_no_samples(shape) -> None:
    """Its gradient ended the process with a division by zero."""
    x, weight = paddle.zeros(shape), paddle.ones([3])
    x.stop_gradient = weight.stop_gradient = False
    value = F.batch_norm(x, paddle.zeros([3]), paddle.ones([3]), weight, paddle.zeros([3]))
    value.sum().backward()
    assert value.shape == x.grad.shape == list(shape) and weight.grad.tolist() == [0, 0, 0]


def test_the_default_axis_of_softmax() -> None:
    """`paddle.softmax` and the method have torch's default, `nn.functional.softmax` the last axis."""
    for shape, axis in (((3,), 0), ((2, 3), 1), ((2, 3, 4), 0), ((2, 3, 2, 2), 1), ((2, 1, 2, 1, 2), 1)):
        x = paddle.randn(shape)
        for got in (
            paddle.softmax(x),
            paddle.softmax(x, None),
            paddle.softmax(input=x, dim=None),
            x.softmax(),
        ):
            np.testing.assert_allclose(got.sum(axis).numpy(), np.ones(got.sum(axis).shape), rtol=1e-5)
        np.testing.assert_allclose(F.softmax(x).sum(-1).numpy(), np.ones(shape[:-1]), rtol=1e-5)
    assert paddle.softmax(paddle.to_tensor(2.0)).item() == 1


def test_empty_arrays_keep_their_rules() -> None:
    for shape, axis, expected in (((0, 3), -1, [0, 6]), ((3, 0), 0, [6, 0]), ((0, 3), 0, [0, 3])):
        assert paddle.repeat_interleave(paddle.zeros(shape), 2, axis).shape == expected
    for shape, expected in (((0, 3, 4, 6), [0, 12, 2, 3]), ((2, 3, 0, 6), [2, 12, 0, 3])):
        assert F.pixel_unshuffle(paddle.zeros(shape), 2).shape == expected


def test_whole_dtypes_round_their_bounds_first() -> None:
    assert paddle.linspace(0, 1.5, 5, "int32").tolist() == [0, 0, 0, 0, 1]
    assert paddle.linspace(0.7, 9.9, 5, "int64").tolist() == [0, 2, 4, 6, 9]
    assert paddle.arange(5.0, 1, -1.5, "int32").tolist() == [5, 4, 3, 2]
    with pytest.raises(ValueError, match="arange: step must not be 0"):
        paddle.arange(1, 4, 0.5, "int32")
    for padding in (2.0, np.array(2), paddle.to_tensor(2.0)):
        made = paddle.diag(paddle.to_tensor([1, 2]), 0, padding)
        assert made.tolist() == [[1, 2], [2, 2]] and made.dtype == paddle.int64


@pytest.mark.parametrize("bounds", [(1, 1), (-1, -1), (0, 0), (2.0, 2.0)])
def test_histogram_with_equal_bounds_takes_the_range_of_the_data(bounds):
    x = paddle.to_tensor([-2.0, 0.0, 1.0, 2.0, 2.0, 1.5])
    assert paddle.histogram(x, 4, *bounds).tolist() == [1, 0, 1, 4]


def test_axes_that_are_named_by_nothing():
    x = paddle.ones([1, 3, 1])
    assert paddle.squeeze(x, paddle.zeros([0], "int64")).shape == [1, 3, 1]
    assert paddle.squeeze(x, []).shape == [3]
    assert paddle.unsqueeze(x, None).shape == [1, 3, 1]


def test_whole_floats_as_sizes():
    labels, image = paddle.to_tensor([1, 0]), paddle.ones([1, 1, 3, 4])
    assert paddle.nn.functional.one_hot(labels, 4.0).shape == [2, 4]
    assert paddle.bincount(labels, minlength=3.0).tolist() == [1, 1, 0]
    assert paddle.nn.functional.interpolate(image, size=[4.0, 4.0]).shape == [1, 1, 4, 4]


NOT_SIZES = {
    "padding_idx": lambda x: paddle.nn.functional.embedding(paddle.to_tensor([1]), x, padding_idx=1.0),
    "pad": lambda x: paddle.nn.functional.pad(x, [1.0, 1.0, 1.0, 1.0]),
    "randint": lambda x: paddle.randint(0.0, 5.0),
}


@pytest.mark.parametrize("name", NOT_SIZES)
def test_floats_that_paddle_refuses(name):
    with pytest.raises(TypeError, match=name):
        NOT_SIZES[name](paddle.ones([3, 4]))


ONE_PLACE = {
    "index_select": lambda x, i: paddle.index_select(x, i),
    "index_add": lambda x, i: paddle.index_add(x, i, 0, x[1:2]),
    "index_fill": lambda x, i: paddle.index_fill(x, i, 0, 1.0),
    "index_put": lambda x, i: paddle.index_put(x, (i,), x[1]),
}


@pytest.mark.parametrize("name", ONE_PLACE)
def test_an_index_without_axes_is_refused(name):
    with pytest.raises(ValueError, match=f"{name}: index: expected at least one axis"):
        ONE_PLACE[name](paddle.ones([3, 4]), paddle.to_tensor(1))
