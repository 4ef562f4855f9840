"""Layers that PaddlePaddle saved, run here for other batches, and trained."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan.jit import load

from .files import answers, unpacked


@pytest.mark.parametrize("name", ["picture", "sequence"])
def test_layers_answer_as_paddle(name: str, tmp_path: Path) -> None:
    unpacked(tmp_path)
    given, wanted = answers(tmp_path, name)
    layer: Any = load(tmp_path / name)
    for rows in (len(given[0]), 1):
        with paddle.no_grad():
            found = layer(*(paddle.to_tensor(x[:rows]) for x in given))
        for one, right in zip(found, wanted, strict=True):
            right = right[:, :rows] if name == "sequence" and right.ndim == 3 else right[:rows]
            assert np.allclose(one.numpy(), right, rtol=1e-5, atol=1e-6)
    parameters = dict(layer.named_parameters())
    assert any(key.startswith(("conv2d", "lstm_cell")) and key.endswith("w_0") for key in parameters)
    layer.train()
    layer(*map(paddle.to_tensor, given))[0].sum().backward()
    assert any(p.grad is not None for p in parameters.values())
