"""Training steps and kernels on a GPU beside torch on the same GPU: `python -m benchmarks.gpu [row ...]`.

Each row runs both programs in turn with the same sizes, and waits for the GPU before and after each: the times have the
host's part in them. A ratio is torch's median time over Sampan's: above 1 Sampan is faster. Rows that are limited by memory
also have the bytes that must be read and written over the measured bandwidth of a copy: the part of Sampan's time that is
needed. `waits`: how often a step of Sampan waits for the GPU, as torch's sync debug mode counts it.
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import sampan as paddle
from benchmarks.rows.networks import resnet18_torch
from sampan import embedding, graph, nn, sparse
from sampan.graph import nn as gnn
from sampan.models.gpt import GPT
from sampan.models.lenet import LeNet
from sampan.nn import functional as F

ROUNDS, WARM = 30, 5
Step = Callable[[], Any]
RANDOM = np.random.default_rng(0)


def both(shape: tuple[int, ...], low: int | None = None) -> tuple[Any, Any]:
    """The same random numbers for both libraries, on the GPU: normal, or ids below `low`."""
    array = RANDOM.standard_normal(shape).astype("float32") if low is None else RANDOM.integers(0, low, shape)
    buffer = torch.from_numpy(np.asarray(array)).cuda()
    return paddle.to_tensor(array), buffer


def steps_of(net: Any, theirs: Any, x: Any, y: Any, classes: int, rate: float = 1e-3) -> tuple[Step, Step]:
    """A step with Adam and cross entropy of each library."""
    rule = paddle.optimizer.Adam(rate, parameters=net.parameters())
    their_rule = torch.optim.Adam(theirs.parameters(), rate)

    def ours() -> None:
        F.cross_entropy(net(x[0]).reshape([-1, classes]), y[0].reshape([-1])).backward()
        rule.step()
        rule.clear_grad()

    def torch_step() -> None:
        out = theirs(x[1])
        out = out.reshape(-1, classes)
        torch.nn.functional.cross_entropy(out, y[1].reshape(-1)).backward()
        their_rule.step()
        their_rule.zero_grad()

    return ours, torch_step


def mlp() -> tuple[Step, Step]:
    t = torch.nn
    ours = nn.Sequential(
        nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    theirs = t.Sequential(
        t.Linear(784, 1024), t.ReLU(), t.Linear(1024, 1024), t.ReLU(), t.Linear(1024, 10)
    ).cuda()
    return steps_of(ours, theirs, both((256, 784)), both((256,), 10), 10)


def lenet() -> tuple[Step, Step]:
    t = torch.nn
    theirs = t.Sequential(
        t.Conv2d(1, 6, 3, padding=1), t.ReLU(), t.MaxPool2d(2), t.Conv2d(6, 16, 5), t.ReLU(), t.MaxPool2d(2), t.Flatten(),
        t.Linear(400, 120), t.ReLU(), t.Linear(120, 84), t.ReLU(), t.Linear(84, 10),
    ).cuda()  # fmt: skip  # one row of fields to a line
    return steps_of(LeNet(), theirs, both((256, 1, 28, 28)), both((256,), 10), 10)


def resnet() -> tuple[Step, Step]:
    ours, theirs = paddle.vision.models.resnet18(num_classes=1000), resnet18_torch(torch, 1000).cuda()
    return steps_of(ours, theirs, both((32, 3, 224, 224)), both((32,), 1000), 1000)


def lstm() -> tuple[Step, Step]:
    class Ours(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.out = nn.LSTM(128, 256), nn.Linear(256, 10)

        def forward(self, x: Any) -> Any:
            return self.out(self.inner(x)[0][:, -1])

    class Theirs(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner, self.out = torch.nn.LSTM(128, 256, batch_first=True), torch.nn.Linear(256, 10)

        def forward(self, x: Any) -> Any:
            return self.out(self.inner(x)[0][:, -1])

    return steps_of(Ours(), Theirs().cuda(), both((32, 64, 128)), both((32,), 10), 10)


def gpt() -> tuple[Step, Step]:
    t, width, heads, layers, time_, words = torch.nn, 256, 8, 4, 256, 1000

    class Block(t.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second, self.qkv, self.proj = (
                t.LayerNorm(width),
                t.LayerNorm(width),
                t.Linear(width, 3 * width),
                t.Linear(width, width),
            )
            self.mlp = t.Sequential(
                t.Linear(width, 4 * width), t.GELU(approximate="tanh"), t.Linear(4 * width, width)
            )

        def forward(self, x: Any) -> Any:
            b, n, _ = x.shape
            q, k, v = self.qkv(self.first(x)).view(b, n, 3, heads, -1).permute(2, 0, 3, 1, 4)
            mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(mixed.transpose(1, 2).reshape(b, n, width))
            return x + self.mlp(self.second(x))

    class Theirs(t.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = t.Embedding(words, width), t.Embedding(time_, width)
            self.blocks, self.last = t.ModuleList(Block() for _ in range(layers)), t.LayerNorm(width)

        def forward(self, ids: Any) -> Any:
            x = self.words(ids) + self.places.weight[: ids.shape[1]]
            for block in self.blocks:
                x = block(x)
            return self.last(x) @ self.words.weight.t()

    ours = GPT(words, time_, layers, heads, width, 0.0)
    return steps_of(ours, Theirs().cuda(), both((8, time_), words), both((8, time_), words), words)


def adam(count: int) -> tuple[Step, Step]:
    x, buffer = both((count,))
    x.stop_gradient = False
    own = nn.Parameter(x)
    theirs = torch.nn.Parameter(buffer)
    own.grad, theirs.grad = paddle.ones([count]), torch.ones_like(buffer)
    rule = paddle.optimizer.Adam(1e-3, parameters=[own])
    return rule.step, torch.optim.Adam([theirs], 1e-3).step


def chain(count: int) -> tuple[Step, Step]:
    x, buffer = both((count,))
    x.stop_gradient = False
    leaf = buffer.clone().requires_grad_()

    def ours() -> None:
        (paddle.tanh(x * 2 + 1) * x - paddle.exp(-x)).sum().backward()
        x.clear_grad()

    def torch_step() -> None:
        (torch.tanh(leaf * 2 + 1) * leaf - torch.exp(-leaf)).sum().backward()
        leaf.grad = None

    return ours, torch_step


def edges(nodes: int, count: int) -> np.ndarray:
    return RANDOM.integers(0, nodes, (count, 2))


def spmm(nodes: int, count: int) -> tuple[Step, Step]:
    pairs = np.unique(edges(nodes, count), axis=0)
    ours = sparse.sparse_coo_tensor(pairs.T, np.ones(len(pairs), "float32"), [nodes, nodes]).to_sparse_csr()
    ours.stop_gradient = False
    x, buffer = both((nodes, 64))
    x.stop_gradient = False
    crows = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=nodes))])
    theirs = torch.sparse_csr_tensor(crows, pairs[:, 1], torch.ones(len(pairs)), (nodes, nodes)).cuda()
    leaf = buffer.clone().requires_grad_()

    def step() -> None:
        sparse.matmul(ours, x).sum().backward()
        x.clear_grad()

    def torch_step() -> None:
        (theirs @ leaf).sum().backward()
        leaf.grad = None

    return step, torch_step


def gat(nodes: int, count: int) -> tuple[Step, Step]:
    from torch_geometric.nn import GATConv

    pairs = edges(nodes, count)
    ours = gnn.GATConv(64, 8, num_heads=8, feat_drop=0.0, attn_drop=0.0)
    theirs = GATConv(64, 8, 8, add_self_loops=False).cuda()
    own_graph, index = graph.Graph(pairs, nodes), torch.from_numpy(np.ascontiguousarray(pairs.T)).cuda()
    x, buffer = both((nodes, 64))

    def step() -> None:
        ours(own_graph, x).sum().backward()
        ours.clear_gradients()

    def torch_step() -> None:
        theirs(buffer, index).sum().backward()
        theirs.zero_grad()

    return step, torch_step


def bags(rows: int) -> tuple[Step, Step]:
    ours = embedding.EmbeddingBag(rows, 64, mode="sum")
    theirs = torch.nn.EmbeddingBag(rows, 64, mode="sum", sparse=True).cuda()
    rule = paddle.optimizer.SGD(0.1, parameters=ours.parameters())
    their_rule = torch.optim.SGD(theirs.parameters(), 0.1)
    ids, buffer = both((4096, 20), rows)

    def step() -> None:
        ours(ids).sum().backward()
        rule.step()
        rule.clear_grad()

    def torch_step() -> None:
        theirs(buffer).sum().backward()
        their_rule.step()
        their_rule.zero_grad()

    return step, torch_step


def small() -> tuple[Step, Step]:
    return chain(64)


# What makes the programs, and the fewest bytes of a step where memory is the limit.
ROWS: dict[str, tuple[Callable[[], tuple[Step, Step]], float]] = {
    "MLP 784-1024-1024-10, batch 256": (mlp, 0),
    "LeNet, batch 256": (lenet, 0),
    "ResNet-18, batch 32, 224x224": (resnet, 0),
    "LSTM 128-256, batch 32, 64 steps": (lstm, 0),
    "GPT, 4 layers of 256, batch 8 x 256": (gpt, 0),
    "Adam, 1e6 parameters": (lambda: adam(10**6), 28e6),
    "Adam, 1e8 parameters": (lambda: adam(10**8), 28e8),
    "six elementwise calls, 64 numbers": (small, 0),
    "six elementwise calls, 1e8 numbers": (lambda: chain(10**8), 8e8),
    "sparse product, 2,708 nodes, 10,556 edges, width 64": (lambda: spmm(2708, 10_556), 0),
    "sparse product, 1e5 nodes, 1e6 edges, width 64": (lambda: spmm(10**5, 10**6), 0),
    "GAT layer, 2,708 nodes, 10,556 edges": (lambda: gat(2708, 10_556), 0),
    "GAT layer, 1e5 nodes, 1e6 edges, 8 heads": (lambda: gat(10**5, 10**6), 0),
    "bags of 20 rows of 1e6 x 64, step of rows": (lambda: bags(10**6), 0),
}


def seconds(step: Step) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    step()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def waits(step: Step) -> Counter[str]:
    """Where a step waits for the GPU."""
    found: Counter[str] = Counter()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        step()
    torch.cuda.set_sync_debug_mode("default")
    for one in caught:
        if "synchroniz" in str(one.message):
            found[f"{'/'.join(one.filename.split('/')[-3:])}:{one.lineno}"] += 1
    return found


def bandwidth() -> float:
    """Bytes per second of a copy, read and written."""
    source = torch.rand(2**28, device="cuda")
    target = torch.empty_like(source)
    times = [seconds(lambda: target.copy_(source)) for _ in range(12)]
    return 2 * source.nbytes / statistics.median(times[2:])


def main(names: list[str]) -> None:
    paddle.set_device("gpu")
    rate = bandwidth()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, a copy moves {rate / 1e12:.2f} TB/s\n")
    print("| row | Sampan, ms | torch, ms | ratio | x limit | waits |\n|---|---|---|---|---|---|")
    for name, (make, moved) in ROWS.items():
        if names and not any(part in name for part in names):
            continue
        try:
            ours, theirs = make()
            for _ in range(WARM):
                ours(), theirs()
            where = waits(ours)
            pairs = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
        except Exception as error:  # the other rows are still measured
            print(f"| {name} | {type(error).__name__}: {str(error)[:120]} | | | | |", flush=True)
            continue
        own, other = (statistics.median(times) for times in zip(*pairs, strict=True))
        limit = f"{own * rate / moved:.1f}" if moved else ""
        print(
            f"| {name} | {own * 1e3:.3f} | {other * 1e3:.3f} | {other / own:.2f} | {limit} | {sum(where.values())} |",
            flush=True,
        )
        print(f"{name}: {dict(where)}", file=sys.stderr, flush=True)
        del ours, theirs
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main(sys.argv[1:])
