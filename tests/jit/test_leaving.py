"""`break`, `continue`, `return` and `else` in rewritten functions, against the functions themselves."""

from contextlib import nullcontext
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import sampan as paddle
from sampan.jit import to_static
from sampan.jit.source_rewriting import rewritten

from .programs import function_of, programs

_SETTINGS = settings(  # a failing program is short enough: shrinking would take minutes
    max_examples=40, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip  # a list of numbers


@_SETTINGS
@given(programs(effects=True), st.floats(-4, 4), st.integers(0, 4))
def test_programs_of_numbers_compute_the_same_with_the_same_effects(text: str, a: float, n: int) -> None:
    function = function_of(text, {"level": lambda x: x, "nullcontext": nullcontext})
    logs: tuple[list[Any], list[Any]] = ([], [])
    assert rewritten(function)(a, n, logs[0]) == function(a, n, logs[1]) and logs[0] == logs[1], text


@_SETTINGS
@given(programs(effects=False), st.integers(0, 4), st.integers(0, 99))
def test_programs_of_tensors_are_one_program_for_all_inputs(text: str, n: int, seed: int) -> None:
    function = function_of(text, {"level": lambda x: x.mean()})
    made: Any = to_static(function, full_graph=True)
    rng = np.random.default_rng(seed)
    for scale in (0.1, 3, 30):
        values, found = (scale * rng.standard_normal(3)).astype("float32"), []
        for called in (function, made):
            a: Any = paddle.to_tensor(values, stop_gradient=False)
            out, k = called(a * 2, paddle.to_tensor(n), None)
            (out * out).sum().backward()
            found.append((out.numpy(), np.asarray(k), a.grad.numpy()))
        for one, other in zip(*found, strict=True):
            assert np.allclose(one, other, rtol=1e-3, atol=1e-4), text
    assert made.programs and not any(kind.eager for kind in made._kinds.values())
