"""Functions of each entry and arithmetic, against torch on the dense twins."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import sampan
from sampan import sparse
from tests.sparse.drawn import coordinates, examples, matrices, pair, there

UNARY = "abs asin asinh atan atanh deg2rad expm1 log1p neg rad2deg sin sinh square tan tanh"
layouts = st.sampled_from(["coo", "csr"])


@pytest.mark.parametrize("name", UNARY.split())
@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_functions_of_each_entry(name, layout):
    array = np.random.default_rng(0).uniform(-0.9, 0.9, (5, 6)) * (
        np.random.default_rng(1).random((5, 6)) < 0.4
    )
    x, t = pair(array, layout)
    value, expected = (
        getattr(sparse, name)(x),
        {"rad2deg": torch.rad2deg, "deg2rad": torch.deg2rad}.get(name, getattr(torch, name))(t),
    )
    assert np.allclose(value.numpy(), expected.detach().numpy())
    assert value.nnz() == x.nnz() and np.allclose(getattr(x, name)().numpy(), value.numpy())
    (value.values() ** 2).sum().backward()
    (expected**2).sum().backward()
    assert np.allclose(x.grad.numpy(), (t.grad * there(array)).numpy())


def test_roots_powers_and_casts():
    x = sparse.sparse_coo_tensor([[0, 1], [1, 0]], [4.0, 9.0], [2, 2])
    assert sparse.sqrt(x).values().tolist() == [2, 3]
    assert sparse.pow(x, 2.0).values().tolist() == (x**2).values().tolist() == [16, 81]
    made = sparse.cast(x, "int32", "float64")
    assert made.indices().dtype == torch.int32 and made.dtype == torch.float64
    made = sparse.cast(x.to_sparse_csr(), "int32", "int64")
    assert made.crows().dtype is made.cols().dtype == torch.int32 and made.values().tolist() == [4, 9]
    assert sparse.isnan(sparse.sparse_coo_tensor([[0]], [float("nan")], [2])).values().tolist() == [True]
    with pytest.raises(TypeError, match="index_dtype: expected int32 or int64, got float32"):
        sparse.cast(x, "float32")


@examples
@given(st.data(), layouts, st.sampled_from(["add", "subtract", "multiply"]))
def test_two_sparse_tensors(data, layout, name):
    a = data.draw(matrices())
    b = data.draw(matrices(*a.shape))
    (x, t), (y, u) = pair(a, layout), pair(b, layout)
    value, expected = getattr(sparse, name)(x, y), getattr(torch, name)(t, u)
    assert np.allclose(value.numpy(), expected.detach().numpy())
    assert value.is_sparse_csr() == (layout == "csr")
    assert value.nnz() == int(((a != 0) | (b != 0)).sum())  # the places of both, as Paddle has it
    weight = np.random.default_rng(0).standard_normal(a.shape)
    (value.to_dense() * sampan.to_tensor(weight)).sum().backward()
    (expected * torch.tensor(weight)).sum().backward()
    assert np.allclose(x.grad.numpy(), (t.grad * there(a)).numpy())
    assert np.allclose(y.grad.numpy(), (u.grad * there(b)).numpy())


@examples
@given(coordinates(), coordinates(), st.integers(0, 2**31))
def test_sums_of_coordinates_with_repeats_and_dense_axes(first, second, seed):
    indices, values, shape = first
    lead = indices.shape[0]
    rng = np.random.default_rng(seed)
    count = second[0].shape[1] if min(shape[:lead]) else 0
    places = np.stack([rng.integers(0, max(n, 1), count) for n in shape[:lead]])
    x = sparse.sparse_coo_tensor(indices, values, shape)
    y = sparse.sparse_coo_tensor(places, rng.standard_normal((count, *shape[lead:])), shape)
    assert np.allclose((x + y).numpy(), x.numpy() + y.numpy())
    assert np.allclose((x - y).numpy(), x.numpy() - y.numpy())


def test_quotients():
    a, b = np.array([[0.0, 1.0], [2.0, 0.0]]), np.array([[0.0, 3.0], [0.0, 4.0]])
    for layout in ("coo", "csr"):
        value = sparse.divide(pair(a, layout)[0], pair(b, layout)[0])
        assert np.allclose(value.numpy(), [[np.nan, 1 / 3], [np.inf, 0]], equal_nan=True)
        assert value.nnz() == 4
    x, _ = pair(a)
    y = sampan.to_tensor([[1.0, 2.0], [4.0, 5.0]], dtype="float64", stop_gradient=False)
    value = x / y
    assert value.nnz() == 2 and value.values().tolist() == [0.5, 0.5]
    value.values().sum().backward()
    assert x.grad.values().tolist() == [0.5, 0.25]
    assert y.grad.tolist() == [[0, -0.25], [-0.125, 0]]
    assert (x / 2.0).values().tolist() == [0.5, 1] and (x * 2).values().tolist() == [2, 4]


def test_a_dense_tensor_beside_a_sparse_one():
    a = np.array([[0.0, 1.0], [2.0, 0.0]])
    x, t = pair(a)
    y = sampan.to_tensor([3.0, 4.0], dtype="float64", stop_gradient=False)
    u = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    total, product = x + y, x * y
    assert isinstance(total, sampan.Tensor) and np.allclose(total.numpy(), (t + u).detach())
    assert product.nnz() == 2 and np.allclose(product.numpy(), (t * u).detach())
    ((total**2).sum() + (product.values() ** 2).sum()).backward()
    (((t + u) ** 2).sum() + ((t * u) ** 2).sum()).backward()
    assert np.allclose(x.grad.numpy(), (t.grad * there(a)).numpy())
    assert np.allclose(y.grad.numpy(), u.grad.numpy())


def test_what_does_not_match_is_refused():
    x, y = pair(np.eye(2))[0], pair(np.eye(3))[0]
    with pytest.raises(ValueError, match=r"add: expected equal shapes, got x=\[2, 2\] and y=\[3, 3\]"):
        sparse.add(x, y)
    with pytest.raises(ValueError, match="multiply: expected one layout, got COO and CSR"):
        sparse.multiply(x, x.to_sparse_csr())
    with pytest.raises(ValueError, match="add: expected two tensors, got SparseTensor and float"):
        sparse.add(x, 2.0)
    with pytest.raises(TypeError, match="multiply: y: expected a tensor, got str"):
        sparse.multiply(x, "2")
