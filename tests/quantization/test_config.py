"""Which layers a configuration quantises."""

import pytest

import sampan as paddle
from sampan import nn, quantization
from sampan.quantization.observers import AbsmaxObserver as ABSMAX
from tests.quantization.paddle_program import network


def test_a_configuration_names_layers_and_types() -> None:
    net = network(paddle)
    net.eval()
    config = quantization.QuantConfig(None, None)
    config.add_type_config(nn.Linear, ABSMAX(), ABSMAX())
    model = quantization.PTQ(config).quantize(net)
    assert [type(layer).__name__ for layer in model.children()] == ["Conv2D", "ReLU", "QuantedLinear"]
    config = quantization.QuantConfig(None, None)
    config.add_layer_config(net.conv, weight=ABSMAX())
    model = quantization.PTQ(config).quantize(net)
    assert type(model.conv).__name__ == "QuantedConv2D" and type(model.linear) is nn.Linear
    config = quantization.QuantConfig(ABSMAX(), ABSMAX())
    config.add_customized_leaf(type(net))
    model = quantization.PTQ(config).quantize(nn.Sequential(net))
    assert type(model[0]).__name__ == "ObserveWrapper" and type(model[0]._observed.conv) is nn.Conv2D


def test_names_and_arguments_that_do_not_fit_are_refused() -> None:
    net = network(paddle)
    config = quantization.QuantConfig(None, None)
    config.add_name_config("conv2d_x", weight=ABSMAX())
    with pytest.raises(ValueError, match=r"no layer has the name 'conv2d_x'; near it: conv2d_"):
        quantization.PTQ(config).quantize(net)
    with pytest.raises(TypeError, match="activation: expected a factory"):
        quantization.QuantConfig(8, None)
    with pytest.raises(ValueError, match="expected evaluation mode"):
        quantization.PTQ(quantization.QuantConfig(ABSMAX(), None)).quantize(net, inplace=True)
    net.eval()
    with pytest.raises(ValueError, match="expected training mode"):
        quantization.QAT(quantization.QuantConfig(ABSMAX(), None)).quantize(net)
    with pytest.raises(TypeError, match="quant_bits: expected a whole number"):
        quantization.PTQ(quantization.QuantConfig(ABSMAX(1), None)).quantize(net)
