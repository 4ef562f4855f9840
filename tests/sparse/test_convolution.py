"""Sparse convolution and pooling, against torch's dense ones on the same values, and PaddlePaddle's own figures."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings as with_settings
from hypothesis import strategies as st

import sampan
from sampan import sparse
from sampan.kernels import cpu_sparse_conv, cpu_sparse_gemm
from tests.sparse.clouds import PLACES, cloud, small, weights

from .drawn import examples

F = sparse.nn.functional


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


def agree(x, t, w, u, out, expected):
    """Values and both gradients of a sparse result and its dense twin, at the places that each has."""
    assert np.allclose(out.numpy(), last(expected))
    (out.values() ** 3).sum().backward()
    (expected**3).sum().backward()
    mine = (t.detach() != 0).any(1, keepdim=True)
    assert np.allclose(x.grad.numpy(), last(t.grad * mine)) and np.allclose(w.grad.numpy(), weight_grad(u))


@pytest.mark.parametrize(
    ("sizes", "kernel", "settings"),
    [
        ((2, 3, 2, 4), (5, 5, 5), {"padding": 2}),  # larger than the grid
        ((1, 7, 8, 9), (3, 3, 3), {"stride": 3, "padding": 1}),
        ((1, 7, 8, 9), (3, 1, 3), {"dilation": 2, "padding": (2, 0, 2)}),
        ((2, 6, 5, 7), (2, 4, 2), {"stride": (1, 2, 3)}),
        ((3, 9, 7), (4, 2), {"padding": 2, "stride": 2, "dilation": 2}),
        ((2, 6, 7), (1, 1), {}),
    ],
)
def test_kernels_of_every_shape(sizes, kernel, settings):
    axes = len(kernel)
    (x, t), (w, u) = cloud(sizes, 3), weights((*kernel, 3, 5))
    dense = getattr(torch.nn.functional, f"conv{axes}d")
    agree(x, t, w, u, getattr(F, f"conv{axes}d")(x, w, **settings), dense(t, u, **settings))


def test_padding_of_each_side_apart():
    (x, t), (w, u) = cloud((2, 4, 5, 6), 3), weights((3, 2, 3, 3, 4))
    padded = torch.nn.functional.pad(t, (2, 1, 0, 2, 1, 0))  # torch begins at the last axis
    agree(
        x,
        t,
        w,
        u,
        F.conv3d(x, w, None, 2, [1, 0, 0, 2, 2, 1]),
        torch.nn.functional.conv3d(padded, u, None, 2),
    )


@pytest.mark.parametrize("kernel", [(2, 2, 2), (4, 3, 2), (5, 5, 5)])
def test_submanifolds_of_even_and_of_large_kernels(kernel):
    (x, t), (w, u) = cloud((2, 4, 3, 5), 2), weights((*kernel, 2, 3))
    sides = [
        side for k in kernel[::-1] for side in (k // 2, k - 1 - k // 2)
    ]  # centred at k // 2, as in Paddle
    mask = (t.detach() != 0).any(1, keepdim=True)
    agree(
        x,
        t,
        w,
        u,
        F.subm_conv3d(x, w),
        torch.nn.functional.conv3d(torch.nn.functional.pad(t, sides), u) * mask,
    )


@with_settings(examples, max_examples=25)
@given(st.data())
def test_any_convolution_is_the_dense_one(data):
    axes = data.draw(st.sampled_from([2, 3]))
    several = st.tuples(*[st.integers(1, 3)] * axes)
    kernel, stride, dilation = (data.draw(several) for _ in range(3))
    padding = data.draw(st.tuples(*[st.integers(0, 2)] * axes))
    least = [max(d * (k - 1) + 1 - 2 * p, 1) for k, d, p in zip(kernel, dilation, padding, strict=True)]
    sizes = [n + data.draw(st.integers(0, 3)) for n in least]
    inside, outside = data.draw(st.integers(1, 8)), data.draw(st.sampled_from([1, 16, 33]))
    seed, density = data.draw(st.integers(0, 1000)), data.draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    (x, t), (w, u) = cloud((2, *sizes), inside, seed, density), weights((*kernel, inside, outside))
    steps = {"stride": stride, "padding": padding, "dilation": dilation}
    dense = getattr(torch.nn.functional, f"conv{axes}d")(t, u, None, **steps)
    agree(x, t, w, u, getattr(F, f"conv{axes}d")(x, w, **steps), dense)


def test_gradients_by_finite_differences():
    rng = np.random.default_rng(5)
    v, w, b = rng.standard_normal((3, 2)), rng.standard_normal((3, 3, 3, 2, 3)), rng.standard_normal(3)

    def loss(v, w, b):
        x = sparse.sparse_coo_tensor(PLACES, v, [1, 3, 3, 3, 2])
        return (F.avg_pool3d(F.conv3d(F.max_pool3d(x, 2, 1), w, b, 1, 1), 2).values() ** 3).sum()

    leaves = [sampan.to_tensor(a, stop_gradient=False) for a in (v, w, b)]
    found = sampan.grad(loss(*leaves), leaves)
    for place, gradient in enumerate(found):
        step = rng.standard_normal(gradient.shape)
        ends = [[a + h * step if i == place else a for i, a in enumerate((v, w, b))] for h in (1e-6, -1e-6)]
        slope = (loss(*map(sampan.to_tensor, ends[0])) - loss(*map(sampan.to_tensor, ends[1]))) / 2e-6
        assert np.isclose((gradient.numpy() * step).sum(), float(slope), rtol=1e-6)


def test_places_that_repeat_are_added_up_first():
    twice = np.concatenate([np.vstack([np.zeros((1, 4), int), PLACES.T])] * 2, axis=1)
    values = np.arange(16.0).reshape(8, 2)
    x = sparse.sparse_coo_tensor(twice, values, [1, 3, 3, 3, 2])
    once = sparse.sparse_coo_tensor(twice[:, :4], values[:4] + values[4:], [1, 3, 3, 3, 2])
    w, _ = weights((3, 3, 3, 2, 3))
    for run in (F.subm_conv3d, F.conv3d):
        assert np.allclose(run(x, w).numpy(), run(once, w).numpy())
    assert np.allclose(F.max_pool3d(x, 2).numpy(), F.max_pool3d(once, 2).numpy())


def test_clouds_of_no_entry_and_of_one_and_a_batch_with_an_empty_sample():
    w, _ = weights((3, 3, 3, 2, 3))
    w.stop_gradient = False
    none = sparse.sparse_coo_tensor(
        np.zeros((4, 0), int), np.zeros((0, 2)), [2, 4, 4, 4, 2], stop_gradient=False
    )
    for out in (F.subm_conv3d(none, w), F.conv3d(none, w, None, 2, 1), F.conv3d_transpose(none, w, None, 2), F.max_pool3d(none, 2), F.avg_pool3d(none, 2)):  # fmt: skip
        assert out.nnz() == 0 and out.shape[0] == 2
        out.values().sum().backward()
        assert none.grad.values().shape == [0, 2]
    assert float(w.grad.abs().sum()) == 0 and F.global_avg_pool(none).tolist() == [[0, 0], [0, 0]]
    one = sparse.sparse_coo_tensor(
        [[1], [3], [0], [3]], [[2.0, -3.0]], [2, 4, 4, 4, 2], "float64", stop_gradient=False
    )
    assert np.allclose(F.subm_conv3d(one, w).values().numpy(), np.array([[2.0, -3.0]]) @ w.numpy()[1, 1, 1])
    assert F.conv3d(one, w, None, 1, 1).nnz() == 8 and F.max_pool3d(one, 2).values().tolist() == [[2, -3]]
    means = F.global_avg_pool(one)
    assert means.tolist() == [[0, 0], [2, -3]]
    means.sum().backward()
    assert one.grad.values().tolist() == [[1, 1]]


def test_pools_over_two_axes_and_what_is_not_a_number():
    x, t = cloud((2, 5, 6), 3)
    there = (t.detach() != 0).any(1, keepdim=True).double()
    sums, counts = (torch.nn.functional.avg_pool2d(v, 3, 2, 1) for v in (t, there))
    expected = sums / counts.masked_fill(counts == 0, 1)
    out = F.avg_pool2d(x, 3, 2, 1)
    assert np.allclose(out.numpy(), last(expected))
    (out.values() ** 2).sum().backward(retain_graph=True)
    (expected**2).sum().backward()
    assert np.allclose(x.grad.numpy(), last(t.grad * there))
    second = sampan.grad((out.values() ** 3).sum(), [x.values()], create_graph=True)[0]
    assert np.isfinite(sampan.grad((second**2).sum(), [x.values()])[0].numpy()).all()
    holed = sparse.sparse_coo_tensor([[0, 0], [0, 0], [0, 1]], [[np.nan], [1.0]], [1, 1, 2, 1])
    assert np.isnan(F.max_pool2d(holed, (1, 2)).values().numpy()).all()


def test_a_transposed_convolution_is_undone_by_its_key():
    (x, _), (w, _) = cloud((1, 4, 4, 4), 2), weights((2, 2, 2, 2, 3))
    up = F.conv3d_transpose(x, w, None, 2, key="up")
    back = F.inverse_conv3d(up, sampan.ones([2, 2, 2, 3, 1], dtype="float64"), "up")
    assert back.pattern is x.pattern
    assert np.allclose(back.values().numpy()[:, 0], x.values().numpy() @ w.numpy().sum((0, 1, 2)).sum(-1))


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    """Serial and parallel loops share the work out alike: float32 sums are equal bit by bit."""
    made, _ = cloud((2, 16, 16, 16), 8, density=0.6)
    x, w = made.astype("float32").detach(), weights((3, 3, 3, 8, 16))[0].astype("float32").detach()
    x.stop_gradient = w.stop_gradient = False
    found = []
    for least in (0, 10**12):
        for home in (cpu_sparse_gemm, cpu_sparse_conv):
            for name in [n for n in vars(home) if n.endswith("_loop")]:
                monkeypatch.setattr(getattr(home, name), "parallel_from", least)
        x.pattern.__dict__.pop("books", None)
        x.clear_grad(False), w.clear_grad(False)
        out = F.max_pool3d(F.subm_conv3d(F.conv3d(x, w, None, 2, 1), w.tile([1, 1, 1, 2, 1])), 2)
        F.avg_pool3d(out, 2).values().square().sum().backward()
        found.append((out.values().numpy(), x.grad.values().numpy(), w.grad.numpy()))
    assert len(out.values()) > 50 and all(np.array_equal(a, b) for a, b in zip(*found, strict=True))


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
        (lambda x, w: sparse.nn.Conv3D(2, 2, 3, data_format="NCDHW"), "data_format: expected channels last"),
        (
            lambda x, w: sparse.nn.Conv3D(2, 2, 3, weight_attr=False),
            "weight_attr: a convolution needs its weight",
        ),
        (lambda x, w: sparse.nn.SubmConv3D(2, 2, 3, backend="other"), "backend: expected None or 'igemm'"),
        (lambda x, w: sparse.nn.BatchNorm(2)(sampan.ones([2, 2]).to_sparse_coo(2)), "expected the channels"),
        (lambda x, w: F.global_avg_pool(sampan.ones([2, 2]).to_sparse_csr()), "layout CSR"),
        (lambda x, w: sparse.nn.Linear(2, 2)(sampan.ones([2, 2]).to_sparse_coo(2)), "expected the channels"),
    ],
)
def test_what_cannot_be_convolved_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(small(), sampan.ones([3, 3, 3, 2, 2], dtype="float64"))
