"""A monitor beside a plain record of the same things, over programs of any order, large tables and any number of threads."""

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import embedding, nn, optimizer
from sampan.kernels import cpu_embedding_watch as loops

COUNT, WIDTH = 6, 3


class Plain:
    """What a monitor says of a table, from copies of rows and lists of norms."""

    def __init__(self, table):
        self.table, self.norms, self.updates, self.waiting = table, {}, {}, {}

    def settle(self):
        now = self.table.weight.numpy()
        moved = [row for row, before in self.waiting.items() if now[row].tobytes() != before]
        for row in moved:
            self.updates[row] = self.updates.get(row, 0) + 1
        if moved:
            self.waiting = {}

    def see(self, ids, upstream):
        self.settle()
        gradient = np.zeros((COUNT, WIDTH), np.float32)
        np.add.at(gradient, ids, upstream)
        for row in set(ids):
            norm = np.float32(np.linalg.norm(gradient[row].astype(np.float64)))
            self.norms.setdefault(row, []).append(float(norm))
            self.waiting.setdefault(row, self.table.weight.numpy()[row].tobytes())

    def leave(self):
        self.settle()
        self.waiting = {}


ACTIONS = st.one_of(
    st.lists(st.integers(0, COUNT - 1), max_size=8).map(lambda ids: ("pass", ids)),
    st.sampled_from([("step", 0.5), ("step", 0.5), ("step", 0.0), ("leave", None), ("look", None)]),
    st.integers(0, COUNT - 1).map(lambda row: ("write", row)),
)


@settings(max_examples=150)
@given(st.lists(ACTIONS, max_size=25), st.sampled_from(["rows", "dense", "clipped", "momentum"]))
def test_programs_of_any_order(actions, kind):
    table = nn.Embedding(COUNT, WIDTH, sparse=kind != "dense")
    settings = {"grad_clip": nn.ClipGradByNorm(0.1)} if kind == "clipped" else {}
    make = optimizer.Momentum if kind == "momentum" else optimizer.SGD
    rule, plain, rng = (
        make(0.5, parameters=table.parameters(), **settings),
        Plain(table),
        np.random.default_rng(0),
    )
    watched = embedding.monitor(table)
    watched.__enter__()
    for what, value in actions:
        if what == "pass":
            upstream = rng.integers(1, 4, (len(value), WIDTH)).astype(
                np.float32
            )  # a dense one of 0 would be none
            table(sampan.to_tensor(np.array(value, np.int64))).backward(sampan.to_tensor(upstream))
            plain.see(value, upstream)
        elif what == "step":
            rule.set_lr(value)
            rule.step()
            rule.clear_grad(False)
        elif what == "write":
            table.weight.data[value] += 1.0
        elif what == "leave":
            watched.__exit__()
            plain.leave()
            watched.__enter__()
        else:
            assert watched.updates.sum() >= 0
            plain.settle()
    watched.__exit__()
    plain.leave()
    every = range(COUNT)
    assert watched.gradients.tolist() == [len(plain.norms.get(row, [])) for row in every]
    assert watched.updates.tolist() == [plain.updates.get(row, 0) for row in every]
    np.testing.assert_allclose(
        watched.largest, [max(plain.norms.get(row, [0.0])) for row in every], rtol=1e-6
    )
    np.testing.assert_allclose(
        watched.norms, [np.mean(plain.norms.get(row, [0.0])) for row in every], rtol=1e-6
    )
    assert watched.table(COUNT, by="updates")[0]["updates"] == max(plain.updates.values(), default=0)


def test_the_number_of_threads_changes_nothing():
    rng, most, found = np.random.default_rng(0), numba.get_num_threads(), []
    values, rows, norms = rng.standard_normal((9000, 16)), rng.permutation(9000)[:7000], rng.random(7000)
    norms[5] = np.nan
    try:
        for threads in (1, most):
            numba.set_num_threads(threads)
            known = np.zeros(9000, loops.ROW)
            for now, first in ((1, True), (1, False), (2, True)):
                fresh, before = loops.seen(rows, norms, values, rows, now, known)
                assert (fresh == first).all()
            found.append((known, before))
    finally:
        numba.set_num_threads(most)
    assert found[0][0].tobytes() == found[1][0].tobytes()
    np.testing.assert_array_equal(found[0][1], loops.hashes(values, rows))
    np.testing.assert_array_equal(found[1][1], loops.hashes(values, rows))
    known = found[0][0][rows]
    assert (known["gradients"] == 3).all() and (known["updates"] == 1).all() and (known["round"] == 2).all()
    np.testing.assert_array_equal(known["sum"], norms + norms + norms)
    np.testing.assert_array_equal(known["largest"], norms)  # NaN stays
    assert loops.ROW.itemsize == 64


@pytest.mark.parametrize("count", [4, 4000])
def test_rows_that_lie_elsewhere(count):
    """Values of some rows in an order of their own, as a cache hands them out."""
    values, known = (
        np.random.default_rng(0).standard_normal((count, 20)).astype(np.float32),
        np.zeros(3 * count, loops.ROW),
    )
    rows = np.arange(3 * count - 1, 2 * count - 1, -1)
    fresh, before = loops.seen(rows, np.ones(count), values, np.arange(count), 1, known)
    assert fresh.all() and known["gradients"].sum() == known["gradients"][2 * count :].sum() == count
    np.testing.assert_array_equal(before, loops.hashes(values, np.arange(count)))
