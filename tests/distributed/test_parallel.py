"""DataParallel with one process trains as the layer alone."""

import sampan as paddle
import sampan.distributed as dist


def test_data_parallel_trains_as_the_layer_alone(ready):
    paddle.seed(0)
    layer = paddle.nn.Linear(2, 2)
    wrapped = paddle.DataParallel(layer, find_unused_parameters=True)
    assert dist.parallel.DataParallel is paddle.DataParallel
    assert list(wrapped.state_dict()) == ["weight", "bias"]  # without "_layers.", as in Paddle
    with wrapped.no_sync():
        wrapped(paddle.ones([1, 2])).sum().backward()
    wrapped.scale_loss(paddle.ones([1]))
    wrapped.apply_collective_grads()
    assert layer.weight.grad.tolist() == [[1, 1], [1, 1]]
