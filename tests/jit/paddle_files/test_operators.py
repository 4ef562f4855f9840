"""Each operator of the table against PaddlePaddle's recorded answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan.jit import load
from sampan.jit.paddle_files import layers as layers  # which enters its operators
from sampan.jit.paddle_files.operators import OPERATORS, Cannot, ints, number
from sampan.jit.paddle_files.reader import Op

from .files import answers, unpacked


def test_operators_answer_as_paddle(tmp_path: Path) -> None:
    unpacked(tmp_path)
    given, wanted = answers(tmp_path, "operators")
    with paddle.no_grad():
        found = load(tmp_path / "operators")(*map(paddle.to_tensor, given))
    assert len(found) == len(wanted) > 100
    for place, (one, right) in enumerate(zip(found, wanted, strict=True)):
        assert one.numpy().dtype == right.dtype and one.numpy().shape == right.shape, place
        assert np.allclose(one.numpy(), right, rtol=1e-5, atol=1e-6), place


def test_constants_and_shapes_are_numbers() -> None:
    x: Any = paddle.ones([2, 6])
    shape = OPERATORS["pd_op.shape64"](Op("pd_op.shape64", {}, [], []), x)
    assert ints([shape, np.array(3)]) == [2, 6, 3] and number(np.array([0.5])) == 0.5
    with pytest.raises(Cannot, match="computed from the content"):
        ints(x)
    for name, settings, given in (
        ("dropout", {"is_test": False}, (x, None, 0.5)),
        ("batch_norm_", {}, (x, x, x)),
        ("cumsum", {"reverse": True}, (x, 0)),
        ("rnn", {"mode": "OTHER"}, (x, [x], [x])),
    ):
        with pytest.raises(Cannot):
            OPERATORS[f"pd_op.{name}"](Op(f"pd_op.{name}", settings, [], []), *given)
