"""What shares the memory of values, as in PaddlePaddle 3.3.1 (each answer was looked up there by writing to both sides)."""

import pytest

import sampan as paddle
from sampan import sparse

PLACES = [[0, 1, 2], [1, 2, 0]]
SHARES = {  # name: (layout, function, whether the values share memory)
    "values": ("coo", lambda x: x, True),
    "detach": ("coo", lambda x: x.detach(), True),
    "to its own layout": ("coo", lambda x: x.to_sparse_coo(2), True),
    "to its own rows": ("csr", lambda x: x.to_sparse_csr(), True),
    "to rows": ("coo", lambda x: x.to_sparse_csr(), False),
    "to places": ("csr", lambda x: x.to_sparse_coo(2), False),
    "coalesce": ("coo", lambda x: x.coalesce(), False),
    "sparse.coalesce": ("coo", sparse.coalesce, False),
    "clone": ("coo", lambda x: x.clone(), False),
    "reshape": ("coo", lambda x: sparse.reshape(x, [3, 3]), True),
    "reshape of rows": ("csr", lambda x: sparse.reshape(x, [3, 3]), False),
    "cast": ("coo", lambda x: sparse.cast(x, value_dtype="float32"), False),
    "cast of rows": ("csr", lambda x: sparse.cast(x, value_dtype="float32"), False),
    "sum": ("coo", lambda x: sparse.sum(x, [1]), False),
    "transpose": ("coo", lambda x: sparse.transpose(x, [1, 0]), True),
    "add": ("coo", lambda x: sparse.add(x, made("coo")), False),
}


def made(layout):
    values = paddle.to_tensor([1.0, 2.0, 3.0])
    if layout == "coo":
        return sparse.sparse_coo_tensor(PLACES, values, [3, 3])
    return sparse.sparse_csr_tensor([0, 1, 2, 3], PLACES[1], values, [3, 3])


@pytest.mark.parametrize("name", SHARES)
def test_what_shares_the_memory_of_values(name):
    layout, function, shares = SHARES[name]
    for written, watched in ((0, 1), (1, 0)):
        x = made(layout)
        pair = (x, function(x))
        before = pair[watched].values().numpy()
        pair[written].values().fill_(77.0)
        assert (pair[watched].values().numpy() != before).any() == shares


def test_a_copy_passes_its_gradient_on():
    values = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    x = sparse.sparse_coo_tensor(PLACES, values, [3, 3], stop_gradient=False)
    (x.coalesce().to_sparse_csr().to_sparse_coo(2).values() * 2).sum().backward()
    assert x.values().grad is not None or values.grad is not None
