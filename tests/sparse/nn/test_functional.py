"""Softmax over the entries alone."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

import sampan
from sampan import sparse
from tests.sparse.drawn import examples, matrices, pair, there


@examples
@given(matrices(), st.sampled_from([("coo", 0), ("coo", 1), ("csr", 1)]))
def test_softmax_is_over_the_entries_alone(a, kind):
    layout, axis = kind
    x, t = pair(a, layout)
    value = sparse.nn.functional.softmax(x, axis)
    expected = t.masked_fill(~there(a), -torch.inf).softmax(axis).masked_fill(~there(a), 0)
    assert np.allclose(value.numpy(), expected.detach())
    weight = np.random.default_rng(0).standard_normal(a.shape)
    first = sampan.grad((value.to_dense() * sampan.to_tensor(weight)).sum(), x.values(), create_graph=True)[0]
    theirs = torch.autograd.grad((expected * torch.tensor(weight)).sum(), t, create_graph=True)[0]
    theirs = torch.where(there(a), theirs, 0)
    assert np.allclose(x.like(first).numpy(), theirs.detach().numpy())
    if there(a).any():
        (first**2).sum().backward()
        rows = t.masked_fill(~there(a), -1e30).softmax(axis) * there(
            a
        )  # without the nan of -inf in second order
        again = torch.autograd.grad((rows * torch.tensor(weight)).sum(), t, create_graph=True)[0]
        ((again * there(a)) ** 2).sum().backward()
        assert np.allclose(x.grad.numpy(), (t.grad * there(a)).numpy())


def test_softmax_of_large_values_and_empty_rows():
    x = sparse.sparse_csr_tensor([0, 2, 2, 3], [0, 1, 0], [1e4, 1e4, -1e4], [3, 2])
    assert sparse.nn.functional.softmax(x).values().tolist() == [0.5, 0.5, 1]
