"""Samples of neighbours where they are certain (all are taken, or none), renumbering, and errors.

PaddlePaddle 3.3.1 ends the process for sample_size=-1 on the CPU and for nodes outside, and expands one node alone in
the second hop of graph_khop_sampler; a large size takes all, and tests/graph/test_sampling.py has the rest.
"""

from __future__ import annotations

from tools.parity.spec import Call, call, given

ROW, COLPTR = [3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7], [0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13]
NODES = [0, 8, 1, 2, 7]  # 7 has no neighbour
EIDS = [10 * place for place in range(13)]
WEIGHTS = [0.5 + place for place in range(13)]
TABLE = [8, 9, 0, 4, 7, 6, 7]


def graph(dtype: str = "int64", nodes: object = NODES) -> list[object]:
    return [given(values, dtype) for values in (ROW, COLPTR, nodes)]


def weighted(dtype: str = "int64") -> list[object]:
    row, colptr, nodes = graph(dtype)
    return [row, colptr, given(WEIGHTS, "float32", grad=False), nodes]


def reindexed(dtype: str = "int64", x: object = (0, 1, 2), count: object = (2, 3, 2)) -> list[object]:
    return [given(list(x), dtype), given(TABLE, dtype), given(list(count), "int32")]  # type: ignore[call-overload]


ALL = [
    call(*graph(), 5),
    call(*graph("int32"), 5),
    call(*graph(), sample_size=2),
    call(*graph(), 0),
    call(*graph(nodes=[0, 0, 7]), 5),
    call(*(given([[v] for v in values], "int64") for values in (ROW, COLPTR, NODES)), 5),
    call(*graph(nodes=[[0, 8]]), 5),  # each from here on raises
    call(*graph()[:2], given([0], "int32"), 5),
    call(given(ROW, "float32", grad=False), *graph()[1:], 5),
    call(ROW, *graph()[1:], 5),
    call(*graph(), 1.5),
    call(*graph(), True),
    call(*graph(), 5, return_eids=True),
]
RENUMBERED = [
    call(*reindexed()),
    call(*reindexed("int32")),
    call(*reindexed(x=[0, 1, 0])),
    call(*reindexed(x=[5, -1, 9])),
    call(given([0, 1, 2], "int64"), given([], "int64"), given([0, 0, 0], "int32")),
    call(given([[0], [1], [2]], "int64"), given([[v] for v in TABLE], "int64"), given([2, 3, 2], "int32")),
    call(given([], "int64"), given([], "int64"), given([], "int32")),  # each from here on raises
    call(given([0, 1, 2], "int32"), given(TABLE, "int64"), given([2, 3, 2], "int32")),
    call(given([0, 1, 2], "int64"), given(TABLE, "int64"), given([2, 3, 2], "int64")),
    call(given([0.0, 1.0], grad=False), given([2.0], grad=False), given([1, 0], "int32")),
]
OTHERS = [given([0, 2, 3, 5, 1], "int64"), given([1, 3, 1], "int32")]

CASES: dict[str, list[Call]] = {
    "paddle.geometric.sample_neighbors": [
        *ALL,
        call(*graph(), 5, given(EIDS, "int64"), True),
        call(*graph(), 5, given(EIDS, "int64"), False),
        call(*graph(), 5, given(EIDS, "int32"), True),  # raises
        call(*graph(), 5, perm_buffer=given(EIDS, "int64")),
        call(*graph(), 1).but(values=False),
    ],
    "paddle.geometric.weighted_sample_neighbors": [
        call(*weighted(), 5),
        call(*weighted("int32"), sample_size=2),
        call(*weighted(), 5, given(EIDS, "int64"), True),
        call(*weighted(), 5, None, True),  # raises
        call(*graph()[:2], given(WEIGHTS, "float64", grad=False), given(NODES, "int64"), 5),  # raises
        call(*weighted(), 1).but(values=False),
    ],
    "paddle.geometric.reindex_graph": RENUMBERED,
    "paddle.geometric.reindex_heter_graph": [
        call(
            *(
                [first, other] if place else first
                for place, (first, other) in enumerate(zip(reindexed(), [None, *OTHERS], strict=True))
            )
        ),
        call(reindexed()[0], *([part] for part in reindexed()[1:])),
        call(*reindexed()),  # each from here on raises
        call(reindexed()[0], [], []),
    ],
    "paddle.incubate.graph_sample_neighbors": [
        call(*graph(), sample_size=5),
        call(*graph(), given(EIDS, "int64"), None, 5, True),
        call(*graph(), sample_size=5, flag_perm_buffer=True),  # raises
    ],
    "paddle.incubate.graph_reindex": [*RENUMBERED[:3], call(*reindexed(), flag_buffer_hashtable=True)],
    "paddle.incubate.graph_khop_sampler": [
        call(*graph(), [5]),
        call(*graph("int32"), [5]),
        call(*graph(), [5], given(EIDS, "int64"), True),
        call(*graph(), 5),
        call(*graph(), []),  # each from here on raises
        call(*graph(), [0]),
        call(*graph(nodes=[7]), [5]),
        call(*graph(nodes=[]), [5]),
        call(*graph(), [5], None, True),
    ],
}
