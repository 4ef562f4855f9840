"""Batches of a graph for training: sampled neighbourhoods of nodes or of links, with features and labels.

Names and arguments are those of PyTorch Geometric's loaders.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ..engine.tensor import Tensor
from .adjacency import ids
from .drawing import child, host, start, whole
from .graph import Features, Graph, edge_ends
from .hetero import EdgeType, HeteroGraph
from .k_hop import ONLY, Sample, k_hop, sides, tensor, weights_of
from .negatives import negative_edges, negative_targets
from .prefetch import prefetched

__all__ = ["Batch", "LinkLoader", "NeighborLoader"]


class Batch(Sample):
    """A `Sample` with what layers and losses need beside it.

    graph: the sampled edges as a Graph (or HeteroGraph) over `nodes`, whose features are Tensors with the
    rows of these nodes and edges. batch_size: how many of the loader's items the batch has. input_id: their
    places in the loader's `input_nodes` or links, int64. labels: of NeighborLoader, the rows of these items.
    edge_label_index, edge_label: of LinkLoader.
    """

    def __init__(self, sample: Sample, graph: Any, input_id: np.ndarray, **more: Any) -> None:
        super().__init__(sample._typed, **sample._parts)
        self.graph, self.input_id, self.batch_size = graph, tensor(input_id), len(input_id)
        self.__dict__.update(more)

    def __repr__(self) -> str:
        return f"Batch(batch_size={self.batch_size}, graph={self.graph!r})"


def _gathered(features: Features, places: Tensor) -> Features:
    """The rows of each feature, as Tensors that no derivative goes through."""
    at = places.data
    return {
        name: Tensor(values.data.index_select(0, at.to(values.data.device)))
        if isinstance(values, Tensor)
        else Tensor(torch.from_numpy(values[at.numpy()]))  # the rows are a copy already
        for name, values in features.items()
    }


def _graph_of(graph: Any, sample: Sample) -> Any:
    """The edges of a sample as a graph, with the features of its nodes and edges."""
    if isinstance(graph, Graph):
        own = _gathered(graph.node_feat, sample.nodes)
        # The numbers of the edges are looked up only where something is to be gathered by them.
        theirs = _gathered(graph.edge_feat, sample.edges) if graph.edge_feat else None
        return Graph((sample.sources, sample.targets), len(sample.nodes), own, theirs)
    counts = {kind: len(nodes) for kind, nodes in sample.nodes.items()}
    ends = {kind: (sample.sources[kind], sample.targets[kind]) for kind in graph.relations}
    node_feat = {kind: _gathered(values, sample.nodes[kind]) for kind, values in graph.node_feat.items()}
    edge_feat = {
        kind: _gathered(relation.edge_feat, sample.edges[kind])
        for kind, relation in graph.relations.items()
        if relation.edge_feat
    }
    return HeteroGraph(counts, ends, graph.meta_paths, graph.inverse, node_feat, edge_feat)


def _everything(graph: Any, seeds: Any) -> Sample:
    """The whole graph as a sample, with seeds somewhere in it."""
    around = sides(graph, "loader")
    relations = {ONLY: graph} if isinstance(graph, Graph) else graph.relations
    given = around.by_type(seeds, "loader", "seeds")
    none = np.empty(0, np.int64)
    return Sample(
        around.typed,
        nodes={kind: tensor(np.arange(count)) for kind, count in around.counts.items()},
        sources={kind: tensor(relation.sources) for kind, relation in relations.items()},
        targets={kind: tensor(relation.targets) for kind, relation in relations.items()},
        edges={kind: tensor(np.arange(relation.num_edges)) for kind, relation in relations.items()},
        seeds={kind: tensor(given.get(kind, none)) for kind in around.counts},
        node_counts={kind: [count] for kind, count in around.counts.items()},
        edge_counts={kind: [relation.num_edges] for kind, relation in relations.items()},
    )


class _Loader:
    """What both loaders share: the order of the items, sampling, and prefetching."""

    def __init__(
        self,
        graph: Any,
        num_neighbors: Sequence[Any] | Mapping[EdgeType, Sequence[int]] | None,
        count: int,
        batch_size: int,
        shuffle: bool,
        drop_last: bool,
        replace: bool,
        weights: Any,
        prefetch: int,
        seed: int | None,
    ) -> None:
        name = self._name = type(self).__name__
        self.batch_size = whole(batch_size, 1, f"{name}: batch_size: expected a whole number of at least 1")
        self.prefetch = whole(prefetch, 0, f"{name}: prefetch: expected a whole number of at least 0")
        if isinstance(num_neighbors, Mapping):
            hops = {len(sizes) for sizes in num_neighbors.values()}
            if len(hops) != 1:
                raise ValueError(
                    f"{name}: num_neighbors: expected as many hops for each edge type, got {sorted(hops)}"
                )
            num_neighbors = [
                {kind: sizes[hop] for kind, sizes in num_neighbors.items()} for hop in range(hops.pop())
            ]
        self.graph, self.num_neighbors = graph, num_neighbors
        self.shuffle, self.drop_last, self.replace, self.weights = shuffle, drop_last, replace, weights
        self.seed, self.epoch, self._count = seed, 0, count
        self._whole: Any = None  # the graph of a batch that is the whole graph
        if num_neighbors is not None:
            sides(graph, name).sizes(num_neighbors, f"{name}: num_neighbors")
        if weights is not None:
            weights_of(sides(graph, name), weights, name)

    def __len__(self) -> int:
        """How many batches an epoch has."""
        full, rest = divmod(self._count, self.batch_size)
        return full + bool(rest and not self.drop_last)

    def __iter__(self) -> Iterator[Batch]:
        base = start(self.seed)  # here: the generator of `paddle.seed` is drawn from before a thread starts
        if self.seed is not None:
            base = child(base, self.epoch)
        self.epoch += 1
        return prefetched(self._batches(base), self.prefetch)

    def _batches(self, base: int) -> Iterator[Batch]:
        if self.shuffle:
            order = np.random.default_rng(child(base, 1 << 40)).permutation(self._count)
        else:
            order = np.arange(self._count)
        for number in range(len(self)):
            chosen = order[number * self.batch_size : (number + 1) * self.batch_size]
            yield self._batch(chosen, child(base, number))

    def _batch(self, chosen: np.ndarray, seed: int) -> Batch:
        raise NotImplementedError

    def _sampled(self, seeds: Any, seed: int) -> tuple[Sample, Any]:
        """A sample around seeds, and its graph."""
        if self.num_neighbors is not None:
            sample = k_hop(self.graph, seeds, self.num_neighbors, self.replace, self.weights, seed)
            return sample, _graph_of(self.graph, sample)
        sample = _everything(self.graph, seeds)
        if self._whole is None:
            self._whole = _graph_of(self.graph, sample)
        return sample, self._whole


def _loadable(graph: Any, name: str) -> None:
    if not isinstance(graph, Graph | HeteroGraph):
        raise TypeError(f"{name}: expected a Graph or a HeteroGraph for graph, got {type(graph).__name__}")


class NeighborLoader(_Loader):
    """Batches of nodes, each with a sample of their neighbourhood: iterate it once an epoch.

    graph: a Graph, or a HeteroGraph. num_neighbors: for each hop how many edges of each node are drawn, -1
    for all, see `k_hop`; of a HeteroGraph also a dictionary from edge type to such a list. None: each batch
    has the whole graph, made once. input_nodes: ids, all nodes if it is None; of a HeteroGraph a node type,
    or (node type, ids). labels: an array or Tensor with a row for each node (of that type).
    batch_size, shuffle, drop_last: of the input nodes. replace, weights: see `k_hop`.
    prefetch: how many batches a thread makes ahead, 0 for none. Batches do not depend on it. seed: the
    batches of the first, second, ... iteration are the same for the same number; without it the generator of
    `paddle.seed` decides.

    A batch is a `Batch`: `layer(batch.graph, batch.graph.node_feat["x"])[batch.seeds]` has the rows of
    `batch.labels`. An exception in the thread is raised by the iteration. Raises ValueError for ids outside
    and labels of another length.
    Source: Hamilton, Ying and Leskovec, Inductive Representation Learning on Large Graphs, 2017, algorithm 2;
    torch_geometric.loader.NeighborLoader.

    >>> g = paddle.graph.Graph([(1, 0), (2, 1), (0, 2)])
    >>> [batch.nodes.tolist() for batch in paddle.graph.NeighborLoader(g, [1], batch_size=2)]
    [[0, 1, 2], [2, 0]]
    """

    def __init__(
        self,
        graph: Any,
        num_neighbors: Sequence[Any] | Mapping[EdgeType, Sequence[int]] | None,
        input_nodes: Any = None,
        batch_size: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        replace: bool = False,
        weights: Any = None,
        labels: Any = None,
        prefetch: int = 2,
        seed: int | None = None,
    ) -> None:
        name = "NeighborLoader"
        _loadable(graph, name)
        self.node_type, nodes = self._input(graph, input_nodes)
        count = graph.num_nodes if isinstance(graph, Graph) else graph.node_types[self.node_type]
        self.input_nodes = (
            np.arange(count, dtype=np.int32)
            if nodes is None
            else ids(nodes, count, f"{name}: input_nodes").reshape(-1)
        )
        self.labels = None if labels is None else torch.from_numpy(host(labels))
        if self.labels is not None and (not self.labels.ndim or len(self.labels) != count):
            raise ValueError(
                f"{name}: labels: expected {count} rows, one for each node, got shape "
                f"{list(self.labels.shape)}"
            )
        super().__init__(
            graph, num_neighbors, len(self.input_nodes), batch_size, shuffle, drop_last, replace, weights,
            prefetch, seed,
        )  # fmt: skip

    @staticmethod
    def _input(graph: Any, given: Any) -> tuple[str, Any]:
        """(node type, ids)."""
        if isinstance(graph, Graph):
            return "", given
        kind, nodes = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
        if not isinstance(kind, str) or kind not in graph.node_types:
            raise ValueError(
                "NeighborLoader: input_nodes: expected a node type or (node type, ids), of "
                f"{list(graph.node_types)}, got {kind!r}"
            )
        return kind, nodes

    def _batch(self, chosen: np.ndarray, seed: int) -> Batch:
        nodes = self.input_nodes[chosen]
        sample, graph = self._sampled({self.node_type: nodes} if self.node_type else nodes, seed)
        labels = None if self.labels is None else Tensor(self.labels[torch.from_numpy(nodes).long()])
        return Batch(sample, graph, chosen, labels=labels)


class LinkLoader(_Loader):
    """Batches of links, each with a sample of the neighbourhood of their ends, and with negatives.

    edge_label_index: the links, as (sources, targets), or pairs, or an array [links, 2]; all edges if it is
    None. Of a HeteroGraph an edge type, or (edge type, links). edge_label: a number or row for each link.
    neg_sampling: None; "binary" adds `neg_sampling_ratio` times as many pairs that are no edges of the
    graph; "triplet" draws `neg_sampling_ratio` targets for each link, to which its source has no edge.
    The other arguments are those of NeighborLoader.

    A batch is a `Batch`. Without negatives and for "binary" it has edge_label_index, int64 [2, links]:
    positions in `nodes` (of the source's and of the target's type), negatives last; and edge_label: float32
    1 for links and 0 for negatives, or with `edge_label` those numbers, plus 1 if there are negatives, whose
    label is 0. For "triplet" it has src_index and dst_pos_index [links] and dst_neg_index [links, ratio].
    Raises ValueError as NeighborLoader does, and where all pairs are edges.
    Source: torch_geometric.loader.LinkNeighborLoader.

    >>> g = paddle.graph.Graph([(0, 1), (2, 3)], num_nodes=4)
    >>> batch = next(iter(paddle.graph.LinkLoader(g, [-1], batch_size=2, neg_sampling="binary", seed=0)))
    >>> batch.edge_label.tolist()
    [1.0, 1.0, 0.0, 0.0]
    """

    def __init__(
        self,
        graph: Any,
        num_neighbors: Sequence[Any] | Mapping[EdgeType, Sequence[int]] | None,
        edge_label_index: Any = None,
        edge_label: Any = None,
        batch_size: int = 1,
        neg_sampling: str | None = None,
        neg_sampling_ratio: int = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        replace: bool = False,
        weights: Any = None,
        prefetch: int = 2,
        seed: int | None = None,
    ) -> None:
        name = "LinkLoader"
        _loadable(graph, name)
        if neg_sampling not in (None, "binary", "triplet"):
            raise ValueError(
                f"{name}: neg_sampling: expected None, 'binary' or 'triplet', got {neg_sampling!r}"
            )
        self.neg_sampling = neg_sampling
        self.neg_sampling_ratio = whole(
            neg_sampling_ratio, 1, f"{name}: neg_sampling_ratio: expected a whole number of at least 1"
        )
        self.edge_type, self._relation, links = self._links(graph, edge_label_index)
        self.sources, self.targets = links
        self.edge_label = None if edge_label is None else torch.from_numpy(host(edge_label))
        if self.edge_label is not None and (
            not self.edge_label.ndim or len(self.edge_label) != len(self.sources)
        ):
            raise ValueError(
                f"{name}: edge_label: expected {len(self.sources)} rows, one for each link, got shape "
                f"{list(self.edge_label.shape)}"
            )
        super().__init__(
            graph, num_neighbors, len(self.sources), batch_size, shuffle, drop_last, replace, weights,
            prefetch, seed,
        )  # fmt: skip

    @staticmethod
    def _links(graph: Any, given: Any) -> tuple[EdgeType, Any, tuple[np.ndarray, np.ndarray]]:
        """(edge type, what has its edges, (sources, targets))."""
        kind, relation, sizes = ONLY, graph, (0, 0)
        if isinstance(graph, Graph):
            sizes = (graph.num_nodes, graph.num_nodes)
        else:
            named = isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], tuple)
            kind, given = given if named else (given, None)
            if not isinstance(kind, tuple) or kind not in graph.relations:
                raise ValueError(
                    "LinkLoader: edge_label_index: expected an edge type or (edge type, links), of "
                    f"{list(graph.relations)}, got {kind!r}"
                )
            relation = graph.relations[kind]
            sizes = relation.sizes
        if given is None:
            return kind, relation, (relation.sources, relation.targets)
        what = "LinkLoader: edge_label_index"
        a, b = edge_ends(given, what)
        if len(a) != len(b):
            raise ValueError(f"{what}: expected as many sources as targets, got {len(a)} and {len(b)}")
        ends = ids(a, sizes[0], f"{what}: sources"), ids(b, sizes[1], f"{what}: targets")
        return kind, relation, ends

    def _batch(self, chosen: np.ndarray, seed: int) -> Batch:
        a, b = self.sources[chosen].astype(np.int64), self.targets[chosen].astype(np.int64)
        count, ratio, own = len(chosen), self.neg_sampling_ratio, child(seed, 1)
        if self.neg_sampling == "binary":
            wrong = negative_edges(self._relation, count * ratio, seed=own)
            a, b = np.append(a, host(wrong[0])), np.append(b, host(wrong[1]))
        elif self.neg_sampling == "triplet":
            b = np.append(b, host(negative_targets(self._relation, a, ratio, seed=own)).reshape(-1))
        sample, graph = self._sampled(self._seeds(a, b), child(seed, 0))
        at = self._positions(sample, len(a))
        if self.neg_sampling == "triplet":
            more = dict(src_index=Tensor(at[0]), dst_pos_index=Tensor(at[1][:count]))
            more["dst_neg_index"] = Tensor(at[1][count:].reshape(count, ratio))
            return Batch(sample, graph, chosen, **more)
        return Batch(
            sample,
            graph,
            chosen,
            edge_label_index=Tensor(torch.stack(at)),
            edge_label=self._labels(chosen, len(a) - count),
        )

    def _seeds(self, a: np.ndarray, b: np.ndarray) -> Any:
        source, _, target = self.edge_type
        if self.edge_type == ONLY:
            return np.concatenate([a, b])
        return {source: np.concatenate([a, b])} if source == target else {source: a, target: b}

    def _positions(self, sample: Sample, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Where the sources and the targets are among the nodes of the sample."""
        source, _, target = self.edge_type
        if source != target:
            return sample.seeds[source].data, sample.seeds[target].data
        both = (sample.seeds[source] if source else sample.seeds).data
        return both[:count], both[count:]

    def _labels(self, chosen: np.ndarray, negatives: int) -> Tensor:
        if self.edge_label is None:
            made = torch.zeros(len(chosen) + negatives)
            made[: len(chosen)] = 1
            return Tensor(made)
        made = self.edge_label[torch.from_numpy(chosen)]
        if negatives:
            made = torch.cat([made + 1, made.new_zeros((negatives, *made.shape[1:]))])
        return Tensor(made)
