"""Chains beside the calls that they stand for. Most loops run as Python here, so that nothing is compiled."""

from typing import Any

import numpy as np
import pytest
import torch

from sampan.jit.loops import chain as chains
from sampan.jit.loops.chain import Chain, Step
from sampan.kernels.loops import Loop

STEPS = [Step("v0", "(x0 + x1)", ("x0", "x1")), Step("v1", "(v0 * x2)", ("v0", "x2"))]
TANH = [Step("v0", "(x0 * x1)", ("x0", "x1")), Step("v1", "(tanh(v0) - x0)", ("v0", "x0"))]


def arithmetic() -> Chain:
    return Chain("fff", "f", STEPS, lambda x, y, z: (x + y) * z)


def as_python(chain: Chain, *buffers: torch.Tensor) -> torch.Tensor:
    """What the source of the chain's loop computes, without the compiler."""
    layout = chain.layout(buffers)
    assert layout is not None
    names: dict[str, Any] = {}
    exec(chain.source(layout), names)
    names["wide_vectors"] = lambda: None

    def loop(*arrays: Any, size: int) -> None:
        names["loop"](*arrays)

    made: Any = loop
    with np.errstate(all="ignore"):
        return chain.by_loop(layout, made, buffers)


@pytest.mark.parametrize(
    ("shapes", "kinds"),
    [
        (((4, 6), (4, 6), (4, 6)), "eee"),
        (((4, 6), (), (1, 1)), "ess"),
        (((4, 6), (6,), (4, 1)), "erc"),
        (((2, 3, 4, 5), (3, 1, 1), (1,)), "ecs"),
        (((2, 3, 4), (3, 4), (2, 1, 1)), "erc"),
        (((1, 6), (4, 1), (6,)), "rcr"),
        (((1, 6), (1, 6), ()), "ees"),
    ],
)
def test_layouts_give_what_torch_gives(shapes: Any, kinds: str) -> None:
    buffers = [torch.randn(shape) for shape in shapes]
    layout = arithmetic().layout(buffers)
    assert layout is not None and layout.kinds == kinds
    found, wanted = as_python(arithmetic(), *buffers), (buffers[0] + buffers[1]) * buffers[2]
    assert found.shape == wanted.shape and torch.equal(found, wanted)


def test_other_layouts_dtypes_and_sizes_are_left_to_torch() -> None:
    x, row = torch.randn(4, 6), torch.randn(6)
    others: list[tuple[Any, ...]] = [
        (x.t(), x.t(), row[:4]), (x, torch.randn(4, 12)[:, ::2], row), (x, row, torch.randn(2)),
        (torch.empty(0, 6), row, row), (torch.tensor(1.0),) * 3, (x.double(), row, row), (x > 0, row, row),
        (torch.randn(2, 3, 4), torch.randn(2, 1, 4), row[:4]), (x.to(torch.bfloat16), row, row),
    ]  # fmt: skip  # a table
    for buffers in others:
        chain = arithmetic()
        assert chain.layout(buffers) is None
        try:
            wanted = (buffers[0] + buffers[1]) * buffers[2]
        except RuntimeError:
            with pytest.raises(RuntimeError):
                chain(*buffers)
            continue
        found = chain(*buffers)
        assert (
            found.dtype is wanted.dtype and found.stride() == wanted.stride() and torch.equal(found, wanted)
        )


def test_a_loop_that_is_compiled_serial_and_parallel(monkeypatch: Any) -> None:
    chain = Chain("ff", "f", TANH, lambda x, y: (x * y).tanh() - x)
    monkeypatch.setattr(Chain, "_measured", lambda *_: True)
    x, y = torch.randn(40, 200), torch.randn(200)
    x[0, :6] = torch.tensor([float("nan"), float("inf"), -float("inf"), -0.0, 1e-42, 3e38])
    wanted = (x.double() * y.double()).tanh() - x.double()
    before = x.clone()
    found = chain(x, y)
    assert torch.allclose(found.double(), wanted, rtol=1e-6, atol=1e-6, equal_nan=True)
    ((_, loop),) = [plan for plan in chain._plans.values() if plan]
    loop.parallel_from = 0
    again = chain(x, y)
    assert torch.equal(found.view(torch.int32), again.view(torch.int32))
    found.zero_()
    assert torch.equal(x.view(torch.int32), before.view(torch.int32)) and not torch.equal(found, again)


def test_the_faster_way_is_measured_once_for_each_size(monkeypatch: Any) -> None:
    asked: list[int] = []

    def loop_for(source: str, shown: str) -> Any:
        return lambda *arrays, size: asked.append(size)

    monkeypatch.setattr(chains, "loop_for", loop_for)
    chain = arithmetic()
    small, x = torch.ones(8, 8), torch.ones(64, 64)
    assert torch.equal(chain(small, small, small), small * 2) and not asked
    chain(x, x, x)
    rounds = len(asked)
    assert rounds > 2 and list(chain._faster) == [("eee", 13)]
    chain._faster[("eee", 13)] = False
    for rows in range(65, 65 + 2 * chains.PLANS):  # other shapes of one size are not measured again
        many = torch.ones(rows, 64)[:120, :]
        found = chain(many, many, many)
        assert found.shape == many.shape
    assert len(asked) <= 2 * rounds and len(chain._plans) <= chains.PLANS


NORM = Step("v1", "(v0 - mean) * scale * x2 + x3", ("v0", "x2", "x3"), "moments", "v0", 1e-5)


def test_layer_norm_of_a_sum_and_what_follows() -> None:
    steps = [STEPS[0], NORM, Step("v2", "(v1 * v0)", ("v1", "v0"))]
    chain = Chain("ffff", "f", steps, lambda *_: torch.empty(0))
    x, y, weight, bias = torch.randn(3, 2, 8), torch.randn(3, 2, 8), torch.randn(8), torch.randn(8)
    wanted = torch.layer_norm(x + y, [8], weight, bias) * (x + y)
    assert torch.allclose(as_python(chain, x, y, weight, bias), wanted, rtol=1e-5, atol=1e-5)
    row = torch.randn(8)  # the sum has the whole shape, so its rows are whole
    wanted = torch.layer_norm(x + row, [8], weight, bias) * (x + row)
    assert torch.allclose(as_python(chain, x, row, weight, bias), wanted, rtol=1e-5, atol=1e-5)
    assert chain.layout([row, row, weight, torch.randn(3, 8)]) is None  # rows that are normalised once


@pytest.mark.parametrize("of", ["x0", "v0"])
def test_softmax_of_an_input_and_of_a_sum(of: str) -> None:
    steps = [
        STEPS[0],
        Step("v1", "out[i] * scale", (of,), "exponentials", of),
        Step("v2", "(v1 * v0)", ("v1", "v0")),
    ]
    chain = Chain("ff", "f", steps, lambda *_: torch.empty(0))
    x, y = torch.randn(3, 8) * 9, torch.randn(3, 8)
    x[1, 2], x[2, 3] = -float("inf"), float("nan")
    wanted = (x if of == "x0" else x + y).softmax(-1) * (x + y)
    assert torch.allclose(as_python(chain, x, y), wanted, rtol=1e-5, atol=1e-5, equal_nan=True)


def test_a_loop_is_kept_by_its_text() -> None:
    layout = arithmetic().layout([torch.ones(4, 4)] * 3)
    assert layout is not None
    text = arithmetic().source(layout)
    assert isinstance(chains.loop_for(text, "a"), Loop) and chains.loop_for(text, "a") is chains.loop_for(
        text, "a"
    )
    assert text.startswith("# generated, with functions ")
