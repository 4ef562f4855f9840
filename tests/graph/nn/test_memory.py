"""The memory of a temporal graph network against a loop over events in NumPy; PyTorch Geometric beside it where
it is installed."""

import numpy as np
import pytest
import torch

import sampan as paddle
from sampan.graph import nn as gnn
from sampan.nn import functional as F

NODES, RAW, DIM, TIME = 12, 3, 5, 4


@pytest.fixture(autouse=True)
def float64():
    paddle.set_default_dtype("float64")
    paddle.seed(0)
    yield
    paddle.set_default_dtype("float32")


def events(count=90, seed=0, bipartite=False):
    """With loops, equal times, and nodes several times in a batch."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, NODES, (2, count))
    if bipartite:
        ends = np.stack([rng.integers(0, 6, count), rng.integers(6, 10, count)])
    return *ends, np.sort(rng.integers(0, 60, count)), rng.normal(size=(count, RAW))


def batches(stream, size=15):
    return [tuple(part[at : at + size] for part in stream) for at in range(0, len(stream[0]), size)]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Slow:
    """The same with dictionaries, an event at a time."""

    def __init__(self, layer):
        self.layer, self.memory, self.last = layer, np.zeros((NODES, DIM)), np.zeros(NODES)
        self.waiting = {node: [] for node in range(NODES)}

    def gru(self, x, h):
        weights = [getattr(self.layer.gru, f"{name}_{side}").numpy() for side in ("ih", "hh") for name in ("weight", "bias")]  # fmt: skip
        a, b = weights[0] @ x + weights[1], weights[2] @ h + weights[3]
        r, z = sigmoid(a[:DIM] + b[:DIM]), sigmoid(a[DIM : 2 * DIM] + b[DIM : 2 * DIM])
        return z * h + (1 - z) * np.tanh(a[2 * DIM :] + r * b[2 * DIM :])

    def message(self, node, other, t, raw, module):
        w, b = self.layer.time_enc.lin.weight.numpy()[0], self.layer.time_enc.lin.bias.numpy()
        parts = [self.memory[node], self.memory[other], raw, np.cos(w * (t - self.last[node]) + b)]
        joined = np.concatenate(parts)
        return joined if module is None else joined @ module.lin.weight.numpy() + module.lin.bias.numpy()

    def updated(self, node):
        found = [self.message(node, *one) for one in self.waiting[node]]
        if not found:
            return self.memory[node], self.last[node]
        joined = found[-1] if self.layer.aggregator == "last" else np.mean(found, 0)
        return self.gru(joined, self.memory[node]), self.waiting[node][-1][1]

    def update_state(self, src, dst, t, raw):
        nodes = sorted({*src.tolist(), *dst.tolist()})
        new = [self.updated(node) for node in nodes]
        for node, (memory, last) in zip(nodes, new, strict=True):
            self.memory[node], self.last[node], self.waiting[node] = memory, last, []
        for a, b, at, numbers in zip(src, dst, t, raw, strict=True):
            self.waiting[a].append((b, at, numbers, self.layer.message_src))
            self.waiting[b].append((a, at, numbers, self.layer.message_dst))


class Message(paddle.nn.Layer):
    out_channels = 6

    def __init__(self):
        super().__init__()
        self.lin = paddle.nn.Linear(2 * DIM + RAW + TIME, 6)

    def forward(self, *parts):
        return self.lin(paddle.concat(parts, -1))


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("aggregator", ["last", "mean"])
def test_beside_a_loop_over_events(aggregator, own):
    layer = gnn.TGNMemory(NODES, RAW, DIM, TIME, Message() if own else None, aggregator)
    if own:
        layer.message_dst.lin.weight.set_value(paddle.randn([17, 6]))
    slow = Slow(layer)
    nodes = [3, 0, 3, 11]
    for batch in batches(events()):
        memory, last = layer(nodes)
        expected = [slow.updated(node) for node in nodes]
        np.testing.assert_allclose(memory.numpy(), [one[0] for one in expected], atol=1e-12)
        assert last.tolist() == [one[1] for one in expected]
        layer.update_state(*batch)
        slow.update_state(*batch)
    every = [slow.updated(node) for node in range(NODES)]
    layer.flush()
    np.testing.assert_allclose(layer.memory.numpy(), [one[0] for one in every], atol=1e-12)
    assert layer.last_update.tolist() == [one[1] for one in every]
    assert (layer(range(NODES))[0].numpy() == layer.memory.numpy()).all()
    layer.reset_state()
    assert not layer(nodes)[0].numpy().any()


def test_nothing_of_a_prediction_s_own_or_later_events():
    layer = gnn.TGNMemory(NODES, RAW, DIM, TIME)
    stream = events()

    def seen(changed_from):
        """What is known before each batch, where events from a place on are others."""
        src, dst, t, raw = (part.copy() for part in stream)
        raw[changed_from:] += 7.0
        src[changed_from:], dst[changed_from:] = dst[changed_from:], (src[changed_from:] + 5) % NODES
        t[changed_from:] += 100
        layer.reset_state()
        found = []
        for batch in batches((src, dst, t, raw)):
            found.append(np.c_[tuple(part.numpy() for part in layer(range(NODES)))])
            layer.update_state(*batch)
        return found

    first = seen(90)
    for batch in range(1, 6):
        other = seen(15 * batch)
        assert all((a == b).all() for a, b in zip(first[: batch + 1], other, strict=False))
        if batch < 5:
            assert (first[batch + 1] != other[batch + 1]).any()


def test_asking_changes_nothing_and_eval_is_the_same():
    stream = events()

    def final(ask, training):
        paddle.seed(4)
        layer = gnn.TGNMemory(NODES, RAW, DIM, TIME, aggregator="mean")
        layer.train() if training else layer.eval()
        for batch in batches(stream):
            if ask:
                layer(range(NODES))
            layer.update_state(*batch)
        return layer(range(NODES))[0].numpy()

    assert (final(False, True) == final(True, True)).all()
    assert (final(False, True) == final(False, False)).all()


@pytest.mark.parametrize("aggregator", ["last", "mean"])
def test_beside_pytorch_geometric(aggregator):
    """Sources and targets are different nodes here: of others PyTorch Geometric keeps messages that were used.
    All have an event in the first batch: its LastAggregator gives nodes without one a message of others."""
    tgn = pytest.importorskip("torch_geometric.nn.models.tgn")
    layer = gnn.TGNMemory(NODES, RAW, DIM, TIME, aggregator=aggregator)
    kind = tgn.LastAggregator if aggregator == "last" else tgn.MeanAggregator
    peer = tgn.TGNMemory(NODES, RAW, DIM, TIME, tgn.IdentityMessage(RAW, DIM, TIME), kind()).double()
    peer.reset_state()
    for name in ("bias_ih", "bias_hh"):  # 0: a node without messages, which is not to be changed by them
        getattr(layer.gru, name).set_value(paddle.zeros([3 * DIM]))
    with torch.no_grad():
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(peer.gru, name).copy_(torch.from_numpy(getattr(layer.gru, name).numpy()))
        peer.time_enc.lin.weight.copy_(torch.from_numpy(layer.time_enc.lin.weight.numpy().T))
        peer.time_enc.lin.bias.copy_(torch.from_numpy(layer.time_enc.lin.bias.numpy()))
    src, dst, _, raw = events(bipartite=True)
    src[:15], dst[:15] = np.arange(15) % 6, 6 + np.arange(15) % 4
    for batch in batches((src, dst, np.arange(90), raw)):
        layer.update_state(*batch)
        peer.update_state(*(torch.from_numpy(part) for part in batch))
        expected, last = peer(torch.arange(10))
        found, own = layer(range(10))
        np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), atol=1e-12)
        assert own.tolist() == last.tolist()


def test_the_loss_of_the_next_batch_trains_every_parameter():
    layer = gnn.TGNMemory(NODES, RAW, DIM, TIME, Message(), "mean")
    first, second, third = batches(events())[:3]
    layer.update_state(*first)
    layer.update_state(*second)
    memory, _ = layer(third[0])
    (memory * paddle.randn(memory.shape)).sum().backward()
    for parameter in layer.parameters():
        assert np.isfinite(parameter.grad.numpy()).all() and (parameter.grad.numpy() != 0).any()
    layer.update_state(*third)
    assert layer.memory.stop_gradient


def test_it_learns_what_the_last_event_said():
    paddle.set_default_dtype("float32")
    rng = np.random.default_rng(0)
    layer, head = gnn.TGNMemory(40, 1, 8, 2), paddle.nn.Linear(8, 2)
    optimizer = paddle.optimizer.Adam(0.01, parameters=[*layer.parameters(), *head.parameters()])
    losses = []
    for epoch in range(8):
        layer.reset_state()
        said = np.zeros(40, np.int64)
        for batch in range(25):
            src, dst = rng.permutation(20)[:10], 20 + rng.permutation(20)[:10]
            told = rng.integers(0, 2, (10, 1))
            memory, _ = layer(src)
            if batch > 3:
                loss = F.cross_entropy(head(memory), paddle.to_tensor(said[src]))
                loss.backward()
                optimizer.step()
                optimizer.clear_grad()
                losses += [float(loss)] if epoch == 7 else []
            layer.update_state(src, dst, np.full(10, batch), told.astype("float32"))
            said[src] = told[:, 0]
    assert np.mean(losses) < 0.45  # without the memory ln 2 = 0.69


def test_state_is_saved_and_arrays_may_be_overwritten():
    layer, other = (gnn.TGNMemory(NODES, RAW, DIM, TIME) for _ in range(2))
    src, dst, t, raw = events()
    layer.update_state(src, dst, t, raw)
    expected = layer(range(NODES))[0].numpy()
    for part in (src, dst, t, raw):
        part[:] = 10**6
    assert (layer(range(NODES))[0].numpy() == expected).all()
    layer.flush()
    other.set_state_dict(layer.state_dict())
    assert (other(range(NODES))[0].numpy() == expected).all()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda m: m([12]), "TGNMemory: nodes: expected ids from 0 to 11, got 12"),
        (lambda m: m.update_state([0], [12], [1], np.zeros((1, 3))), "update_state: dst: expected ids"),
        (lambda m: m.update_state([0, 1], [1, 2], [2, 1], np.zeros((2, 3))), "none before the event before it"),
        (lambda m: m.update_state([0], [1], [-1], np.zeros((1, 3))), "none before the event before it"),
        (lambda m: m.update_state([0], [1], [np.nan], np.zeros((1, 3))), "expected finite times"),
        (lambda m: m.update_state([0], [1], [5], np.zeros((1, 4))), r"a raw_msg \[1, 3\], got 1, 1 and \[1, 4\]"),
        (lambda m: m.update_state([0, 1], [1], [5], np.zeros((2, 3))), "expected 2 targets and times"),
        (lambda m: gnn.TGNMemory(4, 1, 1, 1, aggregator="sum"), "aggregator: expected 'last' or 'mean'"),
        (lambda m: gnn.TGNMemory(0, 1, 1, 1), "num_nodes: expected a whole number of at least 1"),
    ],
)  # fmt: skip
def test_bad_input(call, text):
    layer = gnn.TGNMemory(NODES, RAW, DIM, TIME)
    layer.update_state([0], [1], [0], np.zeros((1, 3)))
    with pytest.raises(ValueError, match=text):
        call(layer)
