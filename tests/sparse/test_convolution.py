"""Sparse convolution and pooling, against torch's dense ones on the same values, and PaddlePaddle's own figures."""

import numpy as np
import pytest
import torch

import sampan
from sampan import sparse
from sampan.kernels import cpu_sparse_conv

F = sparse.nn.functional
PLACES = np.array([[0, 0, 0], [0, 1, 2], [1, 1, 0], [2, 0, 1]])


def small():
    return sparse.sparse_coo_tensor(
        PLACES, np.arange(6.0).reshape(3, 2), [1, 3, 3, 3, 2], stop_gradient=False
    )


def cloud(sizes, channels, seed=0, density=0.2):
    """Random entries, and the dense array that they stand for, channels first."""
    rng = np.random.default_rng(seed)
    array = rng.standard_normal((*sizes, channels)) * (rng.random(sizes) < density)[..., None]
    made = sparse.dense_to_coo(sampan.to_tensor(array), len(sizes))
    made.stop_gradient = False
    return made, torch.tensor(np.moveaxis(array, -1, 1), requires_grad=True)


def weights(shape, seed=1):
    """As this library has them, [kernel ..., in / groups, out], and as torch has them."""
    array = np.random.default_rng(seed).standard_normal(shape)
    axes = len(shape) - 2
    theirs = torch.tensor(array.transpose(axes + 1, axes, *range(axes)), requires_grad=True)
    return sampan.to_tensor(array, stop_gradient=False), theirs


def last(tensor):
    return tensor.detach().movedim(1, -1).numpy()


def weight_grad(theirs):
    axes = theirs.ndim - 2
    return theirs.grad.permute(*range(2, axes + 2), 1, 0).numpy()


@pytest.mark.parametrize(
    ("sizes", "settings"),
    [
        ((2, 5, 6, 7), {}),
        ((2, 5, 6, 7), {"stride": 2, "padding": 1}),
        ((1, 5, 6, 7), {"padding": 2, "dilation": 2}),
        ((1, 5, 6, 7), {"stride": (2, 1, 2), "padding": (1, 0, 1)}),
        ((2, 5, 6, 7), {"groups": 2, "stride": 2}),
        ((2, 8, 9), {"stride": 2, "padding": 1}),
        ((2, 8, 9), {"groups": 4}),
    ],
)
def test_convolution_with_both_gradients(sizes, settings):
    axes, groups = len(sizes) - 1, settings.get("groups", 1)
    (x, t), (w, u) = cloud(sizes, 4), weights((*(3,) * axes, 4 // groups, 8))
    b = sampan.to_tensor(np.arange(8.0), stop_gradient=False)
    out = getattr(F, f"conv{axes}d")(x, w, b, **settings)
    expected = getattr(torch.nn.functional, f"conv{axes}d")(t, u, None, **settings)
    there = (np.abs(last(getattr(torch.nn.functional, f"conv{axes}d")((t != 0).double(), torch.ones_like(u), None, **settings))) > 0).any(-1)  # fmt: skip
    assert out.nnz() == there.sum() and np.allclose(
        out.numpy(), last(expected) + np.arange(8.0) * there[..., None]
    )
    ((out.values() - b) ** 2).sum().backward()
    (expected**2).sum().backward()
    mine = (t.detach() != 0).any(1, keepdim=True)
    assert np.allclose(x.grad.numpy(), last(t.grad * mine)) and np.allclose(w.grad.numpy(), weight_grad(u))


@pytest.mark.parametrize(("sizes", "settings"), [((2, 5, 6, 7), {}), ((1, 6, 6, 6), {"dilation": 2}), ((2, 9, 8), {"groups": 2})])  # fmt: skip
def test_submanifold_convolution_keeps_the_pattern(sizes, settings):
    axes, groups = len(sizes) - 1, settings.get("groups", 1)
    (x, t), (w, u) = cloud(sizes, 4), weights((*(3,) * axes, 4 // groups, 6))
    out = getattr(F, f"subm_conv{axes}d")(x, w, **settings)
    mask = (t.detach() != 0).any(1, keepdim=True)
    whole = getattr(torch.nn.functional, f"conv{axes}d")(
        t, u, None, padding=settings.get("dilation", 1), **settings
    )
    assert out.pattern is x.pattern and np.allclose(out.numpy(), last(whole * mask))
    (out.values() ** 2).sum().backward()
    ((whole * mask) ** 2).sum().backward()
    assert np.allclose(x.grad.numpy(), last(t.grad * mask)) and np.allclose(w.grad.numpy(), weight_grad(u))


def test_values_are_those_of_paddle():
    x, w = small(), sampan.ones([3, 3, 3, 2, 2], dtype="float64")
    assert F.conv3d(x, w).values().tolist() == [[15, 15]]
    assert [F.conv3d(x, w, None, 1, 1).nnz(), F.conv3d(x, w, None, 2, 1).nnz()] == [26, 7]
    for padding in (0, 1):  # the kernel is centred whatever it says
        assert F.subm_conv3d(x, w, None, 1, padding).values().tolist() == [[1, 1], [14, 14], [14, 14]]
    pooled = F.max_pool3d(x, 2, 1)
    assert pooled.indices().tolist() == [
        [0] * 7,
        [0, 0, 0, 0, 1, 1, 1],
        [0, 0, 1, 1, 0, 0, 1],
        [0, 1, 0, 1, 0, 1, 0],
    ]
    assert pooled.values().tolist() == [[2, 3], [0, 1], [2, 3], [0, 1], [4, 5], [4, 5], [2, 3]]


def test_the_transpose_reaches_what_each_entry_reaches():
    for sizes in ((2, 4, 5, 3), (2, 5, 4)):
        axes = len(sizes) - 1
        (x, t), (w, _) = cloud(sizes, 4), weights((*(3,) * axes, 4, 5))
        u = torch.tensor(np.moveaxis(w.numpy(), (-2, -1), (0, 1)), requires_grad=True)
        out = getattr(F, f"conv{axes}d_transpose")(x, w, None, 2, 1)
        expected = getattr(torch.nn.functional, f"conv_transpose{axes}d")(t, u, None, 2, 1)
        assert out.shape == list(last(expected).shape) and np.allclose(out.numpy(), last(expected))
        (out.values() ** 2).sum().backward()
        (expected**2).sum().backward()
        mine = (t.detach() != 0).any(1, keepdim=True)
        assert np.allclose(x.grad.numpy(), last(t.grad * mine))
        assert np.allclose(w.grad.numpy(), np.moveaxis(u.grad.numpy(), (0, 1), (-2, -1)))


def test_an_inverse_convolution_returns_to_the_entries_it_came_from():
    (x, t), (w, u) = cloud((2, 6, 6, 6), 3), weights((2, 2, 2, 3, 4))
    down = F.conv3d(x, w, None, 2, 0, key="down")
    v = sampan.to_tensor(np.random.default_rng(3).standard_normal((2, 2, 2, 4, 5)))
    up = F.inverse_conv3d(down, v, "down")
    assert up.pattern is x.pattern
    low = torch.nn.functional.conv3d(t, u, None, 2)
    turned = torch.tensor(np.moveaxis(v.numpy(), (-2, -1), (0, 1)))
    whole = torch.nn.functional.conv_transpose3d(low, turned, None, 2)
    assert np.allclose(up.numpy(), last(whole * (t.detach() != 0).any(1, keepdim=True)))
    with pytest.raises(
        ValueError, match=r"key: expected that of a convolution .* got 'other'; x knows \['down'\]"
    ):
        F.inverse_conv3d(down, v, "other")


def test_second_derivatives():
    (x, t), (w, u) = cloud((1, 4, 4, 4), 2, density=0.3), weights((3, 3, 3, 2, 3))
    mask = (t.detach() != 0).any(1, keepdim=True)
    first = sampan.grad((F.subm_conv3d(x, w).values() ** 3).sum(), [x.values(), w], create_graph=True)
    whole = torch.nn.functional.conv3d(t, u, None, padding=1) * mask
    theirs = torch.autograd.grad((whole**3).sum(), [t, u], create_graph=True)
    ((first[0] ** 2).sum() + (first[1] ** 2).sum()).backward()
    (((theirs[0] * mask) ** 2).sum() + (theirs[1] ** 2).sum()).backward()
    assert np.allclose(x.grad.numpy(), last(t.grad * mask)) and np.allclose(w.grad.numpy(), weight_grad(u))


def test_layers_over_one_pattern_share_the_search():
    x, _ = cloud((1, 6, 6, 6), 4)
    net = sampan.nn.Sequential(
        sparse.nn.SubmConv3D(4, 4, 3), sparse.nn.BatchNorm(4), sparse.nn.ReLU(), sparse.nn.SubmConv3D(4, 2, 3)
    )
    net.to(dtype="float64")
    net(x)
    assert len(x.pattern.books) == 1


def test_a_large_space_is_searched_by_hashing_with_the_same_result(monkeypatch):
    (x, _), (w, _) = cloud((2, 7, 6, 5), 3), weights((3, 3, 3, 3, 4))
    found = [F.conv3d(x, w, None, 2, 1).numpy(), F.subm_conv3d(x, w).numpy()]
    monkeypatch.setattr(cpu_sparse_conv, "LARGEST_GRID", 0)
    x.pattern.books.clear()
    assert np.array_equal(F.conv3d(x, w, None, 2, 1).numpy(), found[0])
    assert np.array_equal(F.subm_conv3d(x, w).numpy(), found[1])
    far = sparse.sparse_coo_tensor([[0, 0], [5, 6], [99_999, 99_998], [7, 7]], [[1.0], [2.0]], [1, 100_000, 100_000, 100_000, 1])  # fmt: skip
    assert F.subm_conv3d(far, sampan.ones([3, 3, 3, 1, 1])).values().tolist() == [[3], [3]]


@pytest.mark.parametrize("ceil_mode", [False, True])
def test_pools(ceil_mode):
    x, t = cloud((2, 5, 6, 7), 3)
    for settings in ({"stride": 2}, {"stride": 1, "padding": 1}):
        x.clear_grad(False)
        t.grad = None
        out = F.max_pool3d(x, 2, ceil_mode=ceil_mode, **settings)
        holes = t.masked_fill((t.detach() == 0).all(1, keepdim=True), -torch.inf)
        expected = torch.nn.functional.max_pool3d(holes, 2, ceil_mode=ceil_mode, **settings)
        expected = expected.masked_fill(expected == -torch.inf, 0)
        assert np.allclose(out.numpy(), last(expected))
        (out.values() ** 2).sum().backward()
        (expected**2).sum().backward()
        assert np.allclose(x.grad.numpy(), last(t.grad))
    mean = F.avg_pool3d(x, 2, 2)
    there = (t.detach() != 0).any(1, keepdim=True).double()
    sums, counts = (8 * torch.nn.functional.avg_pool3d(v, 2, 2) for v in (t.detach(), there))
    assert np.allclose(mean.numpy(), last(sums / counts.clamp(min=1)))
    total = F.global_avg_pool(x)
    assert np.allclose(total.numpy(), (t.sum((2, 3, 4)) / there.sum((2, 3, 4))).detach())


def test_layers():
    kinds = sparse.nn
    x, _ = cloud((1, 6, 6, 6), 4)
    conv = kinds.Conv3D(4, 8, 3, stride=2, padding=1, key="d").to(dtype="float64")
    assert conv.weight.shape == [3, 3, 3, 4, 8] and conv.bias.shape == [8]
    assert repr(kinds.SubmConv3D(2, 4, 3)) == "SubmConv3D(2, 4, kernel_size=[3, 3, 3], data_format=NDHWC)"
    back = kinds.InverseConv3D(8, 4, 3, key="d").to(dtype="float64")
    assert back(conv(x)).pattern is x.pattern
    assert kinds.MaxPool3D(2, 2)(x).shape == [1, 3, 3, 3, 4] and kinds.AvgPool3D(2, 2)(x).shape == [
        1,
        3,
        3,
        3,
        4,
    ]
    assert kinds.Linear(4, 5).to(dtype="float64")(x).shape == [1, 6, 6, 6, 5]
    assert kinds.Conv3DTranspose(4, 2, 2, 2).to(dtype="float64")(x).shape == [1, 12, 12, 12, 2]
    y, _ = cloud((1, 6, 6), 4)
    for layer, shape in [
        (kinds.Conv2D(4, 3, 3), [1, 4, 4, 3]),
        (kinds.SubmConv2D(4, 3, 3), [1, 6, 6, 3]),
        (kinds.Conv2DTranspose(4, 3, 2, 2), [1, 12, 12, 3]),
        (kinds.MaxPool2D(2), [1, 3, 3, 4]),
    ]:
        assert layer.to(dtype="float64")(y).shape == shape
    sampan.seed(0)
    assert abs(float(kinds.Conv2D(64, 64, 3).weight.std()) - (2 / (64 * 9)) ** 0.5) < 1e-3


def test_half_precision_is_summed_in_single():
    x, _ = cloud((1, 6, 6, 6), 16)
    w, _ = weights((3, 3, 3, 16, 8))
    exact = F.subm_conv3d(x, w).numpy()
    half = F.subm_conv3d(x.astype("bfloat16"), w.astype("bfloat16"))
    assert half.dtype is torch.bfloat16
    assert np.abs(half.to_dense().astype("float64").numpy() - exact).max() < 0.02 * np.abs(exact).max()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w: F.conv3d(x, w, data_format="NCDHW"), "data_format: expected 'NDHWC', got 'NCDHW'"),
        (lambda x, w: F.conv2d(x, w), "x: expected coordinates over batch and 2 axes"),
        (lambda x, w: F.conv3d(x, w[0]), "weight: expected 3 kernel axes"),
        (lambda x, w: F.conv3d(x, w[..., :1, :]), r"weight: expected \[..., 2 / groups, out\]"),
        (lambda x, w: F.conv3d(x, w, None, 1, 0, 2), "does not fit"),
        (lambda x, w: F.conv3d(x, w, None, (1, 1)), "stride: expected an int or 3"),
        (lambda x, w: sparse.nn.Conv3D(2, 2, 3, padding_mode="circular"), "padding_mode: expected 'zeros'"),
        (lambda x, w: sparse.nn.Conv3D(2, 3, 3, groups=2), "groups: expected a divisor of 2 and 3"),
        (lambda x, w: sparse.nn.MaxPool3D(2, return_mask=True), "return_mask"),
        (lambda x, w: sparse.nn.SubmConv3D(2, 2, 3, backend="other"), "backend: expected None or 'igemm'"),
        (lambda x, w: sparse.nn.Linear(2, 2)(sampan.ones([2, 2]).to_sparse_coo(2)), "expected the channels"),
    ],
)
def test_what_cannot_be_convolved_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(small(), sampan.ones([3, 3, 3, 2, 2], dtype="float64"))
