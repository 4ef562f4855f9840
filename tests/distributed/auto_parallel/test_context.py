"""Context parallelism: attention with the time axis cut over processes, beside one process."""

import numpy as np
import pytest

import sampan
import sampan.distributed as dist
import sampan.nn.functional as F
from sampan import nn
from sampan.engine.errors import InvalidArgument

pytestmark = pytest.mark.servers
BATCH, TIME, HEADS, WIDTH, WORDS = 4, 8, 4, 3, 11


class Attention(nn.Layer):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Block(nn.Layer):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(WORDS, HEADS * WIDTH)
        self.q, self.k, self.v, self.out = (nn.Linear(HEADS * WIDTH, HEADS * WIDTH) for _ in range(4))
        self.sdpa = Attention()

    def forward(self, ids):
        x = self.table(ids)
        q, k, v = (layer(x).reshape([0, 0, HEADS, WIDTH]) for layer in (self.q, self.k, self.v))
        return x + self.out(self.sdpa(q, k, v).reshape([0, 0, HEADS * WIDTH]))


class Network(nn.Layer):
    def __init__(self):
        super().__init__()
        self.llama = Block()
        self.head = nn.Linear(HEADS * WIDTH, WORDS)

    def forward(self, ids):
        return self.head(self.llama(ids))


def trained(mesh):
    """Loss and gradients, what attention gets and gives; mesh: its shape, None for one process."""
    sampan.set_default_dtype("float64")
    sampan.seed(7)
    network = Network()
    ids = sampan.to_tensor(np.random.default_rng(1).integers(0, WORDS, [BATCH, TIME]))
    if mesh is not None:
        names = ["dp", "sep"][-len(mesh) :]
        processes = dist.ProcessMesh(np.arange(np.prod(mesh)).reshape(mesh), dim_names=names)
        plan = {
            "llama": dist.PrepareContextParallel("all2all"),
            "llama.sdpa": dist.ContextParallel("all2all"),
        }
        dist.parallelize(network, mesh=processes, config={"cp_config": {"parallelize_plan": plan}})
        ids = dist.shard_tensor(ids, processes, [dist.Shard(0), dist.Replicate()][-len(mesh) :])
    lies = []
    sdpa = network.llama.sdpa
    forward = sdpa.forward
    sdpa.forward = lambda *args: forward(*(lies.append(arg.placements) or arg for arg in args))
    network.llama.sdpa.register_forward_post_hook(lambda _, inputs, output: lies.append(output.placements))
    logits = network(ids)
    loss = (logits.tanh() ** 2).mean()
    loss.backward()
    return [loss.numpy(), *(p.grad.numpy() for p in network.parameters())], str(lies)


@pytest.mark.parametrize(("mesh", "data"), [([2], ""), ([2, 2], "Shard(dim=0), ")])
def test_attention_sees_whole_sequences_of_some_heads(workers, mesh, data):
    expected, *_ = trained(None)
    sampan.set_default_dtype("float32")
    inside, behind = f"[{data}Shard(dim=2)]", f"[{data}Shard(dim=1)]"
    for arrays, placements in workers(int(np.prod(mesh)))(trained, mesh):
        assert placements == f"[{inside}, {inside}, {inside}, {behind}]"
        for got, want in zip(arrays, expected, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


def mistakes():
    mesh = dist.ProcessMesh([0, 1], dim_names=["sep"])
    ids = sampan.zeros([BATCH, TIME], dtype="int64")
    texts = []

    def tell(plan, call=None, over=mesh):
        network = Network()
        try:
            dist.parallelize(network, mesh=over, config={"cp_config": {"parallelize_plan": plan}})
            call(network)
        except (AssertionError, InvalidArgument) as error:
            texts.append(f"{type(error).__name__}: {error}")

    prepared = {"llama": dist.PrepareContextParallel("all2all")}
    tell({"llama": dist.PrepareContextParallel()})
    tell(prepared, lambda network: network(ids))
    tell(prepared, lambda network: network(dist.shard_tensor(ids[:, 1:], mesh, [dist.Replicate()])))
    q = dist.shard_tensor(sampan.ones([BATCH, TIME, HEADS, WIDTH]), mesh, [dist.Shard(0)])
    tell({"llama.sdpa": dist.ContextParallel("all2all")}, lambda network: network.llama.sdpa(q, q, q))
    tell(prepared, over=dist.ProcessMesh([0, 1], dim_names=["mp"]))
    return texts


def test_errors(workers):
    for texts in workers(2)(mistakes):
        ring, dense, odd, whole, axis = texts
        assert "'p2p' (Ring FlashAttention) needs kernels for GPUs; use 'all2all'" in ring
        assert dense.startswith("AssertionError") and "distributed tensor" in dense
        assert "sequence length 7 must be divisible by cp degree 2" in odd
        assert "cut along axis 1" in whole
        assert "axis 'sep'" in axis
    with pytest.raises(AssertionError, match="'p2p' or 'all2all', but got nccl"):
        dist.ContextParallel("nccl")
