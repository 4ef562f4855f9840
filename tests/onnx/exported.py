"""Exports a layer and compares its file with the layer in ONNX Runtime, at sizes that the export did not see."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampan.static import InputSpec

import sampan as paddle
from sampan.jit.whole import flat


class Function(paddle.nn.Layer):
    """A layer that computes one function."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def agrees(
    folder: Path,
    layer: Any,
    spec: Sequence[Any],
    *inputs: paddle.Tensor,
    opset: int = 17,
    atol: float = 1e-5,
) -> Any:
    """The model of the file. Its answers for the inputs must be the layer's, but for `atol`."""
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    paddle.onnx.export(layer, str(folder / "model"), list(spec), opset_version=opset)
    file = str(folder / "model.onnx")
    session = runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    found = session.run(None, {n: x.numpy() for n, x in zip(names, inputs, strict=True)})
    layer.eval()
    wanted = flat(layer(*inputs))
    assert len(found) == len(wanted)
    for answer, one in zip(found, wanted, strict=True):
        assert answer.dtype == one.numpy().dtype and answer.shape == one.numpy().shape
        np.testing.assert_allclose(answer, one.numpy(), rtol=1e-4, atol=atol)
    return onnx.load(file)


def function_agrees(
    folder: Path, function: Callable[..., Any], dtype: str = "float32", opset: int = 17
) -> Any:
    """`agrees` for a function of x [batch, 4, 6], with batches of 1 and 7."""
    layer, spec = Function(function), [InputSpec([None, 4, 6], dtype)]
    paddle.seed(3)
    for batch in (1, 7):
        x = (paddle.randn([batch, 4, 6]) * 2).astype(dtype)
        model = agrees(folder, layer, spec, x, opset=opset)
    return model
