"""Programs that overwrite, at some moment, every array that they passed to the library or were given by it.

Each program is a generator: at a `yield` it names arrays that its caller may write to, or a function to call. `main` runs a
program as it is meant, and forks at each of its yields a process for each value: that overwrites what is named there, and
goes on with forward, backward and an optimizer's step. Whatever Python raises is an answer; a signal is a defect. A program
that writes files is run from its start in each process instead, so that no two share a file. Prints one line of JSON: the
runs that ended by a signal, and how many there were.
"""

import contextlib
import inspect
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

for variable in (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
):  # no others in a fork
    os.environ[variable] = "1"

import numpy as np  # noqa: E402
import torch  # noqa: E402

import sampan as paddle  # noqa: E402
from sampan import embedding, learn, sparse  # noqa: E402
from sampan.kernels import cpu_embedding  # noqa: E402
from sampan.nn import functional as F  # noqa: E402
from sampan.row_sparse import rows_of  # noqa: E402

SECONDS = 60
# A value, and where in an array (flattened) it is written.
TRIES: tuple[tuple[int, Any], ...] = (
    (10**12, ...), (10**12, 0), (-(10**9), -1), (-(2**63), ...), (2**31 + 5, -1), (7, -1),
)  # fmt: skip
programs: dict[str, Callable[[], Iterator[Any]]] = {}
with_files: set[str] = set()


def program(body: Callable[[], Iterator[Any]]) -> Callable[[], Iterator[Any]]:
    programs[body.__name__] = body
    return body


def program_with_files(body: Callable[[], Iterator[Any]]) -> Callable[[], Iterator[Any]]:
    with_files.add(body.__name__)
    return program(body)


def _tensor(values: Any, kind: str = "float32", train: bool = False) -> Any:
    return paddle.to_tensor(np.asarray(values, kind), stop_gradient=not train)


def _normal(*shape: int, train: bool = True) -> Any:
    return _tensor(np.random.default_rng(sum(shape)).normal(size=shape), train=train)


def _step(*tensors: Any, optimizers: Any = ("SGD", "Adam")) -> None:
    for name in optimizers:
        getattr(paddle.optimizer, name)(0.1, parameters=[t for t in tensors if t.is_leaf]).step()


def _tried(work: Callable[[], Any]) -> None:
    """What cannot work, whatever it raises."""
    with contextlib.suppress(Exception):
        work()


def _done(out: Any, *tensors: Any) -> None:
    out = out.values() if isinstance(out, sparse.SparseTensor) else out
    out.sum().backward()
    _step(*tensors)


PLACED = np.array([[0, 1, 2, 2, 4], [1, 2, 0, 3, 4]])


def _coo(kind: str = "int64") -> tuple[np.ndarray, Any]:
    places = PLACED.astype(kind)
    return places, sparse.sparse_coo_tensor(places, _normal(5), [5, 5], stop_gradient=False)


def _csr() -> tuple[list[np.ndarray], Any]:
    parts = [np.array([0, 1, 2, 4, 4, 5]), PLACED[1].copy()]
    return parts, sparse.sparse_csr_tensor(*parts, _normal(5), [5, 5], stop_gradient=False)


def _shown(x: Any) -> list[Any]:
    return [x.indices()] if x.is_sparse_coo() else [x.crows(), x.cols()]


# --- sparse tensors -----------------------------------------------------------------------------------------------


def _with_dense(make: Callable[[], Any]) -> Iterator[Any]:
    given, x = make()
    y = _normal(5, 3)
    yield given, _shown(x)
    out = sparse.matmul(x, y)
    yield given, _shown(x)
    out.sum().backward()
    yield given, _shown(x), _shown(x.grad)
    _step(y)
    sparse.matmul(x.grad, y.detach()).numpy()
    yield given, lambda: x.values().__setattr__("data", torch.zeros(1))
    sparse.matmul(x, y).sum().backward()


@program
def spmm() -> Iterator[Any]:
    yield from _with_dense(_coo)


@program
def times_dense_int32() -> Iterator[Any]:
    yield from _with_dense(lambda: _coo("int32"))


@program
def times_dense_by_rows() -> Iterator[Any]:
    yield from _with_dense(_csr)


@program
def from_buffers() -> Iterator[Any]:
    for wrap in (torch.from_numpy, paddle.to_tensor):
        places = wrap(PLACED.copy())
        x = sparse.sparse_coo_tensor(places, [1.0, 2, 3, 4, 5], [5, 5], stop_gradient=False)
        yield places
        sparse.matmul(x, _normal(5, 3)).sum().backward()
        rows, cols = wrap(np.array([0, 1, 2, 4, 4, 5])), wrap(PLACED[1].copy())
        x = sparse.sparse_csr_tensor(rows, cols, [1.0, 2, 3, 4, 5], [5, 5], stop_gradient=False)
        yield rows, cols
        sparse.matmul(x, _normal(5, 3)).sum().backward()


@program
def shorter_values() -> Iterator[Any]:
    def shorter(x: Any) -> Callable[[], None]:
        return lambda: x.values().__setattr__("data", torch.zeros(0, *x.values().shape[1:]))

    for operation in (
        sparse.coalesce, sparse.nn.functional.softmax, lambda x: x + sparse.transpose(x, [1, 0]), lambda x: x @ x,
        lambda x: x.to_dense(), lambda x: x.to_sparse_csr(), lambda x: sparse.sum(x, 1), lambda x: sparse.reshape(x, [25]),
        lambda x: sparse.slice(x, [0], [1], [4]), lambda x: sparse.divide(x, x), lambda x: sparse.multiply(x, _normal(5, 5)),
        lambda x: sparse.concat([x, x]), repr,
    ):  # fmt: skip
        for make in (_coo, _csr):
            _, x = make()
            yield shorter(x)
            _tried(lambda operation=operation, x=x: operation(x))


def _voxels(train: bool = True) -> tuple[np.ndarray, Any]:
    places = np.array([[0, 0, 0, 1], [0, 1, 2, 3], [1, 1, 2, 0], [2, 2, 1, 3]])
    return places, sparse.sparse_coo_tensor(
        places, _normal(4, 3, train=train), [2, 4, 4, 4, 3], stop_gradient=not train
    )


@program
def convolutions() -> Iterator[Any]:
    for layer in (
        sparse.nn.SubmConv3D(3, 4, 3), sparse.nn.Conv3D(3, 4, 2, stride=2), sparse.nn.MaxPool3D(2),
        lambda x: sparse.convolution.avg_pool3d(x, 2), sparse.convolution.global_avg_pool, sparse.nn.BatchNorm(3),
        lambda x: sparse.convolution.conv3d_transpose(x, _normal(2, 2, 2, 3, 4), stride=2),
        lambda x: sparse.nn.functional.relu(x),
    ):  # fmt: skip
        given, x = _voxels()
        yield given, _shown(x)
        out = layer(x)
        yield given, _shown(x), _shown(out) if isinstance(out, sparse.SparseTensor) else []
        _done(out, *getattr(layer, "parameters", list)())
        yield given, lambda x=x: x.values().__setattr__("data", torch.zeros(1, 3))
        layer(x)


@program
def inverse_convolution() -> Iterator[Any]:
    given, x = _voxels()
    weight = _normal(2, 2, 2, 3, 4)
    down = sparse.convolution.conv3d(x, weight, stride=2, key="down")
    yield given, _shown(down)
    up = sparse.convolution.inverse_conv3d(down, _normal(2, 2, 2, 4, 3), "down")
    yield given, _shown(up), _shown(down)
    _done(up)


@program
def rulebook_of_a_learner() -> Iterator[Any]:
    kept: list[Any] = []
    original = sparse.rulebook.neighbours

    @learn.exercise("sparse.rulebook.neighbours")
    def neighbours(places, offsets, shape):  # type: ignore[no-untyped-def]
        near = original(places, offsets, shape)
        kept.extend([places, near])
        return near

    try:
        _, x = _voxels()
        layer = sparse.nn.SubmConv3D(3, 4, 3)
        out = layer(x)
        yield kept
        _done(layer(out.detach() if False else x), *layer.parameters())
        sparse.nn.SubmConv3D(3, 4, 3, key="a")(x).values().sum().backward()
    finally:
        learn.reference("sparse.rulebook.neighbours")


@program
def neighbours_by_hand() -> Iterator[Any]:
    places = np.array([[0, 0], [1, 1], [2, 2], [1, 3]])
    offsets = np.array([[0, 0, -1], [0, 0, 0], [0, 0, 1]])
    yield places
    sparse.rulebook.neighbours(places, offsets, (1, 4, 4, 4))
    sparse.rulebook.neighbours(places, offsets[:2], (1, 4, 4, 4))


@program
def repeated_places() -> Iterator[Any]:
    places = np.array([[1, 0, 1, 3], [2, 0, 2, 1]])
    x = sparse.sparse_coo_tensor(places, _normal(4), [5, 5], stop_gradient=False)
    yield places, _shown(x)
    once = x.coalesce()
    yield places, _shown(once)
    _done(sparse.tanh(once) * 2, *[])
    yield places, _shown(x)
    sparse.sum(x, 0).values().sum().backward()


@program
def two_of_them() -> Iterator[Any]:
    for make in (_coo, _csr):
        for operation in (sparse.add, sparse.subtract, sparse.multiply, sparse.matmul):
            given, x = make()
            other, y = make()
            y = sparse.transpose(y, [1, 0])
            yield given, other, _shown(x), _shown(y)
            out = operation(x, y)
            yield given, other, _shown(x), _shown(y), _shown(out)
            out.values().sum().backward()


@program
def masked_products() -> Iterator[Any]:
    for make in (_coo, _csr):
        given, mask = make()
        x, y = _normal(5, 3), _normal(3, 5)
        yield given, _shown(mask)
        out = sparse.masked_matmul(x, y, mask)
        yield given, _shown(mask), _shown(out)
        _done(out, x, y)
        yield given, _shown(mask)
        sparse.mask_as(_normal(5, 5), mask).values().sum().backward()


@program
def attention_with_masks() -> Iterator[Any]:
    query, key, value = (_normal(2, 2, 4, 3) for _ in range(3))
    crows, cols = np.tile([0, 1, 3, 4, 6], 2), np.array([0, 0, 1, 3, 2, 3] * 2)
    mask = sparse.sparse_csr_tensor(crows, cols, np.ones(12, "float32"), [2, 4, 4])
    padding, among = _tensor(np.ones((2, 4))), _tensor(np.ones((4, 4)))
    yield crows, cols, _shown(mask), padding, among
    out = sparse.nn.functional.attention(query, key, value, mask)
    out = out + sparse.nn.functional.attention(query, key, value, mask, padding, among)
    yield crows, cols, _shown(mask), padding, among
    _done(out, query, key, value)


@program
def attention_with_blocks() -> Iterator[Any]:
    query, key, value = (_normal(1, 2, 8, 3) for _ in range(3))
    seen = np.tril(np.ones((8, 8), bool))
    mask = sparse.create_block_mask(seen, block_size=4)
    yield seen, mask.layout, mask.to_dense(), [part for g in mask.groups for part in (g.rows, g.cols)]
    out = sparse.nn.functional.block_attention(query, key, value, mask)
    yield seen, mask.layout, [part for g in mask.groups for part in (g.rows, g.cols)]
    _done(out, query, key, value)


@program
def exchanged() -> Iterator[Any]:
    import scipy.sparse

    matrix = scipy.sparse.random(6, 5, 0.5, "csr", random_state=1)
    for theirs in (matrix, matrix.tocoo()):
        x = sparse.from_scipy(theirs, stop_gradient=False)
        parts = [theirs.indices, theirs.indptr] if theirs.format == "csr" else [theirs.row, theirs.col]
        out = sparse.to_scipy(x)
        yield parts, [out.indices, out.indptr] if out.format == "csr" else [out.row, out.col]
        sparse.matmul(x, _tensor(np.ones((5, 2)), "float64")).sum().backward()
    for make in (_coo, _csr):
        theirs = sparse.to_torch(make()[1].detach())
        x = sparse.from_torch(theirs, stop_gradient=False)
        own = [theirs._indices()] if x.is_sparse_coo() else [theirs.crow_indices(), theirs.col_indices()]
        more = sparse.to_torch(x)
        yield own, [more._indices()] if x.is_sparse_coo() else [more.crow_indices(), more.col_indices()]
        sparse.matmul(x, _normal(5, 2)).sum().backward()


@program
def flag_that_lies() -> Iterator[Any]:
    theirs = torch.sparse_coo_tensor(
        PLACED[::-1, ::-1].copy(), torch.ones(5), (5, 5), is_coalesced=True, check_invariants=False
    )
    yield theirs._indices()
    sparse.matmul(sparse.from_torch(theirs, stop_gradient=False), _normal(5, 2)).sum().backward()


@program_with_files
def from_a_file() -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        for make in (_coo, _csr):
            path, x = os.path.join(folder, "x"), make()[1]
            paddle.save({"x": x}, path)
            loaded = paddle.load(path)["x"]
            yield _shown(loaded)
            sparse.matmul(loaded, _normal(5, 2)).numpy()
            # the same file with other places
            pattern = x.pattern
            yield [pattern.indices] if x.is_sparse_coo() else [pattern.crows, pattern.cols]
            paddle.save({"x": x}, path)
            sparse.matmul(paddle.load(path)["x"], _normal(5, 2)).numpy()


@program
def while_it_runs() -> Iterator[Any]:
    """Another thread writes all the time."""
    places, ids = PLACED.copy(), np.zeros(5, np.int64)
    table, stop = _normal(5, 3), threading.Event()

    def write() -> None:
        while not stop.is_set():
            places[...], ids[...] = 10**12, -(10**12)
            places[...], ids[...] = PLACED, 1

    yield places, ids
    thread = threading.Thread(target=write)
    thread.start()
    try:
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            for run in (
                lambda: sparse.matmul(sparse.sparse_coo_tensor(places, np.ones(5, "float32"), [5, 5]), table),
                lambda: F.embedding(torch_ids(ids), table).sum().backward(),
                lambda: (
                    embedding.embedding_bag(torch_ids(ids), table, _tensor([0, 2], "int64"), mode="sum")
                    .sum()
                    .backward()
                ),
            ):
                try:
                    run()
                except (ValueError, IndexError):
                    continue
    finally:
        stop.set()
        thread.join()


# --- embeddings ---------------------------------------------------------------------------------------------------


def torch_ids(ids: np.ndarray) -> Any:
    """A Tensor that shares the memory of an array."""
    return paddle.Tensor(torch.from_numpy(ids))


@program
def tables_looked_up() -> Iterator[Any]:
    for settings in (
        {"sparse": True}, {"sparse": False},
        {"sparse": False, "scale_grad_by_freq": True}, {"sparse": True, "padding_idx": 1},
    ):  # fmt: skip
        ids = np.array([[1, 2], [4, 1]])
        table = _normal(6, 4)
        yield ids
        out = F.embedding(torch_ids(ids), table, **settings)
        yield ids
        out.sum().backward()
        rows = rows_of(table.grad)
        yield ids, [part[0] for part in rows.parts] if rows else []
        _step(table)
        paddle.optimizer.Adam(0.1, parameters=[table], lazy_mode=True).step()


@program
def gradient_of_rows() -> Iterator[Any]:
    ids, table = np.array([1, 2, 4, 1]), _normal(6, 4)
    F.embedding(torch_ids(ids), table, sparse=True).sum().backward()
    yield ids, table.grad.coalesced()
    F.embedding(torch_ids(ids), table, sparse=True).sum().backward()
    yield ids, table.grad.coalesced(), table.grad.rows().sums()
    _step(table, optimizers=("Adagrad",))
    table.grad.numpy()


@program
def another_gradient() -> Iterator[Any]:
    for other in (
        lambda g: paddle.zeros([1, 4]), lambda g: paddle.zeros([0, 4]), lambda g: paddle.zeros([9, 4]), lambda g: g[:1],
    ):  # fmt: skip
        for look in (
            lambda table: F.embedding(_tensor([1, 2, 4, 1], "int64"), table, sparse=True),
            lambda table: F.embedding(_tensor([1, 2, 4, 1], "int64"), table, sparse=False),
            lambda table: embedding.embedding_bag(
                _tensor([1, 2, 4, 1], "int64"), table, _tensor([0, 2], "int64")
            ),
            lambda table: embedding.embedding_bag(
                _tensor([1, 2, 4, 1], "int64"), table, _tensor([0, 2], "int64"), mode="max"
            ),
            lambda table: embedding.embedding_bag(
                _tensor([1, 2, 4, 1], "int64"), table, _tensor([0, 2], "int64"), mode="sum", per_sample_weights=_normal(4)
            ),
            lambda table: sparse.matmul(sparse.sparse_coo_tensor([[0, 1], [5, 2]], [1.0, 2.0], [2, 6]), table),
        ):  # fmt: skip
            table = _normal(6, 4)
            out = look(table)
            out.register_hook(other)
            yield lambda: None
            _tried(out.sum().backward)
            _tried(lambda table=table: _step(table))


@program
def bags() -> Iterator[Any]:
    for mode in ("sum", "mean", "max"):
        for more in ({}, {"padding_idx": 1}, {"scale_grad_by_freq": True}, {"max_norm": 1.0}):
            if mode == "max" and "scale_grad_by_freq" in more:
                continue
            ids, starts, table = np.array([1, 2, 4, 1, 3]), np.array([0, 2, 3]), _normal(6, 4)
            factors = _normal(5) if mode == "sum" else None
            yield ids, starts
            out = embedding.embedding_bag(
                torch_ids(ids), table, torch_ids(starts), mode=mode, per_sample_weights=factors, **more
            )
            yield ids, starts
            out.sum().backward()
            yield ids, starts
            _step(table)


@program
def many_tables() -> Iterator[Any]:
    layer, ids = embedding.EmbeddingTables([3, 5], 4), np.array([[0, 4], [2, 1]])
    yield ids
    out = layer(torch_ids(ids))
    yield ids, layer._starts, layer._counts, layer.num_embeddings.clear
    out.sum().backward()
    _step(layer.weight)
    layer(torch_ids(ids))


@program
def words_and_characters() -> Iterator[Any]:
    for pooling in ("mean", "max", "conv"):
        layer = embedding.WordCharEmbedding(6, 6, 4, pooling=pooling)
        words, chars = np.array([1, 2]), np.array([[1, 2, 3], [4, 5, 0]])
        yield words, chars
        out = layer(torch_ids(words), torch_ids(chars))
        yield words, chars
        _done(out, *layer.parameters())


@program
def ids_without_bounds() -> Iterator[Any]:
    for settings in ({}, {"admission": 2}, {"eviction": "lru"}, {"padding_idx": 3}):
        layer = embedding.DynamicEmbedding(None, 4, capacity=16, **settings)  # type: ignore[arg-type]
        ids = np.array([5, 3, 10**15, 5])
        yield ids
        out = layer(torch_ids(ids))
        out = out + layer(torch_ids(ids))
        rows = layer.rows_of(ids)
        yield ids, rows, [t for t in layer.state_dict().values()]
        out.sum().backward()
        _step(layer.weight)
        yield ids, [t for t in layer.state_dict().values()]
        layer(torch_ids(np.arange(100, 105)))
        state = layer.state_dict()
        layer.evict(1)
        yield [t for t in state.values()]
        layer.set_state_dict(state)
        layer(torch_ids(np.arange(4)))
        _step(layer.weight)


@program_with_files
def rows_at_hand() -> Iterator[Any]:
    with tempfile.TemporaryDirectory() as folder:
        for path in (None, folder):
            layer = embedding.HybridEmbedding(50, 4, 10, path)
            ids, soon = np.array([5, 3, 49, 5]), np.array([7, 8])
            yield ids
            out = layer(torch_ids(ids))
            layer.prefetch(torch_ids(soon))
            yield ids, soon, [t for t in layer.state_dict().values()]
            out.sum().backward()
            _step(layer.weight, optimizers=("SGD",))
            out = layer(torch_ids(soon))
            yield ids, soon
            out.sum().backward()
            _step(layer.weight, optimizers=("SGD",))
            layer.rows(np.arange(50))
            layer.flush()
            if path is not None:
                yield np.memmap(os.path.join(folder, "stored.bin"), np.uint8, "r+")
                layer.rows(np.arange(50))
                layer(torch_ids(np.arange(20, 28)))


@program
def other_tables() -> Iterator[Any]:
    """The memory of a parameter or of its state is set to another between two steps."""
    for name in ("SGD", "Adam", "Adagrad", "Momentum"):
        for rows in (True, False):
            table, ids = _normal(6, 4), _tensor([1, 5], "int64")
            optimizer = getattr(paddle.optimizer, name)(0.1, parameters=[table])
            F.embedding(ids, table, sparse=rows).sum().backward()
            optimizer.step()
            state = optimizer.state_dict()
            yield lambda table=table: setattr(table, "data", torch.zeros(2, 4))
            optimizer.step()
            yield lambda o=optimizer, s=state: o.set_state_dict(
                {
                    k: _tensor(np.zeros((1, 1))) if getattr(v, "shape", [])[:1] == [6] else v
                    for k, v in s.items()
                }
            )
            optimizer.step()


@program
def word_vectors() -> Iterator[Any]:
    from sampan.text import WordVectors

    texts = [["a", "b", "c", "a"], ["b", "c", "d"]] * 5
    vectors = WordVectors(dim=4, least=1, epochs=1).fit(texts)
    yield vectors.counts, vectors.vectors
    vectors.fit(texts)
    yield lambda: setattr(vectors, "counts", vectors.counts[:1])
    vectors.fit(texts)


# --- operators that index -----------------------------------------------------------------------------------------


def _indexing() -> dict[str, Callable[..., Any]]:
    return {
        "gather": lambda x, i: paddle.gather(x, i),
        "index_select": lambda x, i: paddle.index_select(x, i),
        "index_add": lambda x, i: paddle.index_add(x, i, 0, _normal(3, 4)),
        "index_fill": lambda x, i: paddle.index_fill(x, i, 0, 1.0),
        "index_put": lambda x, i: paddle.index_put(x, (i,), _normal(3, 4)),
        "scatter": lambda x, i: paddle.scatter(x, i, _normal(3, 4)),
        "scatter_add": lambda x, i: paddle.scatter(x, i, _normal(3, 4), overwrite=False),
        "take": lambda x, i: paddle.take(x, i),
        "getitem": lambda x, i: x[i],
        "gather_nd": lambda x, i: paddle.gather_nd(x, i.unsqueeze(1)),
        "scatter_nd_add": lambda x, i: paddle.scatter_nd_add(x, i.unsqueeze(1), _normal(3, 4)),
        "take_along_axis": lambda x, i: paddle.take_along_axis(x, i.unsqueeze(1), 0),
        "put_along_axis": lambda x, i: paddle.put_along_axis(x, i.unsqueeze(1), _normal(3, 1), 0),
        "index_sample": lambda x, i: paddle.index_sample(x[:3], i.unsqueeze(1)),
        "cross_entropy": lambda x, i: F.cross_entropy(x[:3], i),
        "weighted_cross_entropy": lambda x, i: F.cross_entropy(x[:3], i, weight=_normal(4)),
        "nll_loss": lambda x, i: F.nll_loss(x[:3], i),
        "softmax_with_cross_entropy": lambda x, i: F.softmax_with_cross_entropy(x[:3], i.unsqueeze(1)),
        "multi_margin_loss": lambda x, i: F.multi_margin_loss(x[:3], i),
        "hsigmoid_loss": lambda x, i: F.hsigmoid_loss(x[:3], i, 4, _normal(3, 4)),
        "ctc_loss": lambda x, i: F.ctc_loss(
            paddle.log(F.softmax(x)).unsqueeze(1), i.unsqueeze(0), _tensor([6], "int64"), _tensor([3], "int64")
        ),
        "ctc_lengths": lambda x, i: F.ctc_loss(
            F.log_softmax(x).unsqueeze(1).tile([1, 3, 1]), _tensor(np.ones((3, 2)), "int32"), i + 3, i * 0 + 2
        ),
        "rnnt_loss": lambda x, i: F.rnnt_loss(
            _normal(1, 5, 4, 4), i.unsqueeze(0).astype("int32"), _tensor([5], "int32"), _tensor([3], "int32")
        ),
        "repeat_interleave": lambda x, i: paddle.repeat_interleave(x[:3], i, 0),
        "bincount": lambda x, i: paddle.bincount(i).astype("float32"),
        "one_hot": lambda x, i: F.one_hot(i, 4),
        "sequence_mask": lambda x, i: F.sequence_mask(i, dtype="float32"),
        "segment_sum": lambda x, i: paddle.incubate.segment_sum(x[:3], i),
        "multiplex": lambda x, i: paddle.multiplex([x[:3], x[3:]], (i % 2).unsqueeze(1)),
        "gather_tree": lambda x, i: F.gather_tree(i.reshape([3, 1, 1]), (i * 0).reshape([3, 1, 1])).astype("float32"),
        "shard_index": lambda x, i: paddle.shard_index(i.unsqueeze(1), 4, 2, 0).astype("float32"),
        "masked_select": lambda x, i: paddle.masked_select(x[:3], (i > 0).unsqueeze(1)),
        "margin_cross_entropy": lambda x, i: F.margin_cross_entropy(F.normalize(x[:3]), i),
        "class_center_sample": lambda x, i: F.class_center_sample(i, 4, 2)[0].astype("float32"),
        "npair_loss": lambda x, i: F.npair_loss(x[:3], x[3:], i.astype("float32")),
    }  # fmt: skip


@program
def indexing() -> Iterator[Any]:
    for name, operation in _indexing().items():
        if not _there(name):
            continue
        x, i = _normal(6, 4), np.array([1, 2, 3])
        yield i
        out = operation(x, torch_ids(i))
        yield i
        if not out.stop_gradient:
            out.sum().backward()


def _there(name: str) -> bool:
    home = paddle.incubate if name == "segment_sum" else F if hasattr(F, name) else paddle
    return hasattr(home, name) or name in (
        "getitem", "weighted_cross_entropy", "ctc_lengths", "scatter_add",
    )  # fmt: skip


@program
def indices_given_out() -> Iterator[Any]:
    for operation in (
        lambda x: paddle.topk(x, 2), lambda x: (paddle.sort(x), paddle.argsort(x)), lambda x: paddle.mode(x),
        lambda x: paddle.kthvalue(x, 2), lambda x: paddle.median(x, 1, mode="min"), lambda x: paddle.cummax(x, 1),
        lambda x: paddle.cummin(x, 1), lambda x: paddle.linalg.lu(x[:4]),
        lambda x: F.max_pool2d(x.reshape([1, 1, 6, 4]), 2, return_mask=True),
        lambda x: F.adaptive_max_pool2d(x.reshape([1, 1, 6, 4]), 2, return_mask=True),
        lambda x: F.fractional_max_pool2d(x.reshape([1, 1, 6, 4]), 2, random_u=0.3, return_mask=True),
    ):  # fmt: skip
        x = _normal(6, 4)
        value, places = operation(x)
        yield places
        value.sum().backward()


@program
def unpooling() -> Iterator[Any]:
    x, places = _normal(1, 1, 2, 2), np.array([[[[0, 3], [8, 11]]]])
    yield places
    out = F.max_unpool2d(x, torch_ids(places), 2)
    yield places
    out.sum().backward()


@program
def pivots() -> Iterator[Any]:
    x, given = _normal(4, 4), np.array([2, 3, 3, 4], np.int32)
    yield given
    paddle.linalg.lu_unpack(x, paddle.Tensor(torch.from_numpy(given)))
    yield given
    if hasattr(paddle.linalg, "lu_solve"):
        paddle.linalg.lu_solve(_normal(4, 1), x, paddle.Tensor(torch.from_numpy(given)))


@program
def recurrent_layers() -> Iterator[Any]:
    for kind in ("LSTM", "GRU", "SimpleRNN"):
        layer, x, lengths = getattr(paddle.nn, kind)(3, 4), _normal(2, 5, 3), np.array([2, 5])
        yield lengths
        out, _ = layer(x, sequence_length=torch_ids(lengths))
        yield lengths
        _done(out, *layer.parameters())
        yield lambda layer=layer: setattr(layer.parameters()[1], "data", torch.zeros(1, 1))
        layer(x)


@program
def boxes() -> Iterator[Any]:
    from sampan.vision import ops

    x, places, counts = (
        _normal(2, 4, 6, 6),
        np.array([[0, 0, 3, 3], [1, 1, 5, 5.0]], "float32"),
        np.array([1, 1], "int32"),
    )
    for operation in (ops.roi_align, ops.roi_pool, ops.psroi_pool):
        yield places, counts
        out = operation(
            x, paddle.Tensor(torch.from_numpy(places)), paddle.Tensor(torch.from_numpy(counts)), 2
        )
        yield places, counts
        out.sum().backward()


@program
def sampled_along_a_grid() -> Iterator[Any]:
    for mode in ("bilinear", "nearest"):
        x, grid = _normal(1, 1, 4, 4), np.zeros((1, 2, 2, 2), np.float32)
        yield grid
        out = F.grid_sample(x, paddle.Tensor(torch.from_numpy(grid)), mode=mode)
        yield grid
        out.sum().backward()


@program
def decoded() -> Iterator[Any]:
    lengths = np.array([3, 2])
    yield lengths
    paddle.text.viterbi_decode(_normal(2, 3, 4), _normal(4, 4), torch_ids(lengths), False)


# --- how they are run ---------------------------------------------------------------------------------------------


def _flat(named: Any) -> Iterator[Any]:
    if isinstance(named, (tuple, list)):
        for part in named:
            yield from _flat(part)
    else:
        yield named


def _is_call(thing: Any) -> bool:
    return callable(thing) and not isinstance(thing, (paddle.Tensor, np.ndarray))


def _overwrite(named: Any, value: int, place: Any) -> None:
    for thing in _flat(named):
        if _is_call(thing):
            thing()
            continue
        buffer = thing.data if isinstance(thing, paddle.Tensor) else thing
        array = buffer.detach().numpy() if isinstance(buffer, torch.Tensor) else buffer
        if array.size and array.flags.writeable:
            limits = np.iinfo(array.dtype) if array.dtype.kind in "iu" else None
            array.flat[slice(None) if place is ... else place] = (
                min(max(value, limits.min), limits.max)
                if limits
                else bool(value)
                if array.dtype == bool
                else value
            )


def _moments(name: str) -> Iterator[tuple[Callable[[int, Any], None], tuple[tuple[int, Any], ...]]]:
    """For each yield of a program a function (value, place) that overwrites what is named there, and goes on; and what to
    try: once where only functions are named, which take no value."""
    if name not in with_files:
        going = programs[name]()
        for named in going:
            tries = TRIES[:1] if all(map(_is_call, _flat(named))) else TRIES
            yield lambda value, place, named=named: (_overwrite(named, value, place), list(going)), tries
        return
    for moment in range(len(list(programs[name]()))):

        def again(value: int, place: Any, moment: int = moment) -> None:
            for at, named in enumerate(programs[name]()):
                if at == moment:
                    _overwrite(named, value, place)

        yield again, TRIES


def _forked(work: Callable[[], None]) -> int:
    """The signal that ended it, or 0."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(SECONDS)
        most = 16 << 30
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(Exception):
            try:
                work()
            except IndexError as error:  # with NUMBA_BOUNDSCHECK=1: what read outside without a crash
                kernels = [
                    f"{Path(f.filename).name}:{f.lineno}" for f in inspect.trace() if "kernels" in f.filename
                ]
                if kernels:
                    print("outside:", kernels[-1], error, file=sys.__stdout__, flush=True)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def main(chosen: list[str]) -> None:
    cpu_embedding.LENT_FROM = 0  # small tables by the loop too
    crashes, runs = [], 0
    for name in chosen or list(programs):
        list(programs[name]())  # loads the loops, which the forks then have
        for moment, (go_on, tries) in enumerate(_moments(name)):
            for value, place in tries:
                ended = _forked(lambda go_on=go_on, v=value, p=place: go_on(v, p))
                runs += 1
                if ended:
                    crashes.append([name, moment, value, str(place), signal.Signals(ended).name])
    print(json.dumps({"runs": runs, "crashes": crashes}))


if __name__ == "__main__":
    main(sys.argv[1:])
