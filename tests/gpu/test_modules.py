"""Sparse tensors, graphs, embeddings and speech on a GPU: the same programs as on a CPU, the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import sampan as paddle
from sampan import embedding, graph, nn, sparse, speech
from sampan.graph import nn as gnn
from sampan.nn import functional as F
from sampan.speech import nn as snn
from tests.gpu.places import filled, here, needs_gpu, same

pytestmark = needs_gpu
RANDOM = np.random.default_rng(0)
DENSE = (RANDOM.standard_normal((20, 30)) * (RANDOM.random((20, 30)) < 0.2)).astype("float32")
VOXELS = (RANDOM.standard_normal((2, 6, 6, 6, 4)) * (RANDOM.random((2, 6, 6, 6)) < 0.2)[..., None]).astype(
    "float32"
)
EDGES = RANDOM.integers(0, 40, (200, 2))
FEATURES = RANDOM.standard_normal((40, 6)).astype("float32")


def leaf(array):
    return paddle.to_tensor(array, stop_gradient=False)


def stepped(rule, loss):
    """One step of training."""
    loss.backward()
    rule.step()
    rule.clear_grad()


# --- sparse ---


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_products(layout):
    def program():
        s = (
            sparse.dense_to_coo(paddle.to_tensor(DENSE), 2)
            if layout == "coo"
            else sparse.dense_to_csr(paddle.to_tensor(DENSE))
        )
        s.stop_gradient = False
        y = leaf(RANDOM.__class__(np.random.PCG64(1)).standard_normal((30, 5)).astype("float32"))
        out = sparse.matmul(s, y)
        (out**2).sum().backward()
        again = sparse.matmul(s, s.transpose([1, 0])).to_dense() if layout == "coo" else out
        return [out, s.grad.values(), y.grad, again, sparse.mv(s, y[:, 0]), s.to_dense()]

    same(program, tolerance=1e-4)


def test_masked_products_and_softmax():
    def program():
        x, y = leaf(DENSE[:, :8].copy()), leaf(DENSE[:8].copy())
        mask = sparse.dense_to_csr(paddle.to_tensor(DENSE))
        out = sparse.masked_matmul(x, y, mask)
        weights = sparse.nn.functional.softmax(out)
        (weights.values() ** 2).sum().backward()
        return [out.values(), weights.values(), x.grad, y.grad]

    same(program, tolerance=1e-4)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_entry_by_entry(name):
    def program():
        x, y = (sparse.dense_to_coo(paddle.to_tensor(d), 2) for d in (DENSE, DENSE[::-1].copy()))
        x.stop_gradient = y.stop_gradient = False
        out = getattr(sparse, name)(x, y)
        if name == "divide":
            return out.values()
        (out.values() ** 2).sum().backward()
        return [out.indices(), out.values(), x.grad.values(), y.grad.values()]

    same(program)


def test_entries_one_by_one():
    def program():
        x = sparse.dense_to_coo(paddle.to_tensor(DENSE), 2)
        found = [
            f(x).values()
            for f in (
                sparse.sin,
                sparse.tanh,
                sparse.sqrt,
                sparse.square,
                sparse.abs,
                sparse.neg,
                sparse.nn.functional.relu,
            )
        ]
        repeated = sparse.sparse_coo_tensor([[0, 0, 1], [2, 2, 0]], [1.0, 2.0, 3.0], [2, 3])
        return [
            *found,
            repeated.coalesce().values(),
            sparse.sum(x),
            x.to_sparse_csr().crows(),
            sparse.reshape(x, [30, 20]).to_dense(),
            sparse.slice(x, [0, 1], [2, 3], [9, 20]).to_dense(),
        ]

    same(program)


def test_attention_at_the_entries_of_a_mask():
    mask = (RANDOM.random((2, 7, 7)) < 0.5).astype("float32")
    arrays = [RANDOM.standard_normal((2, 3, 7, 4)).astype("float32") for _ in range(3)]

    def program():
        q, k, v = map(leaf, arrays)
        where = sparse.dense_to_csr(paddle.to_tensor(mask))
        out = sparse.nn.functional.attention(q, k, v, where)
        (out**2).sum().backward()
        return [out, q.grad, k.grad, v.grad]

    same(program, tolerance=1e-4)


def test_attention_by_blocks():
    arrays = [RANDOM.standard_normal((2, 3, 40, 4)).astype("float32") for _ in range(3)]

    def program():
        q, k, v = map(leaf, arrays)
        out = sparse.nn.functional.block_attention(q, k, v, sparse.sliding_window(40, 6, block_size=8))
        (out**2).sum().backward()
        return [out, q.grad, k.grad, v.grad]

    same(program, tolerance=1e-4)


@pytest.mark.parametrize("kind", ["Conv3D", "SubmConv3D", "MaxPool3D", "AvgPool3D", "Conv3DTranspose"])
def test_convolutions(kind):
    def program():
        x = sparse.dense_to_coo(paddle.to_tensor(VOXELS), 4)
        x.stop_gradient = False
        layer = getattr(sparse.nn, kind)(*((2,) if "Pool" in kind else (4, 5, 3)))
        layer = layer if "Pool" in kind else filled(layer)
        out = layer(x)
        (out.values() ** 2).sum().backward()
        return [out.indices(), out.values(), x.grad.values(), *(p.grad for p in layer.parameters())]

    same(program, tolerance=2e-4)


def test_a_network_of_voxels():
    def program():
        s = sparse.nn
        net = filled(
            nn.Sequential(
                s.SubmConv3D(4, 8, 3), s.BatchNorm(8), s.ReLU(), s.Conv3D(8, 8, 2, stride=2), s.ReLU()
            )
        )
        rule = paddle.optimizer.Adam(0.01, parameters=net.parameters())
        losses = []
        for _ in range(3):
            x = sparse.dense_to_coo(paddle.to_tensor(VOXELS), 4)
            loss = (net(x).values() ** 2).mean()
            stepped(rule, loss)
            losses.append(loss)
        return losses

    same(program, tolerance=1e-3)


# --- graphs ---


@pytest.mark.parametrize("message", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min"])
def test_messages(message, reduce):
    weights = RANDOM.random((200, 6)).astype("float32") + 0.5

    def program():
        x, y = leaf(FEATURES), leaf(weights)
        src, dst = paddle.to_tensor(EDGES[:, 0]), paddle.to_tensor(EDGES[:, 1])
        out = paddle.geometric.send_ue_recv(x, y, src, dst, message, reduce)
        plain = paddle.geometric.send_u_recv(x, src, dst, reduce)
        pairs = paddle.geometric.send_uv(x, x, src, dst, message)
        ((out**2).sum() + (plain**2).sum() + (pairs * 0.1).sum()).backward()
        segments = getattr(paddle.geometric, f"segment_{reduce}")(x, paddle.to_tensor(np.arange(40) // 7))
        return [out, plain, pairs, segments, x.grad, y.grad]

    same(program, tolerance=1e-3)


LAYERS = {
    "GCNConv": (6, 5), "GraphSageConv": (6, 5), "GATConv": (6, 5), "GATv2Conv": (6, 5), "GINConv": (6, 5), "SGCConv": (6, 5),
    "SSGCConv": (6, 5), "NGCFConv": (6, 5), "LightGCNConv": (), "APPNP": (), "FAConv": (6,), "GCNII": (6,),
    "TransformerConv": (6, 5), "GPRConv": (6, 5, 4),
}  # fmt: skip  # one row of fields to a line


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_graphs(name):
    def program():
        layer = filled(getattr(gnn, name)(*LAYERS[name]))
        layer.eval()
        g, x = graph.Graph(EDGES, 40), leaf(FEATURES)
        out = layer(g, x, x) if name == "GCNII" else layer(g, x)
        (out * paddle.to_tensor(np.resize(FEATURES, tuple(out.shape)))).sum().backward()
        return [out, x.grad, *(p.grad for p in layer.parameters() if p.grad is not None)]

    same(program, tolerance=1e-3)


def test_layers_of_several_relations():
    def program():
        g = graph.HeteroGraph(
            {"a": 20, "b": 20}, {("a", "to", "b"): EDGES[:100] % 20, ("b", "back", "a"): EDGES[100:] % 20}
        )
        x = {"a": leaf(FEATURES[:20].copy()), "b": leaf(FEATURES[20:].copy())}
        layer = filled(gnn.HGTConv(6, 4, (["a", "b"], [("a", "to", "b"), ("b", "back", "a")]), heads=2))
        out = layer(g, x)
        sum((v**2).sum() for v in out.values()).backward()
        return [out, x["a"].grad]

    same(program, tolerance=1e-3)


def test_pooling_of_graphs():
    def program():
        many = graph.Graph.batch([graph.Graph(EDGES[:60] % 20, 20), graph.Graph(EDGES[60:120] % 20, 20)])
        x = leaf(FEATURES)
        found = [gnn.GraphPool(kind)(many, x) for kind in ("sum", "mean", "max")]
        found.append(gnn.GraphNorm()(many, x))
        sum((f**2).sum() for f in found).backward()
        return [*found, x.grad]

    same(program, tolerance=1e-3)


def test_training_on_sampled_neighbours():
    labels = RANDOM.integers(0, 3, 40)

    def program():
        g = graph.Graph(EDGES, 40, {"x": FEATURES})
        first, second = (filled(gnn.GraphSageConv(i, o, "mean")) for i, o in ((6, 8), (8, 3)))
        rule = paddle.optimizer.Adam(0.01, parameters=[*first.parameters(), *second.parameters()])
        losses = []
        for batch in graph.NeighborLoader(g, [4, 3], batch_size=10, labels=labels, shuffle=True, seed=1):
            x = F.relu(first(batch.graph, paddle.to_tensor(batch.graph.node_feat["x"])))
            out = second(batch.graph, x)[batch.seeds]
            loss = F.cross_entropy(out, paddle.to_tensor(batch.labels))
            stepped(rule, loss)
            losses.append(loss)
        return losses

    same(program, tolerance=1e-3)


def test_neighbours_of_paddle_geometric():
    def program():
        order = np.argsort(EDGES[:, 1], kind="stable")
        colptr = np.concatenate([[0], np.cumsum(np.bincount(EDGES[:, 1], minlength=40))])
        row = paddle.to_tensor(EDGES[order, 0])
        nodes = paddle.to_tensor([3, 5, 9])
        found, counts = paddle.geometric.sample_neighbors(
            row, paddle.to_tensor(colptr), nodes, sample_size=-1
        )
        return [found, counts, *paddle.geometric.reindex_graph(nodes, found, counts)]

    same(program)


def test_memory_of_a_graph_that_changes():
    def program():
        layer = filled(gnn.TGNMemory(10, 3, 4, 4))
        layer.train()
        src, dst = paddle.to_tensor([0, 1, 2]), paddle.to_tensor([3, 4, 5])
        raw = paddle.to_tensor(FEATURES[:3, :3].copy())
        layer.update_state(src, dst, paddle.to_tensor([1.0, 2.0, 3.0]), raw)
        layer.update_state(dst, src, paddle.to_tensor([4.0, 5.0, 6.0]), raw)
        memory, times = layer(paddle.to_tensor([0, 3, 9]))
        return [memory, times]

    same(program, tolerance=1e-3)


# --- embeddings ---


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags(mode):
    ids, starts = RANDOM.integers(0, 50, 30), np.array([0, 3, 3, 11, 30])

    def program():
        layer = filled(embedding.EmbeddingBag(50, 8, mode=mode))
        rule = paddle.optimizer.Adagrad(0.1, parameters=layer.parameters())
        for _ in range(3):
            out = layer(paddle.to_tensor(ids), paddle.to_tensor(starts[:-1]))
            (out**2).sum().backward()
            rule.step()
            rule.clear_grad()
        return [out, layer.weight]

    here(same(program, tolerance=1e-4)[0])


def test_many_tables():
    def program():
        layer = filled(embedding.EmbeddingTables([20, 30], 4))
        out = layer(paddle.to_tensor(RANDOM.__class__(np.random.PCG64(3)).integers(0, 20, (6, 2))))
        (out**2).sum().backward()
        return [
            out,
            *(p.grad.to_dense() if hasattr(p.grad, "to_dense") else p.grad for p in layer.parameters()),
        ]

    same(program, tolerance=1e-4)


@pytest.mark.parametrize("name", ["Adam", "Adagrad", "SGD"])
def test_tables_that_grow(name):
    ids = RANDOM.integers(0, 10**9, (5, 8))

    def program():
        layer = embedding.DynamicEmbedding(None, 4)
        head = filled(nn.Linear(4, 1))
        rule = getattr(paddle.optimizer, name)(0.05, parameters=[*layer.parameters(), *head.parameters()])
        losses = []
        for batch in ids:
            loss = (head(layer(paddle.to_tensor(batch))) ** 2).mean()
            stepped(rule, loss)
            losses.append(loss)
        return [len(layer), layer(paddle.to_tensor(ids[0])).shape]

    same(program)


def test_unknown_ids_are_refused():
    def program():
        with pytest.raises(ValueError, match="20"):
            nn.Embedding(20, 4)(paddle.to_tensor([3, 20]))
        with pytest.raises(ValueError, match="20"):
            embedding.EmbeddingBag(20, 4)(paddle.to_tensor([3, 20]), paddle.to_tensor([0]))
        return 1

    same(program)


# --- speech ---

SOUND = (RANDOM.standard_normal((2, 8000)) * 0.1).astype("float32")


@pytest.mark.parametrize("name", ["Spectrogram", "MelSpectrogram", "LogMelSpectrogram", "MFCC"])
def test_features(name):
    settings = {"n_fft": 256} if name == "Spectrogram" else {"sr": 8000, "n_fft": 256, "n_mels": 20}
    if name == "MFCC":
        settings["n_mfcc"] = 10

    def program():
        x = leaf(SOUND)
        out = getattr(paddle.audio.features, name)(**settings)(x)
        out.mean().backward()
        return [out, x.grad]

    same(program, tolerance=2e-3)


def test_features_of_kaldi():
    def program():
        x = paddle.to_tensor(SOUND[:1])
        return [speech.fbank(x, 8000, 20), speech.mfcc(x, 8000), speech.resample(x, 8000, 6000)]

    same(program, tolerance=2e-3)


def test_losses_of_transcripts():
    logits, labels = RANDOM.standard_normal((9, 2, 6)).astype("float32"), np.array([[1, 2, 2], [5, 1, 0]])
    joint = RANDOM.standard_normal((2, 5, 4, 6)).astype("float32")

    def program():
        x, y = leaf(logits), leaf(joint)
        counts = paddle.to_tensor([3, 2])
        ctc = F.ctc_loss(x, paddle.to_tensor(labels.astype("int32")), paddle.to_tensor([9, 7]), counts)
        rnnt = F.rnnt_loss(
            y,
            paddle.to_tensor(labels.astype("int32")),
            paddle.to_tensor([5, 4], dtype="int32"),
            counts.astype("int32"),
            fastemit_lambda=0.0,
        )
        (ctc + rnnt).sum().backward()
        return [ctc, rnnt, x.grad, y.grad]

    same(program, tolerance=1e-4)


@pytest.mark.parametrize("kind", ["conformer", "chunks", "recurrent"])
def test_recognition_models(kind):
    frames = RANDOM.standard_normal((2, 40, 9)).astype("float32")

    def program():
        if kind == "recurrent":
            encoder = snn.RecurrentEncoder(9, 8, 2, dropout=0.0)
        else:
            settings = {"causal": True, "dynamic_chunk": False} if kind == "chunks" else {}
            encoder = snn.ConformerEncoder(9, 8, 2, 2, kernel_size=3, norm="layer", dropout=0.0, **settings)
        decoder = None if kind == "recurrent" else snn.AttentionDecoder(5, 8, 1, 2, dropout=0.0)
        net = filled(snn.SpeechModel(encoder, 5, decoder), scale=0.2)
        rule = paddle.optimizer.Adam(1e-2, parameters=net.parameters())
        losses = []
        for _ in range(3):
            loss = net.loss(paddle.to_tensor(frames), paddle.to_tensor([40, 32]), [[1, 2], [4, 0]], [2, 1])
            stepped(rule, loss)
            losses.append(loss)
        return losses

    same(program, tolerance=2e-3)


@pytest.mark.parametrize("name", ["SpeakerEncoder", "KeywordEncoder", "ActivityNet"])
def test_small_encoders(name):
    def program():
        net = filled(getattr(snn, name)(40), scale=0.1)
        net.eval()
        return net(
            paddle.to_tensor(
                RANDOM.__class__(np.random.PCG64(4)).standard_normal((2, 50, 40)).astype("float32")
            )
        )

    same(program, tolerance=2e-3)


def test_augmentation():
    def program():
        np.random.seed(3)
        frames = paddle.to_tensor(SOUND.reshape(2, 100, 80))
        masked = speech.spec_augment(frames)
        x = paddle.to_tensor(SOUND[0])
        return [masked, speech.change_volume(x, 6.0), speech.add_noise(x, paddle.to_tensor(SOUND[1]), 10.0)]

    same(program, tolerance=1e-4)
