"""Generated functions show their source."""

import inspect
import traceback

import pytest

import sampan
from sampan import generated

ROOMS = (
    sampan,
    sampan.nn.functional,
    sampan.linalg,
    sampan.fft,
    sampan.signal,
    sampan.Tensor,
    sampan.vision.ops,
)


def test_every_public_function_shows_its_source():
    bare = [
        f"{room.__name__}.{name}"
        for room in ROOMS
        for name in dir(room)
        if not name.startswith("_") and inspect.isroutine(getattr(room, name)) and not _has_source(getattr(room, name))
    ]  # fmt: skip
    assert not bare
    assert "def exp(x, name=None):" in inspect.getsource(sampan.exp)
    assert "g * cos(x)" in inspect.getsource(sampan.sin)  # its derivative
    (derivative,) = sampan.sin.operator.functions()[0]
    assert "return g * x.cos()" in inspect.getsource(derivative)


def _has_source(function):
    try:
        return bool(inspect.getsource(function))
    except (OSError, TypeError):
        return inspect.isbuiltin(function)


def test_a_traceback_shows_the_generated_line():
    made = {}
    generated.define("def f(x):\n    return x.nothing\n", "test f", made)
    with pytest.raises(AttributeError) as caught:
        made["f"](1)
    assert "return x.nothing" in "".join(traceback.format_tb(caught.tb))
