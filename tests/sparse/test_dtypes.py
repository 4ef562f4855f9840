"""Every dtype and every degenerate shape through what a sparse tensor can do, against dense torch tensors."""

import io

import numpy as np
import pytest
import torch

import sampan
from sampan import sparse

REAL = ["float16", "bfloat16", "float32", "float64", "int32", "int64"]
EVERY = [*REAL, "bool", "complex64"]
KINDS = ["coo", "loose", "csr", "hybrid", "batch"]
UNARY = "abs sin tan asin atan sinh tanh asinh atanh sqrt square log1p expm1 neg deg2rad rad2deg isnan"


def values_of(count, dtype):
    """Exact in every dtype, none of them 0."""
    found = torch.arange(1, count + 1) % 5 + 1
    if dtype is torch.bool:
        return found > 0
    if dtype.is_complex:
        return (found / 8 + 1j * (found % 3)).to(dtype)
    return (found / 8).to(dtype) if dtype.is_floating_point else found.to(dtype)


def made(kind, dtype, shift=0):
    """A sparse tensor, and the equal dense torch tensor."""
    dtype = getattr(torch, dtype) if isinstance(dtype, str) else dtype
    places = {
        "coo": [[0, 0, 1, 3], [1, 3, 2 - shift, 0]], "loose": [[3, 0, 3, 1], [0, 1 + shift, 0, 2]],
        "csr": [[0, 0, 1, 3], [1, 3, 2 - shift, 0]], "hybrid": [[0, 0, 1, 3], [1, 3, 2 - shift, 0]],
        "batch": [[0, 0, 1, 1], [0, 2, 2, 3], [1, 3 - shift, 0, 2]],
    }[kind]  # fmt: skip
    shape = {"hybrid": [4, 5, 2], "batch": [2, 4, 5]}.get(kind, [4, 5])
    values = values_of(8 if kind == "hybrid" else 4, dtype).reshape((4, 2) if kind == "hybrid" else (4,))
    whole = torch.zeros(shape, dtype=dtype if dtype is not torch.bool else torch.int64)
    whole.index_put_(tuple(torch.tensor(places)), values.to(whole.dtype), accumulate=True)
    x = sparse.sparse_coo_tensor(places, sampan.Tensor(values), shape)
    return (x.to_sparse_csr() if kind in ("csr", "batch") else x), whole.to(dtype)


def same(ours, theirs, tolerance=0.0):
    """Values, shape and dtype; where `ours` is sparse also that its entries are in order."""
    if isinstance(ours, sparse.SparseTensor):
        ours = ours.to_dense()
    assert list(ours.shape) == list(theirs.shape) and ours.dtype == theirs.dtype
    kind = torch.complex128 if theirs.dtype.is_complex else torch.float64
    np.testing.assert_allclose(ours.data.to(kind).numpy(), theirs.to(kind).numpy(), tolerance, tolerance)


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("kind", KINDS)
def test_made_turned_saved_and_joined(kind, dtype, tmp_path):
    x, whole = made(kind, dtype)
    same(x, whole)
    same(sampan.Tensor(whole).to_sparse_coo(x.sparse_dim()), whole)
    assert x.nnz() == 4 and x.values().dtype == whole.dtype and x.dtype == whole.dtype
    if kind == "loose":
        x = x.coalesce()
        assert x.nnz() == 3
    if kind != "hybrid":
        for turned in (x.to_sparse_csr(), x.to_sparse_coo(), x.to_sparse_csr().to_sparse_coo(x.sparse_dim())):
            same(turned, whole)
        same(sampan.Tensor(whole).to_sparse_csr(), whole)
    order = [1, 0, 2][: x.ndim] if kind != "batch" else [0, 2, 1]
    same(sparse.transpose(x, order), whole.permute(order))
    shape = [2, -1, 2] if kind == "hybrid" else [1, 8, 5] if kind == "batch" else [2, 10]
    same(sparse.reshape(x, shape), whole.reshape(shape))
    same(sparse.slice(x, [0, 1], [0, 1], [2, 4]), whole[0:2, 1:4])
    same(sparse.concat([x, x], 0), torch.cat([whole, whole]))
    path = str(tmp_path / "saved")
    sampan.save({"x": x}, path)
    again = sampan.load(path)["x"]
    assert again.is_sparse_csr() == x.is_sparse_csr() and again.stop_gradient == x.stop_gradient
    same(again, whole)
    assert again.values().dtype == whole.dtype
    text = repr(x)
    assert "values=" in text and f"dtype=paddle.{dtype}" in text


@pytest.mark.filterwarnings("ignore:Sparse")  # torch's CSR is in beta, and its checks are off, it says once
@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("kind", KINDS[:-1])
def test_from_and_to_torch(kind, dtype):
    x, whole = made(kind, dtype)
    there = sparse.to_torch(x)
    assert (
        there.values().dtype == whole.dtype
        if there.layout is torch.sparse_csr
        else there.dtype == whole.dtype
    )
    if (kind, dtype) != ("csr", "bool"):  # which torch cannot make dense
        assert torch.equal(there.to_dense(), whole)
    same(sparse.from_torch(there), whole)


@pytest.mark.parametrize("dtype", EVERY)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", UNARY.split())
def test_functions_of_each_entry_are_torchs(name, kind, dtype):
    x, whole = made(kind, dtype)
    if kind == "loose" and dtype not in ("float64", "int64"):
        return  # entries of one place add up first: the same whatever the dtype
    if name in ("abs", "neg") and dtype == "bool":
        with pytest.raises((TypeError, ValueError), match=name):
            getattr(sparse, name)(x)
        return
    turns = {"deg2rad": np.pi / 180, "rad2deg": 180 / np.pi}
    if name in turns:
        expected = whole * turns[name]
    else:
        expected = (
            torch.log(1 + whole) if (name, dtype) == ("log1p", "complex64") else getattr(torch, name)(whole)
        )
    ours = getattr(sparse, name)(x)
    assert ours.is_sparse_csr() == x.is_sparse_csr()
    half = dtype in ("float16", "bfloat16")
    np.testing.assert_allclose(
        np.nan_to_num(ours.to_dense().data.to(torch.complex128).numpy()),
        np.nan_to_num((expected * (whole != 0)).to(torch.complex128).numpy()),
        *((2e-2, 2e-2) if half else (1e-5, 1e-5)),
    )
    if name not in (
        "square",
        "abs",
        "neg",
        "deg2rad",
        "rad2deg",
    ):  # roots and similar functions of integers are floats
        assert ours.dtype == expected.dtype
    same(getattr(x, name)(), ours.to_dense().data)


@pytest.mark.parametrize("dtype", REAL + ["complex64"])
@pytest.mark.parametrize("kind", KINDS)
def test_two_tensors(kind, dtype):
    x, first = made(kind, dtype)
    y, second = made(kind, dtype, 1)
    for ours, theirs in (
        (x + y, first + second), (x - y, first - second), (x * y, first * second), (sparse.add(x, x), first + first),
    ):  # fmt: skip
        assert isinstance(ours, sparse.SparseTensor) and ours.is_sparse_csr() == x.is_sparse_csr()
        same(ours, theirs, 1e-6)
    full = torch.full_like(first, 2)
    same(x * sampan.Tensor(full), first * 2)
    same(x * 2, first * 2)
    same(x + sampan.Tensor(full), first + full)
    same(x / 2, first / 2, 1e-6)
    quotient = (x / x).to_dense().data
    assert torch.equal(
        quotient[first != 0].to(torch.complex64), torch.ones((first != 0).sum(), dtype=torch.complex64)
    )


@pytest.mark.parametrize("dtype", REAL + ["complex64"])
@pytest.mark.parametrize("kind", ["coo", "csr", "batch"])
def test_products(kind, dtype):
    x, first = made(kind, dtype)
    y, second = made(kind, dtype, 1)
    right = values_of(5 * 3 * (2 if kind == "batch" else 1), first.dtype).reshape(
        [2, 5, 3] if kind == "batch" else [5, 3]
    )
    exact = torch.complex128 if dtype == "complex64" else torch.float64
    wide = [t.to(exact) for t in (first, second, right)]
    tolerance = 2e-2 if dtype in ("float16", "bfloat16") else 1e-5
    same(sparse.matmul(x, sampan.Tensor(right)), (wide[0] @ wide[2]).to(first.dtype), tolerance)
    turned = sparse.transpose(y, [0, 2, 1] if kind == "batch" else [1, 0])
    same(sparse.matmul(x, turned), (wide[0] @ wide[1].mT).to(first.dtype), tolerance)
    if kind != "batch":
        vector = right[:, 0].contiguous()
        same(sparse.mv(x, sampan.Tensor(vector)), (wide[0] @ vector.to(exact)).to(first.dtype), tolerance)


EMPTY = {
    "no entries": ([[], []], [4, 5]), "no rows": ([[], []], [0, 5]), "no columns": ([[], []], [4, 0]), "nothing": ([[], []], [0, 0]),
    "empty batch": ([[], [], []], [0, 4, 5]), "batch of no rows": ([[], [], []], [2, 0, 5]), "empty cube": ([[], [], []], [2, 4, 5]),
}  # fmt: skip


@pytest.mark.parametrize("layout", ["coo", "csr"])
@pytest.mark.parametrize("name", EMPTY)
def test_what_has_no_entries(name, layout, tmp_path):
    places, shape = EMPTY[name]
    x = sparse.sparse_coo_tensor(
        np.array(places, np.int64), np.zeros(0, np.float32), shape, stop_gradient=False
    )
    x = x.to_sparse_csr() if layout == "csr" else x
    zeros = torch.zeros(shape)
    same(x, zeros)
    same(x.to_sparse_coo(), zeros), same(x.to_sparse_csr(), zeros), same(x.coalesce(), zeros)
    (
        same(sampan.Tensor(zeros).to_sparse_coo(len(shape)), zeros),
        same(sampan.Tensor(zeros).to_sparse_csr(), zeros),
    )
    for function in (sparse.sin, sparse.nn.functional.relu, sparse.nn.functional.softmax, lambda t: t + t, lambda t: t * t, lambda t: t * 2.0):  # fmt: skip
        same(function(x), zeros)
    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    same(sparse.transpose(x, order), zeros.mT)
    right = torch.ones([*shape[:-2], shape[-1], 3])
    out = sparse.matmul(x, sampan.Tensor(right))
    same(out, zeros @ right)
    out.sum().backward()
    assert x.grad.nnz() == 0 if x.grad is not None else x.nnz() == 0
    product = sparse.matmul(x, sparse.transpose(x, order))
    same(product, zeros @ zeros.mT)
    assert product.nnz() == 0
    same(sparse.concat([x, x], 0), torch.cat([zeros, zeros]))
    assert sparse.sum(x).to_dense().data.sum() == 0
    left, other = torch.ones([*shape[:-1], 3]), torch.ones([*shape[:-2], 3, shape[-1]])
    same(sparse.masked_matmul(sampan.Tensor(left), sampan.Tensor(other), x), zeros)
    stream = io.BytesIO()
    sampan.save(x, stream)
    stream.seek(0)
    same(sampan.load(stream), zeros)
    assert "values=" in repr(x)


@pytest.mark.parametrize(
    ("crows", "cols", "shape", "message"),
    [
        ([0, 1, 0, 2, 1], [0, 1], [2, 2, 3], "crows"),
        ([0, 1, 1, 0, 2, 1], [0, 1], [2, 2, 3], r"crows\[5\]: expected 2 or more, as before it, got 1"),
        ([0, 2, 1, 0, 0, 1], [0, 1], [2, 2, 3], r"crows\[2\]: expected 2 or more, as before it, got 1"),
        ([0, 0, 1, 1, 1, 2], [0, 1], [2, 2, 3], "crows: expected 0 at the start of each matrix"),
        ([0, 1, 1, 0, 0, 1], [0, 3], [2, 2, 3], r"cols\[1\]: expected 0 to 2"),
        ([0, 1, 1, 0, 0, 2], [0, 1], [2, 2, 3], "crows: expected to end at the number of entries, 2, got 3"),
        ([0, 1, 1, 0, 0, 1], [0, 1], [2, 2, -3], "shape: expected"),
        ([0, 1, 1], [0], [2], "shape: expected"),
    ],
)
def test_malformed_batches_are_refused_by_place(crows, cols, shape, message):
    with pytest.raises(ValueError, match=message):
        sparse.sparse_csr_tensor(crows, cols, np.ones(len(cols), np.float32), shape)


@pytest.mark.parametrize(
    ("indices", "values", "shape", "message"),
    [
        (
            [[0, 1]],
            np.ones((2, 3)),
            [2, 4],
            r"shape: expected 1 sparse lengths followed by those of the values, \[3\], got \[2, 4\]",
        ),
        ([[0, 2]], np.ones((2, 3)), [2, 3], r"indices\[0, 1\]: expected 0 to 1"),
        ([[0, -1]], np.ones((2, 3)), [2, 3], r"indices\[0, 1\]: expected 0 to 1, for shape \[2, 3\], got -1"),
        ([[0, 1]], np.ones((3, 3)), [2, 3], "values: expected 2, one for each column of indices"),
        ([[0, 1]], np.ones((2, 3)), [-2, 3], "shape: expected lengths of 0 or more"),
        ([[0], [0]], np.ones(1), [0, 3], r"indices\[0, 0\]: expected 0 to -1"),
    ],
)
def test_malformed_hybrids_are_refused_by_place(indices, values, shape, message):
    with pytest.raises(ValueError, match=message):
        sparse.sparse_coo_tensor(indices, values, shape)
