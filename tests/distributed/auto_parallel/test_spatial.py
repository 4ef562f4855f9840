"""Convolutions whose width is cut over processes, beside one process."""

import numpy as np
import pytest

import sampan
import sampan.distributed as dist
from sampan import nn
from sampan.distributed import traffic
from sampan.distributed.auto_parallel import dispatch

pytestmark = pytest.mark.servers


class Network(nn.Layer):
    def __init__(self, layers):
        super().__init__()
        sampan.seed(3)
        self.layers = nn.Sequential(*[nn.Conv2D(*args, **settings) for args, settings in layers])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        return x


def drawn(shape):
    return np.random.default_rng(5).normal(size=shape)


def trained(layers, shape, cut):
    """Value, gradient of the input and of all weights; which operators ran whole, bytes by collective."""
    sampan.set_default_dtype("float64")
    network = Network(layers)
    x = sampan.to_tensor(drawn(shape), stop_gradient=False)
    dispatch.counts["replicated"].clear()
    if cut:
        plan = {r"layers\.\d+": dist.ConvParallel()}
        mesh = dist.ProcessMesh(list(range(dist.get_world_size())), dim_names=["mp"])
        x = dist.shard_tensor(x, mesh, [dist.Replicate()])
        network, _ = dist.parallelize(network, mesh=mesh, config={"mp_config": {"parallelize_plan": plan}})
    traffic.reset()
    y = network(x)
    lies = y.placements
    (y * y).mean().backward()
    arrays = [y.numpy(), x.grad.numpy(), *(p.grad.numpy() for p in network.parameters())]
    return arrays, str(lies), dispatch.counts["replicated"].get("convolve", 0)


CASES = {
    "padding": ([((2, 3, 3), {"padding": 1}), ((3, 2, (1, 5)), {"padding": (0, 2)})], [2, 2, 5, 8], "Shard(dim=3)"),
    "disjoint": ([((2, 3, 2), {"stride": 2})], [2, 2, 6, 8], "Shard(dim=3)"),
    "same": ([((2, 4, 3), {"padding": "SAME", "groups": 2})], [1, 2, 4, 12], "Shard(dim=3)"),
    "NHWC": ([((2, 3, 3), {"padding": 1, "data_format": "NHWC"})], [2, 5, 8, 2], "Shard(dim=2)"),
}  # fmt: skip  # a table


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("name", CASES)
def test_width_is_cut(workers, count, name):
    layers, shape, lies = CASES[name]
    expected, *_ = trained(layers, shape, False)
    sampan.set_default_dtype("float32")
    for arrays, placements, whole in workers(count)(trained, layers, shape, True):
        assert (placements, whole) == (f"[{lies}]", 0)
        for got, want in zip(arrays, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("layers", "shape"),
    [
        ([((2, 3, 3), {"padding": 1})], [2, 2, 4, 7]),  # 7 columns for 2 processes
        ([((2, 3, 3), {"padding": 1, "stride": 2})], [2, 2, 4, 8]),
        ([((2, 3, 3), {"padding": 2, "dilation": 2})], [2, 2, 4, 8]),
        ([((2, 3, 3), {"padding": 0})], [2, 2, 4, 8]),
    ],
)
def test_other_layers_stay_as_they_are(workers, layers, shape):
    expected, *_ = trained(layers, shape, False)
    sampan.set_default_dtype("float32")
    for arrays, _, _ in workers(2)(trained, layers, shape, True):
        for got, want in zip(arrays, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


def halo_bytes():
    layer = nn.Conv2D(2, 3, 3, padding=1)
    mesh = dist.ProcessMesh([0, 1], dim_names=["mp"])
    dist.shard_layer(layer, mesh)
    x = dist.shard_tensor(sampan.ones([4, 2, 5, 8]), mesh, [dist.Shard(3)])
    traffic.reset()
    layer(x)
    return {name: counted.payload for name, counted in traffic.totals().items()}


def test_only_columns_of_neighbours_are_exchanged(workers):
    column = 4 * 2 * 5 * 4  # n c h, float32
    assert workers(2)(halo_bytes) == [{"all_gather": 2 * column}] * 2
