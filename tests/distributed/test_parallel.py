"""DataParallel with one process trains as the layer alone."""

import pytest

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


def synced(rank_of_source):
    layer = paddle.nn.Sequential(paddle.nn.Linear(2, 2), paddle.nn.BatchNorm1D(2), paddle.nn.Linear(2, 2))
    for number, tensor in enumerate([*layer.parameters(), *layer.buffers()]):
        tensor.set_value(paddle.full_like(tensor, 10 * dist.get_rank() + number))
    *_, cut, left_out = layer.parameters()
    cut.is_distributed, left_out.no_sync = True, True
    dist.parallel.sync_params_buffers(layer, src_rank=rank_of_source, is_model_parallel=True)
    tensors = [*layer.parameters(), *layer.buffers()]
    own = [float(t.flatten()[0]) // 10 == dist.get_rank() for t in tensors if t is cut or t is left_out]
    return own, {float(t.flatten()[0]) // 10 for t in tensors if t is not cut and t is not left_out}


@pytest.mark.servers
def test_parameters_and_buffers_of_one_process(workers):
    assert workers(2)(synced, 1) == [([True, True], {1.0})] * 2
