"""The names of `paddle.nn.quant`."""

import sampan as paddle
from sampan.quantization import nn_quant as quant


def test_functions_as_layers_and_stubs() -> None:
    assert quant.add()(paddle.ones([2]), paddle.ones([2])).tolist() == [2, 2]
    assert quant.concat()([paddle.ones([1]), paddle.zeros([1])], axis=0).tolist() == [1, 0]
    config = paddle.quantization.QuantConfig(paddle.quantization.observers.AbsmaxObserver(), None)

    class Net(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.stub = quant.Stub()

        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            return self.stub(x) * 2

    net = Net()
    net.eval()
    model = paddle.quantization.PTQ(config).quantize(net)
    assert type(model.stub).__name__ == "QuanterStub" and model(paddle.ones([1])).item() == 2
    assert float(model.stub._observer.scales()) == 1
