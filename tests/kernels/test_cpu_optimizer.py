"""The steps in one pass: against the formulas in float64, whatever the size, dtype, strides and threads."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch

from sampan import kernels
from sampan.kernels import cpu_optimizer

SIZES = [0, 1, 7, 1000, cpu_optimizer.PARALLEL_FROM - 1, cpu_optimizer.PARALLEL_FROM + 5]


def slow_adam(p, g, m, v, lr, beta1, beta2, epsilon, step):
    """Algorithm 1 of Kingma and Ba 2015, as published."""
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    p = p - lr * (m / (1 - beta1**step)) / (np.sqrt(v / (1 - beta2**step)) + epsilon)
    return p, m, v


def arrays(size, count, seed=0):
    generator = np.random.default_rng(seed)
    made = [generator.normal(size=size) for _ in range(count)]
    if count == 4:
        made[3] = np.abs(made[3])  # a variance
    return made


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 2e-5), (torch.bfloat16, 0.05)]
)
def test_adam(size, dtype, tolerance):
    given = arrays(size, 4)
    buffers = [torch.from_numpy(a.copy()).to(dtype) for a in given]
    exact = slow_adam(*(b.double().numpy() for b in buffers), 0.1, 0.9, 0.99, 1e-3, 3)
    p, g, m, v = buffers
    kernels.adam_step([p], [g], [m], [v], 0.1, 0.9, 0.99, 1e-3, 3)
    for got, wanted in zip((p, m, v), exact, strict=True):
        np.testing.assert_allclose(got.double().numpy(), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16])
def test_sgd(size, dtype):
    p, g = (torch.from_numpy(a).to(dtype) for a in arrays(size, 2))
    exact = p.double() - 0.3 * g.double()
    kernels.sgd_step([p], [g], 0.3)
    torch.testing.assert_close(p.double(), exact, rtol=0, atol=0.01 if dtype is torch.float16 else 1e-6)


@pytest.mark.parametrize("name", cpu_optimizer.RULES)
def test_a_rule_is_the_same_by_its_loop_by_torch_and_in_parallel(name, monkeypatch):
    names, numbers, _ = cpu_optimizer.RULES[name]
    given = [np.abs(a) + 0.1 for a in arrays(33, len(names.split()))]
    given[1] -= 0.8  # gradients of both signs
    values = np.linspace(0.1, 0.6, len(numbers.split()))
    loop, parallel, twin = ([torch.from_numpy(a.copy()) for a in given] for _ in range(3))
    cpu_optimizer.rule_step(name, [[b] for b in loop], values)
    monkeypatch.setattr(cpu_optimizer._loop(name), "parallel_from", 0)
    cpu_optimizer.rule_step(name, [[b] for b in parallel], values)
    monkeypatch.setattr(cpu_optimizer, "_flat", lambda buffers: None)
    cpu_optimizer.rule_step(name, [[b] for b in twin], values)
    for a, b, c in zip(loop, parallel, twin, strict=True):
        assert (a == b).all()
        torch.testing.assert_close(a, c, rtol=1e-14, atol=1e-14)


def test_strided_buffers_take_the_other_way_to_the_same_result():
    base = torch.randn(2, 40, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    p, g = base[0].T, base[1].T
    m, v = torch.zeros_like(p), torch.zeros_like(p)
    exact = slow_adam(*(b.numpy().copy() for b in (p, g, m, v)), 0.1, 0.9, 0.999, 1e-8, 1)
    kernels.adam_step([p], [g], [m], [v], 0.1, 0.9, 0.999, 1e-8, 1)
    np.testing.assert_allclose(p.numpy(), exact[0], rtol=1e-12)


def test_several_tensors_and_unequal_lists():
    many = [torch.ones(n) for n in (3, 0, 5)]
    kernels.sgd_step(many, [torch.ones(n) for n in (3, 0, 5)], 0.25)
    assert [t.tolist() for t in many] == [[0.75] * 3, [], [0.75] * 5]
    with pytest.raises(ValueError):
        kernels.sgd_step(many, [], 0.1)


PROGRAM = """
import hashlib, numpy as np, torch, warnings
from sampan import kernels
size = {size}
generator = np.random.default_rng(4)
p, g, m = (torch.from_numpy(generator.normal(size=size).astype("float32")) for _ in range(3))
v = torch.from_numpy(np.abs(generator.normal(size=size)).astype("float32"))
for step in range(1, 4):
    kernels.adam_step([p], [g], [m], [v], 0.01, 0.9, 0.999, 1e-8, step)
    kernels.sgd_step([p], [g], 0.01)
print(hashlib.sha256(p.numpy().tobytes() + m.numpy().tobytes() + v.numpy().tobytes()).hexdigest())
"""


def digest(size, **variables):
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(size=size)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout


def test_the_same_bits_without_the_compiler():
    assert digest(2000) == digest(2000, NUMBA_DISABLE_JIT="1")


def test_the_same_bits_with_any_number_of_threads():
    size = cpu_optimizer.PARALLEL_FROM + 77
    assert digest(size, NUMBA_NUM_THREADS="1") == digest(size, NUMBA_NUM_THREADS="2")
