"""What a report says of Programs."""

from typing import Any

import sampan as paddle
from sampan import nn
from sampan.jit import to_static


def test_rows_for_each_kind_of_call() -> None:
    net = to_static(nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.BatchNorm1D(256), nn.Linear(256, 8)))
    statistics = net[2]._mean.numpy()
    x = paddle.ones([16, 64])
    for _ in range(2):
        net(x)
    moved = net[2]._mean.numpy()
    with paddle.no_grad():
        for _ in range(2):
            net(x)
    mean: Any = net[2]._mean.numpy()
    first, second = net.forward.report()
    assert (first.gradients, second.gradients) == (True, False)
    assert first.shapes == ((16, 64),) and first.recorded == first.run == 4 and first.programs == 1
    assert first.bytes == 4 * 16 * (256 + 256 + 256 + 8) and first.peak == 4 * 16 * (256 + 256)
    assert first.eager > 0 and first.static > 0 and first.ratio == first.static / first.eager
    # Measuring leaves no trace in the statistics.
    assert (net[2]._mean.numpy() == mean).all() and not (statistics == moved).all()
    assert "16x64" in str(net.forward.report()) and "4 -> 4" in str(net.forward.report())


def test_calls_that_are_not_used_and_functions_that_run_eagerly() -> None:
    def function(x: Any) -> Any:
        x.exp()
        return x + 1

    static = to_static(function)
    static(paddle.ones([3]))
    (row,) = static.report()
    assert (row.recorded, row.run) == (2, 1)
    eager = to_static(lambda x: x * float(x.max()))
    for i in range(12):
        eager(paddle.full([2], i + 0.5))
    (row,) = eager.report()
    assert "more than 8 outcomes" in row.why and "eagerly" in str(eager.report())
