import numpy as np
import torch

import sampan.graph.segments  # noqa: F401, it declares the operators
from sampan.graph.routes import Routes

from .declare import integers, sampled

# Five nodes send to four: an edge twice, a node that sends nothing, one that receives nothing.
ROUTES = Routes(np.array([0, 2, 2, 4, 1, 0, 0], np.int32), np.array([1, 3, 3, 0, 1, 3, 1], np.int32), 5, 4)
ALONE = Routes(np.empty(0, np.int32), np.empty(0, np.int32), 3, 2)
EDGES = ROUTES.num_edges
# Without the repeats: a maximum that comes twice gets its gradient twice, which torch and differences do not.
SINGLE = Routes(np.array([0, 2, 4, 1, 0], np.int32), np.array([1, 3, 0, 1, 3], np.int32), 5, 4)


def ends(routes):
    return torch.from_numpy(routes.sources).long(), torch.from_numpy(routes.targets).long()


def added(messages, places, count):
    return messages.new_zeros(count, *messages.shape[1:]).index_add(0, places, messages)


def neighbour_sum(x, routes, mean=""):
    sources, targets = ends(routes)
    divisors = {
        "": torch.ones_like(sources),
        "targets": targets.bincount()[targets],
        "sources": sources.bincount()[sources],
    }
    return added(x[sources] / divisors[mean].reshape(-1, *[1] * (x.ndim - 1)), targets, routes.num_targets)


def neighbour_extreme(x, routes, smallest=False):
    sources, targets = ends(routes)
    zeros = x.new_zeros(routes.num_targets, *x.shape[1:])
    places = targets.reshape(-1, *[1] * (x.ndim - 1)).expand(len(targets), *x.shape[1:])
    return zeros.scatter_reduce(0, places, x[sources], "amin" if smallest else "amax", include_self=False)


def equal_sums(g, x, y, routes):
    sources, targets = ends(routes)
    return added(g[targets] * (x[sources] == y[targets]), sources, routes.num_sources)


def weighted_sum(weights, x, routes):
    sources, targets = ends(routes)
    return added(weights[..., None] * x[sources], targets, routes.num_targets)


def edge_dots(y, x, routes):
    sources, targets = ends(routes)
    return (y[targets] * x[sources]).sum(-1)


def edge_softmax(values, routes):
    raised, (_, targets) = values.exp(), ends(routes)
    return raised / added(raised, targets, routes.num_targets)[targets]


def edge_softmax_back(g, y, routes):
    _, targets = ends(routes)
    return y * (g - added(y * g, targets, routes.num_targets)[targets])


sampled(
    "neighbour_sum",
    reference=neighbour_sum,
    samples=[
        ((5, 3), ROUTES), ((5,), ROUTES), ((5, 2, 3), ROUTES, "targets"), ((5, 3), ROUTES, "sources"), ((5, 0), ROUTES),
        ((5, 70), ROUTES), ((3, 2), ALONE, "targets"),
    ],
)  # fmt: skip
sampled(
    "neighbour_extreme",
    reference=neighbour_extreme,
    samples=[((5, 3), SINGLE), ((5,), SINGLE, True), ((5, 2, 9), SINGLE, True), ((3, 2), ALONE)],
)
sampled(
    "equal_sums",
    reference=equal_sums,
    samples=[
        ((4, 6), integers((5, 6), 2), integers((4, 6), 2), ROUTES),
        ((2,), integers((3,), 2), integers((2,), 2), ALONE),
    ],
)
sampled(
    "sent",
    reference=lambda x, routes: x[ends(routes)[0]],
    samples=[((5, 3), ROUTES), ((5,), ROUTES), ((3, 2), ALONE)],
)
sampled(
    "weighted_sum",
    reference=weighted_sum,
    samples=[
        ((EDGES, 2), (5, 2, 3), ROUTES),
        ((EDGES, 4), (5, 4, 1), ROUTES),
        ((EDGES, 1), (5, 1, 9), ROUTES),
        ((0, 1), (3, 1, 2), ALONE),
    ],
)
sampled(
    "edge_dots",
    reference=edge_dots,
    samples=[((4, 2, 3), (5, 2, 3), ROUTES), ((4, 4, 1), (5, 4, 1), ROUTES), ((2, 1, 2), (3, 1, 2), ALONE)],
)
sampled(
    "edge_softmax",
    reference=edge_softmax,
    samples=[((EDGES, 4), ROUTES), ((EDGES,), ROUTES), ((EDGES, 2, 3), ROUTES), ((0, 2), ALONE)],
)
sampled(
    "edge_softmax_back",
    reference=edge_softmax_back,
    samples=[((EDGES, 4), (EDGES, 4), ROUTES), ((EDGES,), (EDGES,), ROUTES)],
)
