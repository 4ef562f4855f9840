"""Paddle's names of `jit`."""

from typing import Any

import pytest

import sampan as paddle
from sampan import nn
from sampan.jit import StaticFunction, enable_to_static, not_to_static, to_static


def test_forms_of_the_decorator() -> None:
    def function(x: Any) -> Any:
        return x + 1

    for made in (to_static(function), to_static()(function), to_static(full_graph=True)(function)):
        assert isinstance(made, StaticFunction) and made(paddle.ones([1])).item() == 2
    layer = nn.Linear(2, 2)
    assert to_static(layer) is layer is to_static(layer) and isinstance(layer.forward, StaticFunction)

    class Holder:
        @staticmethod
        @to_static
        def plain(x: Any) -> Any:
            return x * 2

        method = to_static(staticmethod(function))

    assert Holder.plain(paddle.ones([1])).item() == 2 and Holder.method(paddle.ones([1])).item() == 2
    assert not_to_static(function) is function is not_to_static()(function)
    paddle.jit.ignore_module([pytest])
    paddle.jit.set_verbosity(1)
    paddle.jit.set_code_level(3)


def test_it_can_be_turned_off() -> None:
    static = to_static(lambda x: x + 1)
    enable_to_static(False)
    try:
        static(paddle.ones([1])), static(paddle.ones([1]))
        assert static.programs == []
    finally:
        enable_to_static(True)
    static(paddle.ones([1]))
    assert len(static.programs) == 1


def test_bad_input() -> None:
    with pytest.raises(TypeError, match="expected a function or a Layer, got int"):
        to_static(3)
    with pytest.raises(TypeError, match="unknown settings"):
        to_static(print, nonsense=1)
    with pytest.raises(TypeError, match="expected a bool"):
        enable_to_static("yes")  # type: ignore[arg-type]  # what is tested
