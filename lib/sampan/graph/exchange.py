"""Graphs from and to networkx, SciPy, pandas and PyTorch Geometric. Each library is imported when it is asked
for."""

from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from .graph import Graph

__all__ = [
    "from_networkx",
    "from_pandas",
    "from_pyg",
    "from_scipy",
    "to_networkx",
    "to_pandas",
    "to_pyg",
    "to_scipy",
]


def _array(values: Any) -> np.ndarray:
    return values.numpy() if isinstance(values, Tensor) else values


def _stacked(attributes: list[dict[Any, Any]], what: str) -> dict[str, np.ndarray]:
    """Attributes that each node or edge has, as arrays; raises ValueError where some lack one."""
    found = {}
    for name in dict.fromkeys(key for one in attributes for key in one):
        have = [name in one for one in attributes]
        if not all(have):
            raise ValueError(
                f"from_networkx: expected {name!r} at every {what} or at none, got it at {sum(have)} of "
                f"{len(have)}"
            )
        found[str(name)] = np.array([one[name] for one in attributes])
    return found


def from_networkx(graph: Any) -> Graph:
    """Nodes in networkx's order, numbered from 0; an undirected edge becomes two. Attributes become features.

    Their names are kept as the node feature "label" where they are not 0, 1, 2, ... Raises ValueError for an
    attribute that only some nodes or edges have.
    """
    names = list(graph.nodes)
    place = {name: number for number, name in enumerate(names)}
    node_feat = _stacked([graph.nodes[name] for name in names], "node")
    if names != list(range(len(names))):
        node_feat.setdefault("label", np.array(names))
    edges = [(place[a], place[b]) for a, b in graph.edges(data=False)]
    edge_feat = _stacked([data for _, _, data in graph.edges(data=True)], "edge")
    if not graph.is_directed():
        loops = np.array([a == b for a, b in edges], bool)
        both = np.append(np.arange(len(edges)), np.flatnonzero(~loops))  # a loop is one edge
        edges += [(b, a) for a, b in edges if a != b]
        edge_feat = {name: values[both] for name, values in edge_feat.items()}
    return Graph(edges, len(names), node_feat, edge_feat)


def to_networkx(graph: Graph) -> Any:
    """A MultiDiGraph whose nodes are the ids; features are attributes, rows of arrays."""
    import networkx

    made = networkx.MultiDiGraph()
    node_feat, edge_feat = (
        {name: _array(values) for name, values in features.items()}
        for features in (graph.node_feat, graph.edge_feat)
    )
    for node in range(graph.num_nodes):
        made.add_node(node, **{name: values[node] for name, values in node_feat.items()})
    for edge, (a, b) in enumerate(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)):
        made.add_edge(a, b, **{name: values[edge] for name, values in edge_feat.items()})
    return made


def from_scipy(matrix: Any) -> Graph:
    """An edge (row, column) for each stored entry of a square matrix, with the edge feature "weight"."""
    entries = matrix.tocoo()
    if entries.shape[0] != entries.shape[1]:
        raise ValueError(f"from_scipy: expected a square matrix, got shape {list(entries.shape)}")
    return Graph((entries.row, entries.col), entries.shape[0], None, {"weight": entries.data})


def to_scipy(graph: Graph, weight: str | None = None) -> Any:
    """The adjacency matrix in compressed rows [source, target]; repeated edges add up.

    weight: an edge feature [edges]; None counts edges (int64)."""
    from scipy.sparse import csr_array

    values = np.ones(graph.num_edges, np.int64) if weight is None else _array(graph.edge_feat[weight])
    side = graph.by_source
    arrays = values[side.edges], side.neighbours.copy(), side.starts.copy()
    made = csr_array(arrays, (graph.num_nodes, graph.num_nodes))
    made.sum_duplicates()  # in place
    return made


def from_pandas(
    edges: Any,
    source: str = "source",
    target: str = "target",
    nodes: Any = None,
    num_nodes: int | None = None,
) -> Graph:
    """A row of the table is an edge; its other columns are edge features. nodes: a table with a row for each
    node, whose columns are node features."""
    others = [name for name in edges.columns if name not in (source, target)]
    node_feat = {} if nodes is None else {str(name): nodes[name].to_numpy() for name in nodes.columns}
    return Graph(
        (edges[source].to_numpy(), edges[target].to_numpy()),
        len(nodes) if nodes is not None and num_nodes is None else num_nodes,
        node_feat,
        {str(name): edges[name].to_numpy() for name in others},
    )


def to_pandas(graph: Graph, source: str = "source", target: str = "target") -> tuple[Any, Any]:
    """(nodes, edges): tables with a row for each; a feature with more than one axis is a column of arrays."""
    import pandas

    def columns(features: dict[str, Any]) -> dict[str, Any]:
        arrays = {name: _array(values) for name, values in features.items()}
        return {name: values if values.ndim == 1 else list(values) for name, values in arrays.items()}

    ends = {source: graph.sources.astype(np.int64), target: graph.targets.astype(np.int64)}
    nodes = pandas.DataFrame(columns(graph.node_feat), index=range(graph.num_nodes))
    return nodes, pandas.DataFrame({**ends, **columns(graph.edge_feat)})


def from_pyg(data: Any) -> Graph:
    """PyTorch Geometric's `Data`: attributes with a row for each node or edge become features, as arrays."""
    edges = data.edge_index.cpu().numpy()
    node_feat: dict[str, Any] = {}
    edge_feat: dict[str, Any] = {}
    for name, values in data.to_dict().items():
        if name == "edge_index" or not hasattr(values, "detach"):
            continue
        features = edge_feat if data.is_edge_attr(name) else node_feat if data.is_node_attr(name) else {}
        features[name] = values.detach().cpu().numpy()
    return Graph((edges[0], edges[1]), data.num_nodes, node_feat, edge_feat)


def to_pyg(graph: Graph) -> Any:
    """PyTorch Geometric's `Data` with copies of the edges and features, as torch's tensors."""
    import torch
    from torch_geometric.data import Data

    ends = torch.from_numpy(np.stack([graph.sources, graph.targets]).astype(np.int64))
    features = {**graph.node_feat, **graph.edge_feat}
    if len(features) < len(graph.node_feat) + len(graph.edge_feat):
        raise ValueError(
            "to_pyg: expected different names of node and edge features, got both with "
            f"{sorted(set(graph.node_feat) & set(graph.edge_feat))}"
        )
    copies = {name: torch.from_numpy(np.array(_array(values))) for name, values in features.items()}
    return Data(edge_index=ends, num_nodes=graph.num_nodes, **copies)
