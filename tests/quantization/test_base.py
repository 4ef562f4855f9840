"""Factories of quanters, and quanters that a program declares."""

from typing import Any

import pytest

import sampan as paddle
from sampan.quantization import BaseQuanter, quanter


@quanter("Halves")
class HalvesLayer(BaseQuanter):
    """Rounds to multiples of a half."""

    def __init__(self, layer: Any, step: float) -> None:
        super().__init__()
        self.step = step

    def forward(self, input: Any) -> Any:
        return (input / self.step).round() * self.step

    def scales(self) -> Any:
        return paddle.to_tensor([127 * self.step])

    def zero_points(self) -> None:
        return None

    def quant_axis(self) -> int:
        return -1

    def bit_length(self) -> int:
        return 8


def test_a_declared_quanter_is_used_and_converted() -> None:
    factory = globals()["Halves"](step=0.5)
    assert repr(factory) == "Halves(step=0.5)" and factory.kwargs == {"step": 0.5} and factory.args == ()
    qat = paddle.quantization.QAT(paddle.quantization.QuantConfig(factory, factory))
    model = qat.quantize(paddle.nn.Sequential(paddle.nn.Linear(1, 1)))
    model[0].weight.set_value([[1.6]])
    assert model(paddle.to_tensor([[0.8]])).item() == 1.5
    model.eval()
    converted = qat.convert(model)
    assert converted[0].weight.item() == 3 and converted(paddle.to_tensor([[0.8]])).item() == pytest.approx(
        1.5
    )


def test_what_is_no_quanter_is_refused() -> None:
    with pytest.raises(TypeError, match="expected a subclass of BaseQuanter"):
        quanter("Nothing")(int)  # type: ignore[type-var]  # the error is the subject
