"""To and from SciPy, torch and files; under automatic mixed precision."""

import numpy as np
import pytest
import scipy.sparse
import torch

import sampan
from sampan import sparse
from tests.sparse.drawn import pair

ARRAY = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])


def test_scipy_shares_its_memory_both_ways():
    theirs = scipy.sparse.csr_matrix(ARRAY)
    x = sparse.from_scipy(theirs)
    theirs.data[0] = 7
    assert x.is_sparse_csr() and x.values().tolist() == [7, 2, 3]
    back = sparse.to_scipy(x)
    assert np.shares_memory(back.data, theirs.data) and (back != theirs).nnz == 0
    for form in ("coo", "csc", "lil"):
        assert np.array_equal(sparse.from_scipy(scipy.sparse.csr_matrix(ARRAY).asformat(form)).numpy(), ARRAY)
    assert np.array_equal(sparse.to_scipy(pair(ARRAY)[0].detach()).toarray(), ARRAY)
    with pytest.raises(TypeError, match=r"expected a scipy.sparse matrix, got ndarray"):
        sparse.from_scipy(ARRAY)
    with pytest.raises(ValueError, match=r"x: expected a matrix, got 1 sparse and 0 dense axes"):
        sparse.to_scipy(sampan.ones([2]).to_sparse_coo(1))


@pytest.mark.filterwarnings("ignore:Sparse")
def test_torch_both_ways():
    dense = torch.tensor(ARRAY)
    for theirs in (dense.to_sparse(), dense.to_sparse_csr()):
        x = sparse.from_torch(theirs, stop_gradient=False)
        assert np.array_equal(x.numpy(), ARRAY) and not x.stop_gradient
        again = sparse.to_torch(x)
        assert again.layout is theirs.layout and torch.equal(again.to_dense(), dense)
    assert sparse.from_torch(dense.to_sparse()).is_coalesced()
    with pytest.raises(
        TypeError, match=r"expected the layout torch.sparse_coo or torch.sparse_csr, got torch.strided"
    ):
        sparse.from_torch(dense)


def test_saved_and_loaded(tmp_path):
    coo, csr = pair(ARRAY)[0], pair(ARRAY, "csr")[0]
    repeated = sparse.sparse_coo_tensor([[0, 0]], [[1.0, 2.0], [3.0, 4.0]], [2, 2])
    sampan.save({"a": coo, "b": [csr, repeated]}, tmp_path / "x.pdparams")
    found = sampan.load(tmp_path / "x.pdparams")
    assert (
        np.array_equal(found["a"].numpy(), ARRAY)
        and found["a"].is_coalesced()
        and not found["a"].stop_gradient
    )
    assert found["b"][0].is_sparse_csr() and np.array_equal(found["b"][0].numpy(), ARRAY)
    assert found["b"][1].nnz() == 2 and found["b"][1].to_dense().tolist() == [[4, 6], [0, 0]]


def test_half_precision_is_chosen_where_it_gains():
    x = pair(np.random.default_rng(0).standard_normal((6, 6)))[0].astype("float32").detach()
    x.stop_gradient = False
    y = sampan.randn([6, 4])
    with sampan.amp.auto_cast(dtype="bfloat16"):
        product = x @ y
        shares = sparse.nn.functional.softmax(x.astype("bfloat16"))
    assert product.dtype == torch.bfloat16 and shares.dtype == torch.float32
    product.astype("float32").sum().backward()
    assert x.grad.dtype == torch.float32
    assert np.abs(x.grad.values().numpy() - np.repeat(y.numpy().sum(1)[None], 6, 0).ravel()).max() < 0.05
    cloud = sparse.sparse_coo_tensor([[0, 0], [1, 1], [1, 2], [1, 1]], sampan.randn([2, 4]), [1, 3, 3, 3, 4])
    layer = sparse.nn.SubmConv3D(4, 8, 3)
    with sampan.amp.auto_cast(dtype="bfloat16"):
        assert layer(cloud).dtype == torch.bfloat16
