"""A saved model for the tests of predictors."""

import numpy as np
import pytest
from sampan.static import InputSpec

import sampan as paddle
from sampan import nn
from sampan.jit.record import Outside
from sampan.jit.saving import _content, _names, _write
from sampan.jit.whole import evaluating, recorded


class Two(nn.Layer):
    """Two inputs and two outputs."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x, y):
        h = nn.functional.relu(self.first(x))
        return self.second(h), h + y


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A layer and the files of it, written without the fresh process of `jit.save`."""
    paddle.seed(0)
    layer, outside = Two(), Outside()
    spec = [InputSpec([None, 4], name="x"), InputSpec([None, 8], name="y")]
    with evaluating(layer):
        functions = {"forward": recorded(layer.forward, spec, outside)}
    base, names = tmp_path_factory.mktemp("model") / "m", _names(layer, outside)
    _write(base, _content(functions, names, outside), names, outside)
    return layer, str(base)


def inputs(rows, seed=0):
    draw = np.random.default_rng(seed)
    return draw.normal(size=(rows, 4)).astype("float32"), draw.normal(size=(rows, 8)).astype("float32")


def wanted(layer, x, y):
    with paddle.no_grad():
        return [t.numpy() for t in layer(paddle.to_tensor(x), paddle.to_tensor(y))]
