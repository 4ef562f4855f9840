"""Tables of which few rows are cached, and plain ones with all of them."""

import numpy as np

import sampan
from sampan import embedding, nn, optimizer
from sampan.kernels import cpu_embedding_hash as loops

RULES = {
    "sgd": lambda p: optimizer.SGD(0.1, parameters=p),
    "adagrad": lambda p: optimizer.Adagrad(0.1, parameters=p, initial_accumulator_value=0.1),
    "lazy adam": lambda p: optimizer.Adam(0.01, parameters=p, lazy_mode=True),
}


COUNT, WIDTH = 60, 4


def made(cache_rows=20, path=None):
    return embedding.HybridEmbedding(COUNT, WIDTH, cache_rows, path, initializer=("normal", 0.5), seed=3)


def plain():
    values = np.empty((COUNT, WIDTH), np.float32)
    loops.drawn(np.arange(COUNT).astype(np.uint64), np.arange(COUNT), 3, "normal", 0.5, values)
    layer = nn.Embedding(COUNT, WIDTH)
    layer.weight = nn.Parameter(sampan.to_tensor(values))
    return layer


def loss(layer, *batches):
    return sum(((layer(sampan.to_tensor(ids)) ** 3).sum() for ids in batches), sampan.zeros([]))
