"""Message passing along edges, and segments: every reduction and join, shapes that broadcast, ties, nodes that receive
nothing, sizes, errors."""

from __future__ import annotations

from typing import Any

from tools.parity.spec import Array, Call, array, call, given

REDUCERS = ("sum", "mean", "max", "min")
JOINS = ("add", "sub", "mul", "div")
SOURCES, TARGETS = (
    [0, 1, 2, 0, 2, 2],
    [1, 2, 1, 1, 2, 1],
)  # an edge twice, a self loop, and a node without edges


def ends(dtype: str = "int64", sources: Any = SOURCES, targets: Any = TARGETS) -> tuple[Array, Array]:
    return given(sources, dtype), given(targets, dtype)


TIES = given([[1, 5], [2, 5], [1, 4], [0, 0]])
NODES = array(4, 3)
WRONG = [  # each raises
    call(NODES, *ends(targets=TARGETS[:3])),
    call(NODES, *ends(sources=[[0, 1, 2, 0, 2, 2]])),
    call(NODES, given(SOURCES, "int64"), given(TARGETS, "int32")),
    call(NODES, *ends(sources=[0, 1, 2, 0, 2, 4])),
    call(NODES, *ends(), "prod"),
    call(NODES, *ends(), "SUM"),
    call(NODES, SOURCES, TARGETS),
    call([[1.0]], *ends()),
    call(NODES, *ends(), "sum", [5]),
    call(NODES, *ends(), "sum", True),
    call(NODES, *ends(), "sum", 1),
]


def received() -> list[Call]:
    shapes = [(4,), (4, 3), (4, 2, 3), (4, 0)]
    found = [call(array(*shape), *ends(), reduce) for reduce in REDUCERS for shape in shapes]
    found += [
        call(array(4, 3, dtype=dtype), *ends("int32"), reduce)
        for reduce in REDUCERS
        for dtype in ("float64", "int32", "int64")
    ]
    found += [call(TIES, *ends(), reduce) for reduce in REDUCERS]
    found += [call(NODES, *ends(), reduce, size) for reduce in REDUCERS for size in (None, 0, -1, 3, 7)]
    found += [call(NODES, *ends(), "max", given(5, "int32")), call(NODES, *ends(), "sum", "5")]
    found += [call(NODES, *ends(sources=[], targets=[]), reduce) for reduce in REDUCERS]
    return [*found, call(NODES, *ends(sources=[[v] for v in SOURCES], targets=[[v] for v in TARGETS]))]


def joined() -> list[Call]:
    edges = array(6, 3, low=0.5)
    found = [call(NODES, edges, *ends(), join, reduce) for join in JOINS for reduce in REDUCERS]
    shapes = [
        ((4,), (6,)), ((4, 3), (6,)), ((4,), (6, 3)), ((4, 3), (6, 1)), ((4, 1), (6, 5)), ((4, 2, 3), (6, 3)),
        ((4, 2, 3), (6, 2, 1)), ((4, 3), (6, 2, 3)), ((4, 2, 1), (6, 1, 3)),
    ]  # fmt: skip
    found += [
        call(array(*x), array(*y, low=0.5), *ends(), join, reduce)
        for x, y in shapes
        for join, reduce in (("add", "mean"), ("mul", "sum"), ("mul", "mean"), ("sub", "max"))
    ]
    found += [
        call(array(4, 3, dtype=dtype), array(6, 3, dtype=dtype), *ends(), join, reduce)
        for dtype in ("float64", "int32", "int64")
        for join, reduce in (("add", "sum"), ("mul", "mean"), ("mul", "max"))
    ]
    found += [
        call(TIES, given([[3, 1], [1, 1], [3, 2], [3, 1], [1, 1], [0, 1]]), *ends(), join, reduce)
        for join in ("add", "mul")
        for reduce in ("max", "min")
    ]
    found += [
        call(NODES, edges, *ends(), "add", "min", 7),
        call(NODES, array(0, 3), *ends(sources=[], targets=[])),
    ]
    wrong = [
        (NODES, array(6, 2), *ends()),
        (NODES, array(4, 3), *ends()),
        (NODES, array(1, 3), *ends()),
        (NODES, array(6, 3, dtype="float64"), *ends()),
        (array(4, 3, dtype="int32"), array(6, 3, dtype="int32"), *ends(), "div"),
        (NODES, edges, *ends(targets=TARGETS[:3])),
        (NODES, edges, *ends(), "pow"),
        (NODES, edges, *ends(), "add", "pow"),
    ]
    return found + [call(*each) for each in wrong]


def at_edges() -> list[Call]:
    shapes = [
        ((4, 3), (4, 3)), ((4,), (4,)), ((4, 3), (4,)), ((4, 3), (3, 3)), ((4, 2, 3), (4, 2, 1)), ((4, 1), (4, 5)),
        ((4, 3), (4, 2, 3)),
    ]  # fmt: skip
    found = [call(array(*x), array(*y, low=0.5), *ends(), join) for x, y in shapes for join in JOINS]
    found += [
        call(array(4, 3, dtype=dtype), array(4, 3, dtype=dtype), *ends("int32"), join)
        for dtype in ("float64", "int32", "int64")
        for join in ("add", "mul")
    ]
    wrong = [
        (NODES, array(4, 2), *ends()),
        (NODES, array(4, 3, dtype="float64"), *ends()),
        (NODES, NODES, *ends(targets=TARGETS[:3])),
        (NODES, NODES, *ends(), "pow"),
    ]
    return [*found, call(NODES, NODES, *ends(sources=[], targets=[])), *(call(*each) for each in wrong)]


def segments() -> list[Call]:
    ids = given([0, 0, 2, 2, 2, 5], "int64")
    found = [call(array(6, *rest), ids) for rest in ((), (3,), (2, 3), (0,))]
    found += [call(array(6, 3, dtype=dtype), ids) for dtype in ("float64", "int32", "int64")]
    found += [call(given([[1, 2], [1, 3], [0, 3]]), given([0, 0, 0], "int32"))]
    wrong = [
        given([0, 1, 0, 2, 2, 5], "int64"), given([-1, 0, 0, 2, 2, 5], "int64"), given([0, 1], "int64"),
        given([[0, 0, 2, 2, 2, 5]], "int64"), array(6),
    ]  # fmt: skip
    return [*found, *(call(array(6, 3), each) for each in wrong), call([1.0, 2.0], given([0, 1], "int64"))]


CASES: dict[str, list[Call]] = {
    "paddle.geometric.send_u_recv": received() + WRONG,
    "paddle.geometric.send_ue_recv": joined(),
    "paddle.geometric.send_uv": at_edges(),
    "paddle.incubate.graph_send_recv": received() + WRONG,
    **{f"paddle.geometric.segment_{reduce}": segments() for reduce in REDUCERS},
    **{f"paddle.incubate.segment_{reduce}": segments() for reduce in REDUCERS},
}
