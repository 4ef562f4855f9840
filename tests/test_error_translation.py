"""Arguments of the wrong kind: which functions refuse them, by which class, and whom the error names.

The classes are those of PaddlePaddle 3.3.1, asked for the same calls; the list of functions is its public surface.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.engine.error_translation import first_line, raised_inside, translate_error
from sampan.engine.tensor import InvalidType

F = paddle.nn.functional
X = paddle.ones([2, 3])
ARRAY = np.ones((2, 3), np.float32)

# In place of a Tensor PaddlePaddle takes neither arrays nor lists, None or texts: it says ValueError, or TypeError.
FUNCTIONS = {
    "outer": lambda v: paddle.outer(v, X),
    "isin": lambda v: paddle.isin(X, v),
    "bucketize": lambda v: paddle.bucketize(X, v),
    "ldexp": lambda v: paddle.ldexp(v, X),
    "add": lambda v: paddle.add(X, v),
    "multiply": lambda v: paddle.multiply(v, X),
    "maximum": lambda v: paddle.maximum(X, v),
    "equal": lambda v: paddle.equal(v, X),
    "exp": lambda v: paddle.exp(v),
    "sum": lambda v: paddle.sum(v),
    "matmul": lambda v: paddle.matmul(X, v),
    "reshape": lambda v: paddle.reshape(v, [3, 2]),
    "gather": lambda v: paddle.gather(X, v),
    "fft": lambda v: paddle.fft.fft(v),
    "hfftn": lambda v: paddle.fft.hfftn(v),
    "svd_lowrank": lambda v: paddle.linalg.svd_lowrank(v),
    "softmax": lambda v: F.softmax(v),
    "cross_entropy": lambda v: F.cross_entropy(v, X),
    "batch_norm": lambda v: F.batch_norm(v, paddle.zeros([3]), paddle.ones([3])),
    "max_pool2d": lambda v: F.max_pool2d(v, 2),
    "index_fill": lambda v: paddle.index_fill(X, v, 0, 1.0),
}


@pytest.mark.parametrize(
    "given", [ARRAY, [[1.0, 2.0, 3.0]], None, "x"], ids=["array", "list", "None", "text"]
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_tensor_is_refused_by_name(name: str, given) -> None:
    with pytest.raises(ValueError) as caught:
        FUNCTIONS[name](given)
    assert name in str(caught.value)


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%", "**", "@", "==", "!=", "<", "<=", ">", ">="])
def test_signs_take_arrays(sign: str) -> None:
    t, a = paddle.to_tensor([1.0, 2.0]), np.float32([3.0, 4.0])
    for given in ({"x": t, "y": a}, {"x": a, "y": t}):
        got = eval(f"x {sign} y", {}, given)
        assert isinstance(got, paddle.Tensor)
        values = {name: np.asarray(value) for name, value in given.items()}
        np.testing.assert_allclose(got.numpy(), eval(f"x {sign} y", {}, values))


def test_a_method_refuses_an_array() -> None:
    with pytest.raises(ValueError, match="add: y: expected a Tensor, got ndarray"):
        X.add(ARRAY)
    with pytest.raises(ValueError, match="add: y: expected a Tensor, got ndarray"):
        paddle.add(X, y=ARRAY)


@pytest.mark.parametrize(
    "other", [None, [1.0, 2.0], (1.0, 2.0), {}, object()], ids=lambda v: type(v).__name__
)
def test_what_is_no_number_is_not_equal(other) -> None:
    same, differs = X.__eq__(other), X.__ne__(other)
    assert same is False and differs is True
    assert X not in [[], None] and X in [None, X]


def test_the_function_that_was_called_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"outer: y: expected a Tensor, got list \(got x=float32\[2, 3\], y=\[1\]\)"
    ):
        paddle.outer(X, [1])
    with pytest.raises(TypeError, match=r"argmax: invalid literal for int\(\).*axis='a'"):
        paddle.argmax(X, axis="a")
    with pytest.raises(TypeError, match=r"(allclose|isclose): .*float: 'a'"):
        paddle.allclose(X, X, rtol="a")


def test_own_words_and_a_users_errors_stay() -> None:
    def of_the_user(x):
        return x.nothing

    with pytest.raises(AttributeError, match="nothing"):
        of_the_user(X)
    try:
        of_the_user(X)
    except AttributeError as error:
        assert not raised_inside(error)
    assert not raised_inside(ValueError("axis: expected 0 or 1, got 2"))
    assert isinstance(translate_error(TypeError("wrong"), ["x"], [1], {}), InvalidType)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: torch.sum(X), "sum"),
        (lambda: torch.add(torch.ones(2, 3), X), "add"),
        (lambda: torch.cat([X, X]), "cat"),
        (lambda: torch.nn.functional.relu(X), "relu"),
        (lambda: torch.zeros(2, 3).copy_(X), "copy_"),
    ],
)
def test_torch_is_told_of_data(call, name: str) -> None:
    with pytest.raises(
        TypeError, match=rf"torch\.{name}: expected a torch.Tensor, got a sampan Tensor; its `.data` is one"
    ):
        call()


def test_torch_still_reads_and_computes() -> None:
    for made in (torch.as_tensor(X), torch.tensor(X), torch.asarray(X), torch.from_dlpack(X)):
        assert torch.equal(made, torch.ones(2, 3))
    assert isinstance(torch.ones(2, 3) + X, paddle.Tensor) and isinstance(torch.ones(3, 2) @ X, paddle.Tensor)
    two = paddle.to_tensor(2)
    b = torch.ones(2)
    for made in (
        b + two,
        b - two,
        b * two,
        b / two,
        b // two,
        b**two,
        b % two,
        b == two,
        b < two,
        two - b,
        two / b,
    ):
        assert isinstance(made, paddle.Tensor)
    w = paddle.to_tensor(2.0, stop_gradient=False)
    (torch.ones(2, 3) * w).sum().backward()
    assert w.grad.item() == 6


@pytest.mark.parametrize(("weight", "bias"), [(True, False), (False, True)])
def test_group_norm_with_only_a_weight_or_only_a_bias(weight: bool, bias: bool) -> None:
    values = torch.rand(2, 6, 4, dtype=torch.float64)
    leaves = [values, *(torch.rand(6, dtype=torch.float64) for _ in range(2))]
    ours = [paddle.to_tensor(v.clone(), stop_gradient=False) for v in leaves]
    theirs = [v.clone().requires_grad_() for v in leaves]
    w, b = (ours[1] if weight else None), (ours[2] if bias else None)
    (F.group_norm(ours[0], 3, 1e-5, w, b) ** 2).sum().backward()
    w, b = (
        (theirs[1] if weight else torch.ones(6).double()),
        (theirs[2] if bias else None),
    )  # torch wants a weight
    (torch.nn.functional.group_norm(theirs[0], 3, w, b, 1e-5) ** 2).sum().backward()
    for own, other in zip(ours, theirs, strict=True):
        assert (own.grad is None) == (other.grad is None)
        if own.grad is not None:
            np.testing.assert_allclose(own.grad.numpy(), other.grad.numpy(), rtol=1e-7)


SIGNAL = paddle.ones([2, 16])
FRAMES = paddle.ones([2, 5, 7], dtype="complex64")


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: paddle.fft.fft(SIGNAL, n=0), ValueError, r"fft: expected positive lengths, got \[0\]"),
        (lambda: paddle.fft.fft(SIGNAL, n=-1), ValueError, "fft: expected positive lengths"),
        (lambda: paddle.fft.fft(SIGNAL, n=2.0), ValueError, "fft: n: expected an int, got 2.0"),
        (lambda: paddle.fft.fft(SIGNAL, n=True), TypeError, "fft: n: expected an int, got True"),
        (lambda: paddle.fft.fft(SIGNAL, axis="x"), ValueError, "fft: axis: expected an int, got 'x'"),
        (lambda: paddle.fft.fft(SIGNAL, axis=2), ValueError, "fft: axis 2 is outside"),
        (lambda: paddle.fft.fft(SIGNAL, norm="x"), ValueError, "fft: norm: expected .* got 'x'"),
        (lambda: paddle.fft.fft(SIGNAL, norm=["ortho"]), ValueError, "fft: norm: expected"),
        (lambda: paddle.fft.fftn(SIGNAL, s=3), ValueError, "fftn: s: expected a list of ints, got 3"),
        (lambda: paddle.fft.fftn(SIGNAL, axes=[0, 0]), ValueError, r"fftn: axes \[0, 0\]"),
        (lambda: paddle.fft.rfft2(SIGNAL, axes=1), ValueError, "rfft2: axes: expected a list of ints, got 1"),
        (lambda: paddle.fft.rfft2(SIGNAL, s=[1.5, 2]), TypeError, "rfft2: s: expected a list of ints"),
        (lambda: paddle.fft.hfft(SIGNAL > 0), RuntimeError, r"hfft: x: expected numbers, got bool\[2, 16\]"),
        (lambda: paddle.fft.rfft(FRAMES), TypeError, "rfft: x: expected a real tensor"),
        (lambda: paddle.signal.stft(SIGNAL, 8, win_length=0), AssertionError, "stft: win_length: .* got 0"),
        (lambda: paddle.signal.stft(SIGNAL, 8, hop_length=0), AssertionError, "stft: hop_length: .* got 0"),
        (lambda: paddle.signal.stft(SIGNAL, 8, win_length=9), AssertionError, "window"),
        (lambda: paddle.signal.stft(SIGNAL, "8"), TypeError, "stft: n_fft: expected a positive int, got '8'"),
        (lambda: paddle.signal.stft(SIGNAL, 8, onesided=1), TypeError, "stft: onesided: expected a bool"),
        (lambda: paddle.signal.istft(FRAMES, 8, hop_length=0), AssertionError, "istft: hop_length: .* got 0"),
        (lambda: paddle.signal.istft(FRAMES, 8, win_length=[]), TypeError, r"istft: win_length: .* got \[\]"),
        (lambda: paddle.signal.istft(FRAMES, 8, length=-1), ValueError, "istft: length: .* got -1"),
    ],
)  # fmt: skip
def test_transforms_check_lengths_axes_and_norms(call, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize(
    ("name", "shape", "kind", "expected"),
    [
        ("fft", [0, 16], "float32", [0, 16]), ("fft", [2, 0], "float32", [2, 0]), ("rfft", [2, 0], "float32", [2, 1]),
        ("ihfft", [0, 16], "float32", [0, 9]), ("irfft", [0, 3], "complex64", [0, 4]), ("hfft", [3, 1], "complex64", [3, 0]),
        ("rfftn", [2, 3, 0], "float32", [2, 3, 1]), ("irfft2", [0, 3, 4], "complex64", [0, 3, 6]),
    ],
)  # fmt: skip
def test_transforms_of_nothing(name: str, shape: list[int], kind: str, expected: list[int]) -> None:
    x = paddle.zeros(shape, dtype=kind)
    x.stop_gradient = False
    y = getattr(paddle.fft, name)(x)
    assert y.shape == expected and not y.abs().numpy().any()
    y.abs().sum().backward()
    assert x.grad.shape == shape


def test_axes_none_are_all_axes() -> None:
    x = paddle.rand([2, 3, 4])
    np.testing.assert_allclose(paddle.fft.fft2(x, axes=None).numpy(), np.fft.fftn(x.numpy()), atol=1e-5)


@pytest.mark.parametrize(
    "number",
    [np.float32(0.25), np.float64(0.25), paddle.to_tensor(0.25)],
    ids=["float32", "float64", "tensor"],
)
@pytest.mark.parametrize(
    ("name", "settings"),
    [("leaky_relu", ["negative_slope"]), ("hardshrink", ["threshold"]), ("softplus", ["beta", "threshold"]), ("hardtanh", ["max"]),
     ("elu", ["alpha"]), ("celu", ["alpha"]), ("softshrink", ["threshold"]), ("thresholded_relu", ["threshold", "value"])],
)  # fmt: skip
def test_activations_take_numbers_of_numpy_and_of_tensors(name: str, settings: list[str], number) -> None:
    found = []
    for given in (0.25, number):
        x = paddle.to_tensor([-1.0, 0.2, 2.0], stop_gradient=False)
        y = getattr(F, name)(x, **dict.fromkeys(settings, given))
        y.sum().backward()
        found.append((y.numpy(), x.grad.numpy()))
    for plain, other in zip(*found, strict=True):
        np.testing.assert_array_equal(plain, other)


def test_differences_of_nothing_have_a_gradient_of_the_inputs_shape() -> None:
    for shape, n in (([2, 3], 100), ([2, 0], 1)):
        x = paddle.ones(shape)
        x.stop_gradient = False
        y = paddle.diff(x, n)
        y.sum().backward()
        assert y.shape == [2, 0] and x.grad.shape == shape


def test_renorm_of_a_vector_holds_each_number() -> None:
    x = paddle.to_tensor([0.5, -2.0, 3.0])  # PaddlePaddle's answer to the same call, to its epsilon of 1e-7
    np.testing.assert_allclose(paddle.renorm(x, 2.0, 0, 1.0).numpy(), [0.5, -1, 1], rtol=1e-6)


class _Of:
    """Makes a PyLayer whose forward and backward return what they are told."""

    def __init__(self, forward=None, backward=None) -> None:
        class Own(paddle.autograd.PyLayer):
            @staticmethod
            def forward(ctx, x):
                return x * 2 if forward is None else forward(x)

            @staticmethod
            def backward(ctx, g):
                return g * 2 if backward is None else backward(g)

        self.layer = Own


@pytest.mark.parametrize("returned", [None, "a", 3, (), (None,)], ids=str)
def test_a_py_layer_returns_a_tensor(returned) -> None:
    with pytest.raises(ValueError, match=r"Own\.forward: expected to return at least one Tensor"):
        _Of(forward=lambda x: returned).layer.apply(X)


@pytest.mark.parametrize("returned", ["a", 1.0, ARRAY], ids=["text", "number", "array"])
def test_the_backward_of_a_py_layer_returns_tensors(returned) -> None:
    x = paddle.ones([2, 3])
    x.stop_gradient = False
    with pytest.raises(ValueError, match=r"Own\.backward: expected Tensors and None to be returned"):
        _Of(backward=lambda g: returned).layer.apply(x).sum().backward()


def test_layers_and_parameters_check_names_and_kinds() -> None:
    layer = paddle.nn.Linear(2, 2)
    layer.plain = 3
    parameter = paddle.create_parameter([2], "float32")
    for name in ("plain", "forward", "", "a.b"):
        with pytest.raises(KeyError, match="name"):
            layer.add_parameter(name, parameter)
    for wrong in ("1", 1, None):
        with pytest.raises(ValueError, match="trainable: expected a bool"):
            parameter.trainable = wrong


@pytest.mark.parametrize(
    "kind",
    [np.float32, np.float64, np.array, paddle.to_tensor],
    ids=["float32", "float64", "array", "tensor"],
)
def test_numbers_of_numpy_are_hyperparameters(kind) -> None:
    found = []
    for of in (float, kind):
        p = paddle.create_parameter([2], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
        adam = paddle.optimizer.Adam(
            0.1, beta1=of(0.5), epsilon=of(0.25), weight_decay=of(0.5), parameters=[p]
        )
        p.sum().backward()
        adam.step()
        found.append(p.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)
    decay = paddle.optimizer.lr.ExponentialDecay(0.5, kind(0.5))
    decay.step()
    assert decay() == 0.25


def test_a_learning_rate_below_zero_climbs() -> None:
    p = paddle.create_parameter([1], "float32", default_initializer=paddle.nn.initializer.Constant(1.0))
    climber = paddle.optimizer.SGD(np.float64(-0.5), parameters=[p])
    p.sum().backward()
    climber.step()
    assert p.item() == 1.5


def test_kernel_sizes_of_numpy() -> None:
    image = paddle.rand([1, 2, 6, 6])
    for size in ([3, 2], np.array([3, 2])):
        assert F.max_pool2d(image, size, np.array([1, 2]), np.array([1, 0])).shape == [1, 2, 6, 3]


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda a: paddle.transpose(X, a([1, 0])), [3, 2]), (lambda a: paddle.expand(X, a([4, 2, 3])), [4, 2, 3]),
        (lambda a: paddle.broadcast_to(X, a([4, 2, 3])), [4, 2, 3]), (lambda a: paddle.unsqueeze(X, a([0, 1])), [1, 1, 2, 3]),
        (lambda a: paddle.squeeze(paddle.ones([1, 3, 1]), a([0, 2])), [3]), (lambda a: paddle.flip(X, a([0, 1])), [2, 3]),
        (lambda a: paddle.roll(X, a([1, 2]), a([0, 1])), [2, 3]), (lambda a: paddle.reshape(X, a([3, 2])), [3, 2]),
        (lambda a: paddle.tile(X, a([2, 1])), [4, 3]), (lambda a: paddle.sum(X, a([0, 1])), []),
    ],
)  # fmt: skip
def test_arrays_are_lists_of_axes_and_lengths(call, shape: list[int]) -> None:
    for kind in (list, np.array):
        assert call(kind).shape == shape


def test_tensors_of_one_entry_are_sizes_and_numbers() -> None:
    three, two = paddle.to_tensor(3), paddle.to_tensor([2], dtype="int32")
    assert paddle.create_parameter([three, two], "float32").shape == [3, 2]
    assert paddle.nn.BatchNorm1D(three).weight.shape == [3]
    assert paddle.nn.LSTM(three, 4)(paddle.ones([2, 5, 3]))[0].shape == [2, 5, 4]
    assert F.conv1d(paddle.ones([1, 4, 5]), paddle.ones([6, 2, 3]), groups=paddle.to_tensor(2)).shape == [
        1,
        6,
        3,
    ]
    assert paddle.increment(paddle.ones([1]), paddle.to_tensor(2)).tolist() == [3.0]
    assert paddle.clip(X, np.array([2.0]), 3.0).tolist() == [[2.0] * 3] * 2
    assert paddle.signal.istft(FRAMES, np.array(8), length=paddle.to_tensor(6)).shape == [2, 6]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("Conv2D", lambda: paddle.nn.Conv2D(3, 8.0, 3)),
        ("Embedding", lambda: paddle.nn.Embedding(10.0, 3)),
        ("BatchNorm1D", lambda: paddle.nn.BatchNorm1D(3.0)),
        ("GRUCell", lambda: paddle.nn.GRUCell(3, 4.0)),
        ("create_parameter", lambda: paddle.create_parameter([2.0, 3], "float32")),
    ],
)
def test_sizes_of_layers_that_are_no_integers(name: str, call) -> None:
    with pytest.raises(TypeError, match=rf"^{name}: shape: expected integers, got \[.*\.0"):
        call()


@pytest.mark.parametrize("given", ["x", 1.5, None, [1.0]], ids=repr)
def test_an_in_place_twin_of_what_is_no_tensor(given) -> None:
    for name in ("exp_", "add_", "bitwise_xor_", "equal_"):
        with pytest.raises(TypeError, match=f"^{name}: x: expected a Tensor, got {type(given).__name__}"):
            getattr(paddle, name)(given, *([] if name == "exp_" else [X]))


def test_a_refusal_names_the_function_that_was_called() -> None:
    class Net(paddle.nn.Layer):
        def forward(self, x):
            return paddle.concat([x, paddle.ones([2, 4])])

    with pytest.raises(ValueError, match=r"^concat: Sizes"):
        Net()(X)
    with pytest.raises(ValueError, match=r"^Linear: linear: expected x \[\.\.\., in\]"):
        paddle.nn.Linear(4, 2)(X)
    with pytest.raises(ValueError, match=r"^renorm: p: expected a number, got 'a'"):
        paddle.renorm(X, "a", 0, 1.0)


# One wrong argument each, of functions that are not operators: the error says which function it was.
PLAIN = {
    "add_n": lambda: paddle.add_n(None),
    "block_diag": lambda: paddle.block_diag(None),
    "einsum": lambda: paddle.einsum(None, X),
    "unbind": lambda: paddle.unbind([1.0]),
    "multiplex": lambda: paddle.multiplex(None, X),
    "zeros_like": lambda: paddle.zeros_like(None),
    "full": lambda: paddle.full([2], "x"),
    "tril_indices": lambda: paddle.tril_indices(ARRAY, 2),
    "normal_": lambda: paddle.normal_(None),
    "dstack": lambda: paddle.dstack(None),
    "hsplit": lambda: paddle.hsplit(None, 2),
    "less_than_": lambda: paddle.less_than_(paddle.ones([1]), X),
    "pixel_shuffle": lambda: F.pixel_shuffle(X, X),
    "affine_grid": lambda: F.affine_grid(None, [1, 1, 2, 2]),
    "fftfreq": lambda: paddle.fft.fftfreq(None),
    "nms": lambda: paddle.vision.ops.nms(None),
    "roi_align": lambda: paddle.vision.ops.roi_align(None, X, X, 1),
    "yolo_box": lambda: paddle.vision.ops.yolo_box(X, X, [1, 2], 1, 0.1, 8),
    "center_crop": lambda: paddle.vision.transforms.center_crop(None, 2),
    "resize": lambda: paddle.vision.transforms.resize(ARRAY, None),
    "viterbi_decode": lambda: paddle.text.viterbi_decode(None, X, X),
    "accuracy": lambda: paddle.metric.accuracy(None, X),
}


@pytest.mark.parametrize("name", PLAIN)
def test_functions_that_are_no_operators_are_named(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"^{name}: ") as caught:
        PLAIN[name]()
    assert str(caught.value).count(f"{name}: ") == 1


@pytest.mark.parametrize("name", ["sum", "mean", "max", "all", "logsumexp", "std", "nansum"])
@pytest.mark.parametrize("axis", [True, [False]])
def test_a_bool_is_no_axis(name: str, axis) -> None:
    with pytest.raises(TypeError, match=f"^{name}: axis"):
        getattr(paddle, name)(X, axis)


def test_a_gpu_that_stopped_says_why():
    text = first_line(RuntimeError("CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert'"))
    assert "an index or a label of an earlier call was out of range" in text
