"""Tables that grow, beside what they should hold."""

import numpy as np

import sampan
from sampan import embedding, optimizer
from sampan.kernels import cpu_embedding_hash as loops

RULES = {
    "sgd": lambda p: optimizer.SGD(0.1, parameters=p),
    "momentum": lambda p: optimizer.Momentum(0.1, parameters=p),
    "adagrad": lambda p: optimizer.Adagrad(0.1, parameters=p, initial_accumulator_value=0.1),
    "adam": lambda p: optimizer.Adam(0.01, parameters=p),
    "adamw": lambda p: optimizer.AdamW(0.01, parameters=p, weight_decay=0.0),
    "ftrl": lambda p: optimizer.Ftrl(0.1, 0.001, parameters=p),
}


def made(**options):
    return embedding.DynamicEmbedding(
        1000, 4, dtype="float64", initializer=("normal", 0.5), seed=3, **options
    )


def values(ids, seed=3):
    out = np.empty((len(ids), 4))
    loops.drawn(np.asarray(ids, np.int64).view(np.uint64), np.arange(len(ids)), seed, "normal", 0.5, out)
    return out


def batches(count, low=0, high=1000):
    return [np.random.default_rng(turn).integers(low, high, (3, 5)) for turn in range(count)]


def trained(layer, rule, found):
    for ids in found:
        (layer(sampan.to_tensor(ids)) ** 3).sum().backward()
        rule.step()
        rule.clear_grad(False)


def by_id(layer, ids):
    return layer.weight.numpy()[layer.rows_of(np.asarray(ids, np.int64))]


def contents(layer):
    ids = np.sort(layer.ids.numpy()[layer.seen.numpy() > 0])
    rows = layer.rows_of(ids)
    return ids, layer.weight.numpy()[rows], layer.seen.numpy()[rows], layer.last.numpy()[rows]


def assert_same(one, other):
    for a, b in zip(contents(one), contents(other), strict=True):
        np.testing.assert_array_equal(a, b)
