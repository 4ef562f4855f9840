"""ONNX files as layers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampan.static import InputSpec

import sampan as paddle
from sampan import nn
from sampan.engine.errors import InvalidArgument

onnx = pytest.importorskip("onnx")


def round_trip(folder, layer, spec):
    layer.eval()
    paddle.onnx.export(layer, str(folder / "m"), spec)
    return paddle.onnx.load(folder / "m.onnx")


NETWORKS = {
    "lenet": (paddle.vision.models.LeNet, [None, 1, 28, 28]),
    "lstm": (lambda: nn.LSTM(4, 5, direction="bidirect"), [None, None, 4]),
    "encoder": (lambda: nn.TransformerEncoderLayer(8, 2, 16), [None, None, 8]),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_what_was_exported_comes_back(tmp_path, name):
    make, shape = NETWORKS[name]
    layer = make()
    x = paddle.randn([n or 3 for n in shape])
    made, wanted = round_trip(tmp_path, layer, [InputSpec(shape)])(x), layer(x)
    first = (made[0], wanted[0]) if isinstance(made, list) else (made, wanted)
    np.testing.assert_allclose(first[0].numpy(), first[1].numpy(), atol=1e-5)


def test_it_trains_further(tmp_path):
    paddle.seed(0)
    layer = round_trip(
        tmp_path, nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1)), [InputSpec([None, 2])]
    )
    assert len(layer.parameters()) == 4
    x = paddle.randn([32, 2])
    y = x[:, :1] * x[:, 1:]
    optimizer = paddle.optimizer.Adam(0.05, parameters=layer.parameters())
    losses = []
    for _ in range(60):
        loss = ((layer(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.2 * losses[0]


def test_inputs_are_checked(tmp_path):
    layer = round_trip(tmp_path, nn.Linear(2, 2), [InputSpec([None, 2], name="given")])
    with pytest.raises(InvalidArgument, match=r"given: expected float32\[-1, 2\], got float32\[1, 3\]"):
        layer(paddle.ones([1, 3]))
    with pytest.raises(InvalidArgument, match=r"given: expected float32.*got int64"):
        layer(paddle.ones([1, 2], "int64"))
    with pytest.raises(InvalidArgument, match=r"expected 1 inputs \['given'\], got 2"):
        layer(paddle.ones([1, 2]), paddle.ones([1, 2]))


def test_an_imported_layer_is_exported_again(tmp_path):
    layer = nn.Sequential(nn.Conv2D(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
    again = round_trip(
        tmp_path, round_trip(tmp_path, layer, [InputSpec([None, 1, 4, 4])]), [InputSpec([None, 1, 4, 4])]
    )
    x = paddle.randn([5, 1, 4, 4])
    np.testing.assert_allclose(again(x).numpy(), layer(x).numpy(), atol=1e-5)


def _info(name: str, kind: str, shape: Any) -> Any:
    return onnx.helper.make_tensor_value_info(name, getattr(onnx.TensorProto, kind), shape)


def _written(file: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any]) -> Path:
    graph = onnx.helper.make_graph(nodes, "graph", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    file.write_bytes(model.SerializeToString())
    return file


def test_a_loop_gives_its_last_values_and_those_of_each_round(tmp_path: Path) -> None:
    make = onnx.helper.make_node
    rounds = [
        make("Identity", ["again"], ["going"]),
        make("Add", ["before", "step"], ["after"]),  # step is a value around the loop
        make("Mul", ["after", "after"], ["square"]),
    ]
    given = [
        _info("i", "INT64", []),
        _info("again", "BOOL", []),
        _info("before", "FLOAT", [2]),
    ]
    made = [_info("going", "BOOL", []), *(_info(n, "FLOAT", [2]) for n in ("after", "square"))]
    body = onnx.helper.make_graph(rounds, "body", given, made)
    nodes = [make("Loop", ["most", "", "x"], ["last", "squares"], body=body)]
    inputs = [_info("most", "INT64", []), *(_info(n, "FLOAT", [2]) for n in ("x", "step"))]
    outputs = [_info("last", "FLOAT", [2]), _info("squares", "FLOAT", [None, 2])]
    layer = paddle.onnx.load(_written(tmp_path / "m.onnx", nodes, inputs, outputs))
    x, step = np.array([1, 2], "float32"), np.array([0.5, -1], "float32")
    last, squares = layer(paddle.to_tensor(3), paddle.to_tensor(x), paddle.to_tensor(step))
    assert np.allclose(last.numpy(), x + 3 * step)
    assert np.allclose(squares.numpy(), [(x + i * step) ** 2 for i in (1, 2, 3)])


def test_graphs_in_nodes_are_checked_as_the_outer_one(tmp_path: Path) -> None:
    make = onnx.helper.make_node

    def refused(inner: Any, message: str) -> None:
        node = make("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
        inputs = [_info("c", "BOOL", []), _info("x", "FLOAT", [2])]
        file = _written(tmp_path / "m.onnx", [node], inputs, [_info("y", "FLOAT", [2])])
        with pytest.raises(ValueError, match=message):
            paddle.onnx.load(file)

    def way(*nodes: Any) -> Any:
        return onnx.helper.make_graph(list(nodes), "way", [], [_info("z", "FLOAT", [2])])

    refused(
        way(make("NoSuch", ["x"], ["z"], "bad")), r"2 nodes of operators that are not read: bad \(NoSuch\)"
    )
    refused(way(make("Neg", ["missing"], ["z"], "bad")), "reads 'missing', which nothing makes")
    deep = way(make("Neg", ["x"], ["z"]))
    for _ in range(20):
        deep = way(make("If", ["c"], ["z"], then_branch=deep, else_branch=way(make("Neg", ["x"], ["z"]))))
    refused(deep, "expected at most 16 graphs in one another")
