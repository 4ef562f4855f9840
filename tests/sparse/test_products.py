"""Products with their gradients of two orders, against torch on the dense twins and SciPy."""

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st

import sampan
from sampan import sparse
from tests.sparse.drawn import examples, matrices, pair, there

layouts = st.sampled_from(["coo", "csr"])


def leaf(array):
    return sampan.to_tensor(array, stop_gradient=False), torch.tensor(array, requires_grad=True)


@examples
@given(st.data(), layouts)
def test_sparse_spmm(data, layout):
    a = data.draw(matrices())
    b = np.random.default_rng(0).standard_normal((a.shape[1], data.draw(st.sampled_from([1, 3, 16, 64]))))
    (x, t), (y, u) = pair(a, layout), leaf(b)
    out, expected = sparse.matmul(x, y), t @ u
    assert np.allclose(out.numpy(), expected.detach())
    (out**2).sum().backward()
    (expected**2).sum().backward()
    assert np.allclose(x.grad.numpy(), (t.grad * there(a)).numpy())
    assert np.allclose(y.grad.numpy(), u.grad)


@examples
@given(st.data(), layouts)
def test_sparse_times_sparse_is_sparse_forward_and_back(data, layout):
    a = data.draw(matrices())
    b = data.draw(matrices(rows=a.shape[1]))
    (x, t), (y, u) = pair(a, layout), pair(b, layout)
    out, expected = x @ y, t @ u
    assert np.allclose(out.numpy(), expected.detach())
    assert out.nnz() == (scipy.sparse.csr_matrix(a != 0) @ scipy.sparse.csr_matrix(b != 0)).nnz
    (out.values() ** 2).sum().backward()
    (expected**2).sum().backward()
    assert np.allclose(x.grad.numpy(), (t.grad * there(a)).numpy())
    assert np.allclose(y.grad.numpy(), (u.grad * there(b)).numpy())


def test_a_pattern_finds_its_last_product_again():
    x, y = (pair(np.eye(3))[0].pattern.by_rows for _ in range(2))
    product = x.times(y)
    assert x.times(y) is product and x.times(x) is not product and x.times(y) is not product


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("width", [0, 1, 7, 16, 63, 64, 100, 129])
def test_any_number_of_columns(width, dtype):
    rng = np.random.default_rng(width)
    a = scipy.sparse.random(90, 50, 0.3, random_state=0, dtype=dtype, format="csr")
    x, y = (rng.standard_normal((n, width)).astype(dtype) for n in a.shape)
    s = sparse.sparse_csr_tensor(a.indptr, a.indices, a.data, a.shape)
    exact = np.float64
    close = {"rtol": 1e-4, "atol": 1e-5} if dtype == "float32" else {"rtol": 1e-12, "atol": 1e-13}
    assert np.allclose((s @ sampan.to_tensor(y)).numpy(), a.astype(exact) @ y.astype(exact), **close)
    masked = sparse.masked_matmul(sampan.to_tensor(x), sampan.to_tensor(y.T), s)
    there = x.astype(exact) @ y.T.astype(exact)
    assert np.allclose(masked.values().numpy(), there[a.nonzero()], **close)


@examples
@given(st.data(), layouts)
def test_a_product_at_the_entries_of_a_mask(data, layout):
    mask = data.draw(matrices())
    rng = np.random.default_rng(0)
    (x, t), (y, u) = (
        leaf(rng.standard_normal((mask.shape[0], 4))),
        leaf(rng.standard_normal((4, mask.shape[1]))),
    )
    out, expected = sparse.masked_matmul(x, y, pair(mask, layout)[0]), (t @ u) * there(mask)
    assert np.allclose(out.numpy(), expected.detach()) and out.is_sparse_csr() == (layout == "csr")
    (out.values() ** 2).sum().backward()
    (expected**2).sum().backward()
    assert np.allclose(x.grad.numpy(), t.grad) and np.allclose(y.grad.numpy(), u.grad)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_second_derivatives(kind):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((4, 5)) * (rng.random((4, 5)) < 0.5), rng.standard_normal((5, 3))
    if kind == "sparse":
        b = b * (rng.random((5, 3)) < 0.6)
    x, t = pair(a)
    y, u = leaf(b) if kind == "dense" else pair(b)
    entries = y.values() if kind == "sparse" else y
    out, expected = x @ y, t @ u
    values = out.values() if kind == "sparse" else out
    first = sampan.grad((values**3).sum(), [x.values(), entries], create_graph=True)
    theirs = torch.autograd.grad((expected**3).sum(), [t, u], create_graph=True)
    ((first[0] ** 2).sum() + (first[1] ** 2).sum()).backward()
    masks = there(a), there(b) if kind == "sparse" else torch.ones(b.shape)
    sum((g**2 * m).sum() for g, m in zip(theirs, masks, strict=True)).backward()
    assert np.allclose(x.grad.numpy(), (t.grad * masks[0]).numpy())
    mine = y.grad.numpy()
    assert np.allclose(mine, (u.grad * masks[1]).numpy())


def test_batches():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 3, 4)) * (rng.random((2, 3, 4)) < 0.5), rng.standard_normal((2, 4, 5))
    for layout in ("coo", "csr"):
        (x, t), (y, u) = pair(a, layout), leaf(b)
        out, expected = sparse.matmul(x, y), t @ u
        assert np.allclose(out.numpy(), expected.detach())
        (out**2).sum().backward()
        (expected**2).sum().backward()
        assert np.allclose(x.grad.numpy(), (t.grad * there(a)).numpy()) and np.allclose(
            y.grad.numpy(), u.grad
        )
        z = sampan.to_tensor(b.transpose(0, 2, 1)[:, :2])
        right = sparse.matmul(z, sparse.transpose(x, [0, 2, 1]))
        assert np.allclose(right.numpy(), (torch.tensor(z.numpy()) @ t.mT).detach())
        masked = sparse.masked_matmul(sampan.to_tensor(a), sampan.to_tensor(a.transpose(0, 2, 1)), pair(a @ a.transpose(0, 2, 1), layout)[0])  # fmt: skip
        assert np.allclose(masked.numpy(), a @ a.transpose(0, 2, 1))


def test_vectors_sums_and_the_dense_side_first():
    a = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]])
    for layout in ("coo", "csr"):
        x, _ = pair(a, layout)
        assert sparse.mv(x, sampan.to_tensor([1.0, 2.0, 3.0], dtype="float64")).tolist() == [8, 3]
        y = sampan.to_tensor(np.ones((3, 2)))
        assert np.allclose(sparse.addmm(sampan.to_tensor(np.eye(2)), x, y, 2.0, 0.5).numpy(), 2 * np.eye(2) + 0.5 * a @ np.ones((3, 2)))  # fmt: skip
        assert np.allclose(sparse.matmul(sampan.to_tensor(np.ones((4, 2))), x).numpy(), np.ones((4, 2)) @ a)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "int32", "int64", "complex64", "complex128"])  # fmt: skip
def test_dtypes(dtype):
    a = np.array([[0, 1, 2], [3, 0, 0]])
    x = sampan.to_tensor(a).astype(dtype).to_sparse_csr()
    y = sampan.to_tensor(np.arange(6).reshape(3, 2)).astype(dtype)
    out = sparse.matmul(x, y)
    assert out.dtype == x.dtype and out.astype("complex128").numpy().real.tolist() == (a @ np.arange(6).reshape(3, 2)).tolist()  # fmt: skip
    product = sparse.matmul(x, sampan.to_tensor(a.T).astype(dtype).to_sparse_csr())
    assert product.dtype == x.dtype and product.to_dense().astype("complex128").numpy().real.tolist() == (a @ a.T).tolist()  # fmt: skip


def test_complex_gradients_are_those_of_torch():
    rng = np.random.default_rng(0)
    a = (rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4))) * (rng.random((3, 4)) < 0.6)
    b = rng.standard_normal((4, 2)) + 1j * rng.standard_normal((4, 2))
    (x, t), (y, u) = pair(a), leaf(b)
    sampan.abs(x @ y).sum().backward()
    (t @ u).abs().sum().backward()
    assert np.allclose(x.grad.numpy(), (t.grad * there(a)).numpy()) and np.allclose(y.grad.numpy(), u.grad)


def test_results_do_not_depend_on_the_number_of_threads():
    import numba

    rng = np.random.default_rng(0)
    a = scipy.sparse.random(3000, 2000, 0.01, random_state=0, dtype=np.float32, format="csr")
    y = sampan.to_tensor(rng.standard_normal((2000, 24)).astype(np.float32))
    before, found = numba.get_num_threads(), []
    try:
        for threads in (1, 2):
            numba.set_num_threads(threads)
            x = sparse.sparse_csr_tensor(a.indptr, a.indices, a.data, a.shape)
            product = x @ sparse.transpose(x, [1, 0])
            masked = sparse.masked_matmul(x @ y, sampan.to_tensor(y.numpy().T), x)
            results = x @ y, product.values(), masked.values(), sparse.nn.functional.softmax(x).values()
            found.append([value.numpy().tobytes() for value in results])
    finally:
        numba.set_num_threads(before)
    assert found[0] == found[1]
    assert np.allclose((x @ y).numpy(), a @ y.numpy(), atol=1e-5)


def test_principal_components():
    rng = np.random.default_rng(0)
    a = (rng.standard_normal((60, 3)) @ rng.standard_normal((3, 20))) * (rng.random((60, 20)) < 0.7)
    for center in (True, False):
        sampan.seed(0)
        u, s, v = sparse.pca_lowrank(pair(a)[0].detach(), q=20, center=center)
        whole = a - a.mean(0) if center else a
        assert np.allclose(s.numpy(), np.linalg.svd(whole, compute_uv=False))
        assert np.allclose(u.numpy() @ np.diag(s.numpy()) @ v.numpy().T, whole)
    with pytest.raises(ValueError, match="q: expected 0 to 20"):
        sparse.pca_lowrank(pair(a)[0], q=21)


def test_what_does_not_fit_is_refused():
    x = pair(np.eye(3))[0]
    with pytest.raises(
        ValueError, match=r"matmul: expected x \[..., n, k\] and y \[..., k, m\].*\[3, 3\] and \[2, 2\]"
    ):
        x @ sampan.ones([2, 2])
    with pytest.raises(ValueError, match=r"mv: expected x \[n, k\] and vec \[k\]"):
        sparse.mv(x, sampan.ones([2]))
    with pytest.raises(ValueError, match=r"mask: expected shape \[2, 2\]"):
        sparse.masked_matmul(sampan.ones([2, 3]), sampan.ones([3, 2]), x)
    hybrid = sparse.sparse_coo_tensor([[0], [1]], [[1.0, 2.0]], [2, 2, 2])
    with pytest.raises(ValueError, match="expected no dense axes, got 1"):
        sparse.matmul(hybrid, sampan.ones([2, 2, 2]))
