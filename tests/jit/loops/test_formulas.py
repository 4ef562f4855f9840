"""The texts beside the operators, for the numbers that are easily wrong."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import sampan.nn.functional as F
from sampan import ops
from sampan.engine.tensor import Tensor
from sampan.jit.loops import elementary
from sampan.jit.loops.formulas import FORMULAS, number
from sampan.ops.indexing import select

NUMBERS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.3,
    -2.5,
    3.0,
    -3.0,
    5.9,
    7.0,
    -20.0,
    95.0,
    1e-20,
    1e30,
    np.inf,
    -np.inf,
    np.nan,
]
SETTINGS: dict[str, list[tuple[Any, ...]]] = {
    "gelu": [(), (True,), ("tanh",), (False,)],
    "clip": [(-1.0, 2.0), (0.5,), (None, 1), (-1, None)],
    "leaky_relu": [(), (0.2,)],
    "pow": [(2,), (3,), (0.5,), (-0.5,), (-1,), (-2,), (2.0,)],
}


def rounded(name: str) -> Any:
    """A compiled function, which gives Python's float, as one of float32."""
    function = getattr(elementary, name)
    return lambda x: np.float32(function(x))


NAMESPACE = {"T": np.float32, "sqrt": np.sqrt, "inf": np.inf, "nan": np.nan}
NAMESPACE |= {name: rounded(name) for name in ("exp", "tanh", "erf", "sigmoid")}
CASES = [(name, settings) for name in FORMULAS for settings in SETTINGS.get(name, [()])]


def operator(name: str) -> Any:
    return select if name == "select" else getattr(ops, name, None) or getattr(F, name)


@pytest.mark.parametrize(("name", "settings"), CASES, ids=lambda case: str(case))
def test_a_text_is_what_the_operator_computes(name: str, settings: tuple[Any, ...]) -> None:
    formula = FORMULAS[name]
    kinds: dict[str, list[Any]] = {"f": [np.float32(n) for n in NUMBERS], "b": [True, False]}
    rows = list(itertools.product(*(kinds[letter] for letter in formula.takes)))
    text = formula.text(*"xyz"[: len(formula.takes)], *settings)
    assert text is not None
    with np.errstate(all="ignore"):
        made = [eval(text, {**NAMESPACE, **dict(zip("xyz", row, strict=False))}) for row in rows]
    columns = [Tensor(torch.tensor(np.array(column))) for column in zip(*rows, strict=True)]
    if name == "gelu":  # torch takes oneDNN's for float32, which is NaN at infinity
        columns = [column.astype("float64") for column in columns]
    wanted = operator(name)(*columns, *settings).data
    wanted = wanted.float() if name == "gelu" else wanted
    found = torch.tensor(np.array(made))
    assert found.dtype is wanted.dtype
    assert torch.allclose(found.double(), wanted.double(), rtol=2e-6, atol=1e-6, equal_nan=True)


def test_other_settings_have_no_text() -> None:
    texts = [
        FORMULAS["pow"].text("x", 2.5), FORMULAS["pow"].text("x", "y"), FORMULAS["hardsigmoid"].text("x", 0.2),
        FORMULAS["clip"].text("x", "low"), FORMULAS["leaky_relu"].text("x", None), FORMULAS["relu"].text("x", 1),
    ]  # fmt: skip  # a table
    assert texts == [None] * 6
    assert [eval(number(n), NAMESPACE) for n in (2, 0.1, float("inf"))] == [2, np.float32(0.1), np.inf]
