"""Every declared operator and composite against its reference: values, gradients of two orders, strides, emptiness.

What is drawn for an operator, and what it is compared with, is declared in `samples/`, in one file for each of ops/.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest
import torch

import sampan
import sampan.embedding
import sampan.names.transducer
import sampan.sparse
from sampan.engine.operator import composites, operators
from sampan.engine.tensor import Tensor
from tests.ops.elsewhere import GRADIENT_OF, TESTED
from tests.ops.samples import SAMPLES, Array

CASES = [
    pytest.param(kind, name, i, id=f"{name}-{i}")
    for kind, table in (("operator", operators), ("composite", composites))
    for name in table
    if name in SAMPLES
    for i in range(len(SAMPLES[name].samples))
]


def entry_of(kind: str, name: str):
    if kind == "operator":
        function, differentiable = operators[name].call, operators[name].differentiable
    else:
        function, differentiable = composites[name], True
    return function, SAMPLES[name].reference, SAMPLES[name].samples, differentiable


def is_shape(value: object, index: int) -> bool:
    """A tuple of ints in the first places of a sample is a random array, as is an Array anywhere."""
    return isinstance(value, Array) or (isinstance(value, tuple) and all(type(v) is int for v in value))


ARRAYS = {  # how many leading tuples of a sample are shapes, where other tuples of ints are settings
    "reshape": 1, "permute": 1, "transpose": 1, "expand": 1, "expand_view": 1, "broadcast_to": 1, "tile": 1, "flip": 1, "roll": 1,
    "spread": 1, "index_added": 2, "added_along": 2, "diagonal_spread": 1, "adaptive_pool": 1, "max_pool": 1,
    "avg_pool": 1, "convolve_weight": 2, "getitem": 1, "setitem": 2, "full_like_of": 1,
    "resized": 1,
}  # fmt: skip


def drawn(name: str, sample: tuple, seed: int = 0) -> list:
    random = np.random.default_rng(zlib.crc32(name.encode()) + seed)
    values = []
    for index, value in enumerate(sample):
        if is_shape(value, index) and (isinstance(value, Array) or index < ARRAYS.get(name, 99)):
            spec = value if isinstance(value, Array) else Array(value)
            if spec.dtype == "int64":
                values.append(torch.from_numpy(np.asarray(random.integers(spec.low, spec.high, spec.shape))))
            elif spec.dtype == "bool":
                values.append(torch.from_numpy(np.asarray(random.random(spec.shape) < 0.5)))
            else:
                values.append(torch.from_numpy(np.asarray(random.uniform(spec.low, spec.high, spec.shape))))
        else:
            values.append(value)
    return values


def wrapped(values: list, grad: bool) -> list:
    return [
        Tensor(v.clone(), stop_gradient=not (grad and v.is_floating_point()))
        if isinstance(v, torch.Tensor)
        else v
        for v in values
    ]


def flat(result) -> list:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def close(actual: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-9) -> None:
    assert list(actual.shape) == list(expected.shape)
    torch.testing.assert_close(
        actual.to(expected.dtype), expected, rtol=tolerance, atol=tolerance, equal_nan=True
    )


def test_every_operator_is_tested_somewhere() -> None:
    drawn_here = {name for name, entry in SAMPLES.items() if entry.samples}
    assert {*operators, *composites} - drawn_here == {*TESTED, *GRADIENT_OF}
    assert drawn_here <= {*operators, *composites}


@pytest.mark.parametrize(("name", "of"), GRADIENT_OF.items())
def test_an_operator_that_is_a_gradient_is_reached_by_the_samples(name: str, of: str) -> None:
    function, _, samples, _ = entry_of("operator", of)
    reached = set()
    for sample in samples:
        inputs = wrapped(drawn(of, sample), True)
        leaves = [x for x in inputs if isinstance(x, Tensor) and not x.stop_gradient]
        outputs = [r for r in flat(function(*inputs)) if not r.stop_gradient]
        given = [Tensor(torch.ones_like(r.data), stop_gradient=False) for r in outputs]
        found = sampan.grad(outputs, leaves, given, create_graph=True)
        waiting = [g.node for g in found if g.node is not None]
        while waiting:
            node = waiting.pop()
            reached.add(node.operator.name)
            waiting += [edge for edge in node.edges if hasattr(edge, "operator")]
    assert name in reached


@pytest.mark.parametrize(("kind", "name", "i"), CASES)
def test_value_and_gradient_against_the_reference(kind: str, name: str, i: int) -> None:
    function, reference, samples, differentiable = entry_of(kind, name)
    values = drawn(name, samples[i])
    ours = wrapped(values, differentiable)
    theirs = [
        v.clone().requires_grad_(differentiable and v.is_floating_point())
        if isinstance(v, torch.Tensor)
        else v
        for v in values
    ]
    results, expected = flat(function(*ours)), flat(reference(*theirs))
    assert len(results) == len(expected)
    for a, b in zip(results, expected, strict=True):
        close(a.data, b.detach())
    if not differentiable or not any(r.requires_grad for r in expected):
        return
    generator = torch.Generator().manual_seed(7)
    weights = [torch.randn(r.shape, generator=generator, dtype=r.dtype) for r in expected if r.requires_grad]
    sampan.autograd.backward([r for r in results if not r.stop_gradient], [Tensor(w) for w in weights])
    torch.autograd.backward([r for r in expected if r.requires_grad], weights)
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(b, torch.Tensor) and b.requires_grad:
            got = torch.zeros_like(b) if a.grad is None else a.grad.data
            close(got, torch.zeros_like(b) if b.grad is None else b.grad, 1e-8)


def projected(function, inputs: list, weights: list):
    results = [r for r in flat(function(*inputs)) if r.dtype.is_floating_point]
    total = None
    for r, w in zip(results, weights, strict=False):
        part = (
            r * Tensor(w) + r * r * 0.5
        ).sum()  # curved, so that second derivatives pass through linear operators
        total = part if total is None else total + part
    return total


def checked(function, values: list) -> None:
    """The gradient along a random direction against a central difference, for the first and the second order."""
    arrays = [k for k, v in enumerate(values) if isinstance(v, torch.Tensor) and v.is_floating_point()]
    probe = wrapped(values, True)
    results = [r for r in flat(function(*probe)) if r.dtype.is_floating_point]
    generator = torch.Generator().manual_seed(3)
    weights = [torch.randn(r.data.shape, generator=generator, dtype=torch.float64) for r in results]
    ways = {k: torch.randn(values[k].shape, generator=generator, dtype=torch.float64) for k in arrays}
    ways2 = {k: torch.randn(values[k].shape, generator=generator, dtype=torch.float64) for k in arrays}

    def moved(step: float, directions: dict) -> list:
        return [v + step * directions[k] if k in directions else v for k, v in enumerate(values)]

    def slope(at: list, create: bool):
        """The directional derivative along `ways`, by the tape."""
        inputs = wrapped(at, True)
        leaves = [inputs[k] for k in arrays]
        total = projected(function, inputs, weights)
        if total is None or total.stop_gradient:
            return None, leaves
        found = sampan.grad(total, leaves, create_graph=create, allow_unused=True)
        result = None
        for k, g in zip(arrays, found, strict=True):
            if g is not None:
                part = (g * Tensor(ways[k])).sum()
                result = part if result is None else result + part
        return result, leaves

    step = 1e-5
    first, _ = slope(values, False)
    if first is None:
        return
    with sampan.no_grad():
        high = float(projected(function, wrapped(moved(step, ways), False), weights))
        low = float(projected(function, wrapped(moved(-step, ways), False), weights))
    assert float(first) == pytest.approx((high - low) / (2 * step), rel=2e-5, abs=2e-6)

    second, leaves = slope(values, True)
    assert not second.stop_gradient, "the first derivative is cut off from the input"
    found = sampan.grad(second, leaves, allow_unused=True)
    ours = sum(
        float((g * Tensor(ways2[k])).sum()) for k, g in zip(arrays, found, strict=True) if g is not None
    )
    high = float(slope(moved(step, ways2), False)[0])
    low = float(slope(moved(-step, ways2), False)[0])
    assert ours == pytest.approx((high - low) / (2 * step), rel=2e-4, abs=2e-5)


@pytest.mark.parametrize(("kind", "name", "i"), CASES)
def test_gradients_by_finite_differences(kind: str, name: str, i: int) -> None:
    function, _, samples, differentiable = entry_of(kind, name)
    if differentiable and name not in ("cast", "round", "floor", "ceil", "trunc", "sign"):
        checked(function, drawn(name, samples[i], seed=1))


@pytest.mark.parametrize(("kind", "name", "i"), CASES)
def test_any_strides(kind: str, name: str, i: int) -> None:
    if name in ("strided", "as_strided"):  # what they are about is the memory itself
        return
    function, _, samples, _ = entry_of(kind, name)
    values = drawn(name, samples[i], seed=2)
    odd = []
    for v in values:
        if isinstance(v, torch.Tensor) and v.ndim:
            big = (
                torch.zeros([2 * n + 1 for n in v.shape], dtype=v.dtype)
                .permute(*range(v.ndim - 1, -1, -1))
                .clone()
            )
            view = big.permute(*range(v.ndim - 1, -1, -1))[tuple(slice(1, 2 * n + 1, 2) for n in v.shape)]
            odd.append(view.copy_(v))
        else:
            odd.append(v)
    for a, b in zip(
        flat(function(*wrapped_views(odd))), flat(function(*wrapped(values, False))), strict=True
    ):
        close(a.data, b.data)


def wrapped_views(values: list) -> list:
    return [Tensor(v) if isinstance(v, torch.Tensor) else v for v in values]


@pytest.mark.parametrize("name", [n for n, o in operators.items() if o.view and n in SAMPLES])
def test_a_view_shares_memory(name: str) -> None:
    function, _, samples, _ = entry_of("operator", name)
    shared = []
    for sample in samples:
        values = drawn(name, sample)
        inputs = wrapped_views(values)
        for result in flat(function(*inputs)):
            if result.size and not (name == "getitem" and isinstance(sample[1], list)):
                shared.append(
                    result.data.untyped_storage().data_ptr() == values[0].untyped_storage().data_ptr()
                )
    assert shared and all(shared)


@pytest.mark.parametrize("name", [n for n, o in operators.items() if not o.view and n in SAMPLES])
def test_what_is_not_a_view_has_memory_of_its_own(name: str) -> None:
    """Also with the samples' arrays in any order of axes, and for every array of the call."""
    function, _, samples, _ = entry_of("operator", name)
    for sample in samples:
        for grad in (False, True):
            inputs = wrapped(drawn(name, sample), grad)
            given = {t.data.untyped_storage().data_ptr() for t in inputs if isinstance(t, Tensor) and t.size}
            for result in flat(function(*inputs)):
                assert result.data.untyped_storage().data_ptr() not in given or not result.size
                assert 0 not in result.data.stride() or result.size <= 1, "several entries are one in memory"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU: the operators were not run on CUDA")
@pytest.mark.parametrize(("kind", "name", "i"), CASES if torch.cuda.is_available() else CASES[:1])
def test_cuda_agrees_with_cpu(kind: str, name: str, i: int) -> None:
    if name in ("recurrent", "fused_attention"):
        pytest.skip("of the CPU alone: nn's layers and attention compute otherwise on a GPU")
    if name == "lstsq":
        pytest.skip("torch and PaddlePaddle have the driver 'gels' alone on a GPU, which gives no rank")
    function, _, samples, differentiable = entry_of(kind, name)
    values = drawn(name, samples[i])
    results = {}
    for device in ("cpu", "cuda"):
        inputs = wrapped([v.to(device) if isinstance(v, torch.Tensor) else v for v in values], differentiable)
        outputs = flat(function(*inputs))
        kept = [o for o in outputs if not o.stop_gradient]
        if kept:
            sampan.autograd.backward(kept)
        leaves = [t for t in inputs if isinstance(t, Tensor) and t.grad is not None]
        results[device] = [o.data.cpu() for o in outputs] + [t.grad.data.cpu() for t in leaves]
    tolerance = (
        1e-7 if name in ("hardsigmoid", "hardswish") else 1e-8
    )  # torch's kernels have 1 / 6 in float32
    for a, b in zip(results["cuda"], results["cpu"], strict=True):
        close(a, b, tolerance)
