"""Changes of a graph as bytes, and back."""

import io

import numpy as np
import pytest

from sampan.graph import DynamicGraph
from sampan.graph.redo_records import ADD, NODE_FEAT, NODES, WHOLE, Schema, apply, record, records, whole

NODE = {"x": np.zeros((2, 3), np.float16), "born": np.zeros(2, "datetime64[s]")}
EDGE = {"word": np.array(["ab", "c"]), "wide": np.zeros((2, 2, 2), np.uint8)}
SCHEMA = Schema.of(True, NODE, EDGE)


def read(parts, schema=SCHEMA, cut=None):
    whole = b"".join(part.tobytes() for part in parts)[:cut]
    return list(records(io.BytesIO(whole), len(whole), schema))


def test_a_schema_is_read_back():
    assert Schema.read(SCHEMA.described()) == SCHEMA
    assert [dtype.str for dtype, _ in SCHEMA.arrays(ADD, 0)] == ["<i4", "<i4", "<i4", "<f8", "<U2", "|u1"]
    assert SCHEMA.arrays(NODE_FEAT, 1) == [(np.dtype(np.int32), ()), (np.dtype("datetime64[s]"), ())]
    with pytest.raises(
        TypeError, match="expected numbers or text of a fixed length in 'o', got dtype object"
    ):
        Schema.of(False, {"o": np.array([None])}, {})


def test_records_are_read_back():
    rng = np.random.default_rng(0)
    x, born = rng.random((5, 3)).astype(np.float16), np.arange(5).astype("datetime64[s]")
    some = np.array([3, 1], np.int32)
    parts = [*record(NODES, 5, x[::-1], born), *record(NODE_FEAT, 2, some, born[:2], feature=1)]
    parts += record(ADD, 0, *(np.zeros((0, *shape), dtype) for dtype, shape in SCHEMA.arrays(ADD, 0)))
    found = read(parts)
    assert [(kind, count, feature) for kind, count, feature, _ in found] == [
        (NODES, 5, 0),
        (NODE_FEAT, 2, 1),
        (ADD, 0, 0),
    ]
    for given, back in zip([x[::-1], born, some, born[:2]], found[0][3] + found[1][3], strict=True):
        assert given.dtype == back.dtype and np.array_equal(given, back)


@pytest.mark.parametrize(
    ("cut", "text"), [(10, "expected a record at byte 0"), (40, "expected 40 bytes at byte 54")]
)
def test_bytes_that_end_too_early_are_told(cut, text):
    parts = record(NODES, 5, np.zeros((5, 3), np.float16), np.zeros(5, "datetime64[s]"))
    with pytest.raises(ValueError, match=text):
        read(parts, cut=cut if cut == 10 else 60)


def test_a_whole_graph_has_the_order_of_both_kinds_of_rows():
    rng = np.random.default_rng(0)
    graph, every = DynamicGraph(9, node_feat={"x": np.arange(9)}), np.arange(9)
    graph.add_edges(*rng.integers(0, 9, (2, 200)))
    graph.remove_edges(edges=rng.permutation(200)[:90])
    graph.add_edges(*rng.integers(0, 9, (2, 50)))  # with the numbers of some that were removed
    graph.remove_nodes([4])
    schema = Schema.of(False, {"x": np.arange(9)}, {})
    parts = [part for some in whole(graph.snapshot(), graph._gone[:9]) for part in some]
    found = read(parts, schema)
    assert [kind for kind, *_ in found] == [NODES, 2, WHOLE]
    again = DynamicGraph(node_feat={"x": np.zeros(0, np.int64)})
    for one in found:
        apply(again, *one)
    for ask in (graph.successors, graph.predecessors):
        for one, other in zip(ask(every), getattr(again, ask.__name__)(every), strict=True):
            np.testing.assert_array_equal(one, other)
    assert [again.has_node(node) for node in every] == [node != 4 for node in every]
    assert again.node_feat("x", every).tolist() == every.tolist()
