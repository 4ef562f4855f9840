"""The GPU's sparse kernels. They are written with torch, which runs them on CPU buffers too: there each is held against
the CPU's loop of the same name, and whole programs against themselves. What needs a GPU skips by name."""

import inspect
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import kernels, sparse
from sampan.kernels import cuda_sparse as gpu
from sampan.kernels import device
from sampan.kernels import loops as kernel_loops
from tests.sparse.drawn import pair

KINDS = ["float32", "float64", "int64", "complex128"]
no_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
examples = settings(max_examples=20)


def on_gpu(value):
    """Arrays as buffers, as the GPU's kernels get them; copies."""
    if isinstance(value, tuple | list):
        return type(value)(on_gpu(v) for v in value)
    return torch.from_numpy(np.array(value)) if isinstance(value, np.ndarray) and value.ndim else value


def compare(name, *args, out=(), same_dtype=True):
    """Run both kernels; compare what they return, and the arguments numbered in `out`, which they fill."""
    others = on_gpu(list(args))
    mine, theirs = getattr(kernels.sparse, name)(*args), getattr(gpu, name)(*others)
    pairs = [(args[k], others[k]) for k in out]
    pairs += zip(*((v if isinstance(v, tuple) else (v,)) for v in (mine, theirs)), strict=True)
    for a, b in pairs:
        assert (a is None) == (b is None)
        for x, y in zip(*((v if isinstance(v, tuple) else (v,)) for v in (a, b)), strict=True):
            if isinstance(x, np.ndarray):
                assert x.shape == tuple(y.shape) and (not same_dtype or str(x.dtype) == str(y.dtype)[6:]), (
                    name
                )
                assert np.allclose(x, y.numpy(), rtol=1e-4, atol=1e-5, equal_nan=True), name
            elif x is not None:
                assert x == y, name
    return mine


@st.composite
def sparse_rows(draw, rows=None, columns=None):
    """(crows, cols, shape): compressed rows, also without entries."""
    shape = [draw(st.integers(1, 7)) if n is None else n for n in (rows, columns)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    there = rng.random(shape) < draw(st.sampled_from([0, 0.2, 0.6, 1]))
    return np.append(0, there.sum(1).cumsum()).astype(np.int32), np.nonzero(there)[1].astype(np.int32), shape


def values(rng, shape, kind):
    drawn = rng.integers(-9, 9, shape) if kind == "int64" else rng.standard_normal(shape)
    return (drawn + 1j * rng.standard_normal(shape) if kind == "complex128" else drawn).astype(kind)


@examples
@given(st.data(), st.sampled_from(KINDS))
def test_structure(data, kind):
    crows, cols, (n, m) = data.draw(sparse_rows())
    rows = np.empty(cols.size, np.int32)
    compare("rows_of", crows, rows, out=[1])
    compare(
        "transpose",
        crows,
        cols,
        m,
        np.empty(m + 1, np.int32),
        np.empty_like(cols),
        np.empty_like(cols),
        out=[3, 4, 5],
    )
    assert compare("ascending", rows, cols)
    rng = np.random.default_rng(0)
    order = rng.integers(0, max(cols.size, 1), data.draw(st.integers(0, 9)) if cols.size else 0)
    compare("ascending", rows[order], cols[order])
    drawn_rows, drawn_cols = rows[order].astype(np.int64), cols[order].astype(np.int64)
    _, _, segments = compare("grouped", drawn_rows, drawn_cols, n)
    for width in (1, 3):
        compare("segment_sums", segments, values(rng, (order.size, width), kind))
        compare("segment_spread", segments, values(rng, (segments[0].size - 1, width), kind))
    b_crows, b_cols, _ = data.draw(sparse_rows(n, m))
    *_, from_a, from_b = compare("union", crows, cols, b_crows, b_cols)
    a, b = values(rng, cols.size, kind), values(rng, b_cols.size, kind)
    compare("united", a, b, -1, from_a, from_b)


@examples
@given(st.data(), st.sampled_from(KINDS))
def test_products(data, kind):
    crows, cols, (n, m) = data.draw(sparse_rows())
    rng, width = np.random.default_rng(0), data.draw(st.integers(0, 3))
    cuts = kernels.sparse.cuts(crows)
    assert gpu.cuts(torch.from_numpy(crows)) is not None
    a, x, y = values(rng, cols.size, kind), values(rng, (m, width), kind), values(rng, (n, width), kind)
    compare("spmm", cuts, crows, cols, a, x, np.empty((n, width), kind), out=[5])
    compare("sddmm", cuts, crows, cols, y, x, np.empty(cols.size, kind), out=[5])
    b_crows, b_cols, (_, k) = data.draw(sparse_rows(m))
    b = values(rng, b_cols.size, kind)
    at = compare("spgemm_columns", (crows, cols), (b_crows, b_cols), k)
    few, few_cols, _ = data.draw(sparse_rows(n, k))
    for places in (at, (few, few_cols)):
        compare("spgemm_values", (crows, cols, a), (b_crows, b_cols, b), k, places)
    other, other_cols, _ = data.draw(sparse_rows(k, m))
    c = values(rng, other_cols.size, kind)
    compare("spgemm_dots", (crows, cols, a), (other, other_cols, c), m, (few, few_cols))


@examples
@given(st.data(), st.sampled_from(KINDS[:2]))
def test_softmax_and_attention(data, kind):
    masks, heads, length, width = (data.draw(st.integers(1, n)) for n in (2, 3, 5, 4))
    blocks = [data.draw(sparse_rows(length, length)) for _ in range(masks)]
    counts = np.concatenate([np.diff(crows) for crows, _, _ in blocks])
    crows = np.append(0, counts.cumsum()).astype(np.int32)
    cols = np.concatenate([c + i * length for i, (_, c, _) in enumerate(blocks)]).astype(np.int32)
    cuts, rng = kernels.sparse.cuts(crows), np.random.default_rng(0)
    v, g = (values(rng, cols.size, kind) for _ in range(2))
    compare("softmax", cuts, crows, v, np.empty_like(v), out=[3])
    compare("softmax_back", cuts, crows, v, g, np.empty_like(v), out=[4])
    given_rows = tuple(values(rng, (masks * heads * length, width), kind) for _ in range(4))
    q, k, v, _ = given_rows
    weights, rows = np.empty((heads, cols.size), kind), (cuts, crows, cols)
    compare("attend", rows, q, k, v, 0.7, length, weights, np.empty_like(q), out=[6, 7])
    t_crows, t_cols, order = np.empty_like(crows), np.empty_like(cols), np.empty_like(cols)
    kernels.sparse.transpose(crows, cols, masks * length, t_crows, t_cols, order)
    turned = (kernels.sparse.cuts(t_crows), t_crows, t_cols, np.argsort(order).astype(np.int32))
    gradients = tuple(np.empty_like(q) for _ in range(3))
    compare("attend_back", rows, turned, given_rows, 0.7, length, weights, gradients, out=[6])


@pytest.mark.parametrize("grid", [True, False])
@examples
@given(st.data())
def test_convolution(grid, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    sizes = np.array([data.draw(st.integers(1, 4)) for _ in range(3)])
    batch = data.draw(st.integers(1, 2))
    cells = batch * int(sizes.prod())
    numbers = np.sort(rng.permutation(cells)[: data.draw(st.integers(1, cells))])
    places = np.stack(np.unravel_index(numbers, (batch, *sizes)))
    offsets = (
        np.stack(np.meshgrid(*[range(data.draw(st.integers(1, 3)))] * 3, indexing="ij")).reshape(3, -1).T
    )
    stride, pad = (np.array([data.draw(st.integers(low, 2)) for _ in range(3)]) for low in (1, 0))
    large = cells if grid else 10**9
    found = (kernels.sparse.table(numbers, large), gpu.table(torch.from_numpy(numbers), large))
    near = kernels.sparse.neighbours(places, sizes, offsets, stride, pad, found[0])
    other = gpu.neighbours(torch.from_numpy(places), sizes, offsets, stride, pad, found[1])
    assert np.array_equal(near, other.numpy()) and other.dtype == torch.int32
    for name in ("reached", "spread"):
        many = [np.full(numbers.size * len(offsets), -1) for _ in range(2)]
        count = getattr(kernels.sparse, name)(places, sizes, offsets, stride, pad, many[0])
        assert count == getattr(gpu, name)(
            torch.from_numpy(places), sizes, offsets, stride, pad, torch.from_numpy(many[1])
        )
        assert np.array_equal(*(np.sort(m[:count]) for m in many))
        compare("distinct", many[0][:count], 10**9)
    x = rng.standard_normal((numbers.size, 2))
    x[0, 0] = np.nan
    near = near[:, (near >= 0).any(0)]
    compare("largest", near, x)
    once = rng.permutation(numbers.size)[: len(numbers) // 2]
    compare("add_rows", np.ones((numbers.size, 2)), once, x[once], out=[0])


def test_every_kernel_is_held_against_a_loop():
    public = {name for name, f in vars(gpu).items() if inspect.isfunction(f) and f.__module__ == gpu.__name__}
    source = Path(__file__).read_text()
    used = {name for name in public if f'"{name}"' in source or f"gpu.{name}(" in source}
    assert used == {name for name in public if not name.startswith("_")}


def test_a_pattern_moves_with_its_values(monkeypatch):
    monkeypatch.setattr(device, "GPUS", ("cuda", "meta"))
    x = cloud()
    for made in (x, x.coalesce(), pair(np.eye(3))[0], pair(np.eye(3), "csr")[0]):
        known = made.pattern.by_rows if made.is_coalesced() and not made.dense_dim() else None
        moved = made.pattern.on(torch.device("meta"))
        assert moved.device.type == "meta" and moved.nnz == made.nnz() and moved.kind is made.pattern.kind
        assert moved.coalesced == made.is_coalesced() and moved.on(moved.device) is moved
        if known is not None:
            assert moved.by_rows is known.on(moved.device) and moved.by_rows.on(torch.device("cpu")) is known
        same = made.to("float32")
        assert (
            same.dtype == torch.float32
            and same.pattern is made.pattern
            and made.cpu().pattern is made.pattern
        )
    csr = sparse.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], [2, 2])
    assert csr.pattern.on(torch.device("meta")).cols.device.type == "meta"
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="0 GPUs are visible"):
            x.cuda()


# --- whole programs -------------------------------------------------------------------------------------------


def products(x, y):
    a, b = x.to_sparse_csr(), y.to_sparse_csr()
    z = sampan.to_tensor(np.random.default_rng(1).standard_normal((6, 3)), stop_gradient=False)
    whole = (
        (a @ b).values().square().sum()
        + ((a @ z) ** 2).sum()
        + (sparse.masked_matmul(z, z.T, a).values() ** 2).sum()
    )
    whole.backward()
    return [whole, x.grad.values(), y.grad.values(), z.grad]


def entries(x, y):
    made = sparse.nn.functional.softmax(x + sparse.transpose(y, [1, 0]) - x * 2.0)
    summed = sparse.sum(made, 0)
    twice = sparse.concat([x, y], 1)
    whole = (
        (summed.values() ** 2).sum()
        + (twice.coalesce().to_dense() ** 3).sum()
        + sparse.mv(x, summed.to_dense()).sum()
    )
    whole.backward()
    return [whole, x.grad.values(), y.grad.values(), made.to_sparse_csr().crows(), summed.indices()]


def cloud():
    rng = np.random.default_rng(2)
    indices = np.stack([rng.integers(0, n, 40) for n in (2, 5, 6, 7)])
    return sparse.sparse_coo_tensor(
        indices, rng.standard_normal((40, 4)), [2, 5, 6, 7, 4], stop_gradient=False
    )


def convolutions(x, y):
    F, rng, points = sparse.nn.functional, np.random.default_rng(3), cloud()
    first, second = (
        sampan.to_tensor(rng.standard_normal((3, 3, 3, 4, 4)), stop_gradient=False) for _ in range(2)
    )
    made = F.conv3d(F.subm_conv3d(points, first), second, stride=2, padding=1, key="down")
    back = F.inverse_conv3d(made, second, "down")
    pooled = [
        F.max_pool3d(back, 2),
        F.avg_pool3d(back, 2),
        F.conv3d_transpose(made, first[:2, :2, :2], stride=2),
    ]
    whole = sum((p.values() ** 2).sum() for p in pooled) + F.global_avg_pool(back).sum()
    whole.backward()
    return [whole, points.grad.values(), first.grad, second.grad, pooled[2].indices()]


def attentions(x, y):
    rng = np.random.default_rng(4)
    q, k, v = (sampan.to_tensor(rng.standard_normal((2, 3, 6, 4)), stop_gradient=False) for _ in range(3))
    padding = sampan.to_tensor((rng.random((2, 6)) < 0.7).astype(float))
    made = sparse.nn.functional.attention(q, k, v, x.detach().to_sparse_csr().reshape([1, 6, 6]), padding)
    (made**2).sum().backward()
    return [made, q.grad, k.grad, v.grad]


PROGRAMS = [products, entries, convolutions, attentions]


def run(program, device="cpu"):
    rng = np.random.default_rng(0)
    drawn = [pair(rng.standard_normal((6, 6)) * (rng.random((6, 6)) < 0.4))[0] for _ in range(2)]
    return [r.cpu().numpy() for r in program(*(t.to(device) if device != "cpu" else t for t in drawn))]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_through_these_kernels(program, monkeypatch):
    expected, loops = run(program), []
    monkeypatch.setattr(device, "GPUS", ("cuda", "cpu"))
    monkeypatch.setattr(kernels, "listeners", [loops.append])
    monkeypatch.setattr(kernel_loops, "listeners", kernels.listeners)
    for mine, theirs in zip(run(program), expected, strict=True):
        assert np.allclose(mine, theirs)
    assert not loops


@no_gpu
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_programs_on_a_gpu(program):
    expected = run(program)
    before = sampan.get_device()
    sampan.set_device("gpu:0")
    try:
        found = run(program, "gpu:0")
    finally:
        sampan.set_device(before)
    for mine, theirs in zip(found, expected, strict=True):
        assert np.allclose(mine, theirs)
