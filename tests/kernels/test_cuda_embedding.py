"""The GPU's embedding kernels. They are written with torch, which runs them on CPU buffers too: there each is held against the
CPU's loop of the same name, and whole programs against themselves. What needs a GPU skips by name."""

import inspect
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sampan
from sampan import embedding, kernels, nn, optimizer
from sampan.kernels import cpu_embedding, cpu_optimizer, device
from sampan.kernels import cuda_embedding as gpu
from sampan.kernels import loops as kernel_loops
from sampan.row_sparse import RowSparse

no_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
COUNT = 9


@st.composite
def occurrences(draw):
    """(ids, which, scale, rows): what a batch names, also nothing, and -1."""
    ids = np.array(draw(st.lists(st.integers(-1, COUNT - 1), max_size=25)), np.int64)
    rng, width = np.random.default_rng(draw(st.integers(0, 99))), draw(st.integers(1, 4))
    rows = rng.standard_normal((draw(st.integers(1, 6)), width))
    if draw(st.booleans()):
        which = rng.integers(0, len(rows), ids.size).astype(np.int32)
    else:
        rows, which = rng.standard_normal((ids.size, width)), np.empty(0, np.int32)
    scale = rng.standard_normal(ids.size) if draw(st.booleans()) else np.empty(0)
    return ids, which, scale, rows


def buffers(*arrays):
    return tuple(torch.from_numpy(a.copy()) for a in arrays)


@settings(max_examples=40)
@given(occurrences(), st.sampled_from(["sgd", "momentum", "adagrad", "ftrl", "adamw"]), st.booleans())
def test_distinct_rows_sums_and_steps(found, name, everywhere):
    ids, which, scale, rows = found
    named, others = (ids, COUNT, False), (torch.from_numpy(ids), COUNT, False)
    chosen, expected = cpu_embedding.sums(named, which, scale, rows)
    order = np.argsort(chosen)
    found, summed = gpu.sums(others, *buffers(which, scale, rows))
    assert torch.equal(found, gpu._distinct(others[0], COUNT)[0])
    np.testing.assert_array_equal(found.numpy(), chosen[order])
    np.testing.assert_allclose(summed.numpy(), expected[order], rtol=1e-12, atol=1e-12)
    names, numbers, _ = cpu_optimizer.RULES[name]
    arrays = [np.abs(np.random.default_rng(i).standard_normal((COUNT, rows.shape[1]))) + 1.0 for i in range(len(names.split()) - 1)]  # fmt: skip
    given_numbers = [0.1 + 0.05 * i for i in range(len(numbers.split()))]
    tables = buffers(*arrays)
    cpu_embedding.step(named, which, scale, rows, name, arrays, given_numbers, everywhere)
    gpu.step(others, *buffers(which, scale, rows), name, tables, given_numbers, everywhere)
    for mine, theirs in zip(arrays, tables, strict=True):
        np.testing.assert_allclose(mine, theirs.numpy(), rtol=1e-9, atol=1e-12)


@settings(max_examples=40)
@given(st.data())
def test_bags(data):
    lengths = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=6))
    rng, width = np.random.default_rng(data.draw(st.integers(0, 99))), data.draw(st.integers(1, 4))
    ids, starts = rng.integers(0, COUNT, sum(lengths)), np.array([0, *np.cumsum(lengths)])
    table = rng.integers(-3, 4, (COUNT, width)).astype(float)  # with equal ones among them
    which = np.repeat(np.arange(len(lengths)), lengths)
    g = rng.standard_normal((len(lengths), width))
    for scale in (np.empty(0), rng.standard_normal(len(ids))):
        np.testing.assert_allclose(
            gpu.bag_sums(*buffers(table, ids, starts, scale)).numpy(),
            cpu_embedding.bag_sums(table, ids, starts, scale), rtol=1e-12, atol=1e-12,
        )  # fmt: skip
    for mine, theirs in zip(cpu_embedding.bag_tops(table, ids, starts), gpu.bag_tops(*buffers(table, ids, starts)), strict=True):  # fmt: skip
        np.testing.assert_array_equal(mine, theirs.numpy())
    np.testing.assert_allclose(
        gpu.dots(*buffers(table, ids, which, g)).numpy(), cpu_embedding.dots(table, ids, which, g), rtol=1e-12, atol=1e-12
    )  # fmt: skip


def test_the_largest_that_is_not_a_number_carries_on():
    table = np.array([[1.0], [np.nan], [3.0]])
    top, winner = gpu.bag_tops(*buffers(table, np.array([0, 1, 2, 0]), np.array([0, 3, 4])))
    assert np.isnan(top.numpy()[0, 0]) and winner.tolist() == [[1], [3]] and top[1, 0] == 1.0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_rows_of_half_precision_are_summed_and_stepped_in_float32(dtype):
    table = torch.ones(3, 2, dtype=dtype)
    rows = torch.full((3000, 2), 1e-4)
    named = (torch.zeros(3000, dtype=torch.int64), 3, False)
    gpu.step(named, torch.arange(3000), torch.empty(0), rows, "sgd", [table], [1.0], False)
    torch.testing.assert_close(
        table, torch.tensor([[0.7, 0.7], [1, 1], [1, 1]], dtype=dtype)
    )  # one by one: 1


def test_every_kernel_is_held_against_a_loop():
    own = {name for name, f in vars(gpu).items() if inspect.isfunction(f) and f.__module__ == gpu.__name__}
    public = {name for name in own if not name.startswith("_")}
    source = Path(__file__).read_text()
    assert {name for name in public if f"gpu.{name}(" in source} == public
    assert all(callable(getattr(cpu_embedding, name)) for name in public)


# --- whole programs -------------------------------------------------------------------------------------------


def trained(layer, rule, batches, call=lambda layer, ids: layer(ids)):
    """The table and its gradient after some steps. The layer goes where the ids go."""
    rng = np.random.default_rng(0)
    with sampan.no_grad():
        layer.weight.set_value(rng.standard_normal(layer.weight.shape).astype("float32"))
    layer.to(sampan.get_device())
    stepping = rule(layer.parameters())
    for ids in batches:
        out = call(layer, sampan.to_tensor(ids))
        (out**3).sum().backward()
        assert type(layer.weight.grad) is RowSparse
        stepping.step()
        stepping.clear_grad()
    (call(layer, sampan.to_tensor(batches[0])) ** 2).sum().backward()
    distinct, rows = layer.weight.grad.coalesced()
    order = distinct.argsort()
    return [layer.weight, distinct[order], rows[order], layer.weight.grad, out]


BATCHES = [np.random.default_rng(turn).integers(0, 20, (5, 3)) for turn in range(6)]
RULES = {
    "sgd": lambda p: optimizer.SGD(0.01, parameters=p),
    "momentum": lambda p: optimizer.Momentum(0.01, parameters=p),
    "adagrad": lambda p: optimizer.Adagrad(0.1, parameters=p),
    "ftrl": lambda p: optimizer.Ftrl(0.1, 0.01, parameters=p),
    "adam": lambda p: optimizer.Adam(0.01, parameters=p),
    "lazy adam": lambda p: optimizer.Adam(0.01, parameters=p, lazy_mode=True),
    "lazy adamw": lambda p: optimizer.AdamW(0.01, parameters=p, lazy_mode=True),
    "clipped": lambda p: optimizer.Adam(0.01, parameters=p, grad_clip=nn.ClipGradByGlobalNorm(0.1)),
}
PROGRAMS = {name: lambda rule=rule: trained(nn.Embedding(20, 4, padding_idx=3), rule, BATCHES) for name, rule in RULES.items()}  # fmt: skip
PROGRAMS |= {
    mode: lambda mode=mode: trained(embedding.EmbeddingBag(20, 4, mode=mode, padding_idx=2), RULES["adagrad"], BATCHES)
    for mode in embedding.bag.MODES
}  # fmt: skip
PROGRAMS["tables"] = lambda: trained(embedding.EmbeddingTables([20, 30, 25], 4), RULES["lazy adam"], BATCHES)


def weighted():
    weights = sampan.to_tensor(np.linspace(-1, 1, 15).astype("float32"), stop_gradient=False)
    made = trained(
        embedding.EmbeddingBag(20, 4, mode="sum"), RULES["sgd"], BATCHES,
        lambda layer, ids: layer(ids.flatten(), sampan.to_tensor([0, 4, 4]), weights),
    )  # fmt: skip
    return [*made, weights.grad]


PROGRAMS["weighted"] = weighted


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_through_these_kernels(name, monkeypatch):
    expected, loops = [r.numpy().copy() for r in PROGRAMS[name]()], []
    monkeypatch.setattr(device, "GPUS", ("cuda", "cpu"))
    monkeypatch.setattr(kernels, "listeners", [loops.append])
    monkeypatch.setattr(kernel_loops, "listeners", kernels.listeners)
    for mine, theirs in zip(PROGRAMS[name](), expected, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs, rtol=1e-4, atol=1e-5)
    assert not [loop for loop in loops if "row" in loop or "bag" in loop], loops


@no_gpu
@pytest.mark.cuda
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_on_a_gpu(name):
    expected = [r.numpy().copy() for r in PROGRAMS[name]()]
    before = sampan.get_device()
    sampan.set_device("gpu:0")
    try:
        found = [r.cpu().numpy() for r in PROGRAMS[name]()]
    finally:
        sampan.set_device(before)
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


@no_gpu
@pytest.mark.cuda
def test_a_gpus_ids_are_looked_up_in_tables_that_stay_here():
    layer = embedding.DynamicEmbedding(None, 4).cuda()
    out = layer(sampan.to_tensor([5, 7, 5]).cuda())
    assert out.is_cuda and not layer.weight.is_cuda
    out.sum().backward()
    optimizer.SGD(0.1, parameters=layer.parameters()).step()


@no_gpu
@pytest.mark.cuda
def test_a_bad_id_on_a_gpu_is_named():
    layer = nn.Embedding(20, 4).cuda()
    with pytest.raises(ValueError, match=r"x\[1\]: expected an id from 0 to 19, got 20"):
        layer(sampan.to_tensor([3, 20]).cuda())
