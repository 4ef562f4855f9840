"""ONNX files that are wrong: each refusal names the place."""

import pytest

import sampan as paddle
from sampan.engine.errors import InvalidArgument

onnx = pytest.importorskip("onnx")
FLOAT = onnx.TensorProto.FLOAT


def model(nodes, opset=17, initializers=(), inputs=(("x", [None, 2]),), outputs=("y",)):
    """A model of nodes (operator, inputs, outputs, settings)."""
    helper = onnx.helper
    made = [helper.make_node(k, i, o, name=f"{k}_{n}", **s) for n, (k, i, o, s) in enumerate(nodes)]
    given = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in inputs]
    results = [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs]
    graph = helper.make_graph(made, "g", given, results, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


RELU = ("Relu", ["x"], ["y"], {})
WRONG = {
    "unknown operators": (model([("Nope", ["x"], ["a"], {}), ("Nix", ["a"], ["y"], {})]), r"2 nodes .* Nope_0 \(Nope\), Nix_1"),
    "another domain": (model([("Relu", ["x"], ["y"], {"domain": "com.other"})]), r"com\.other\.Relu"),
    "an old opset": (model([RELU], 6), "expected an opset from 7"),
    "a new opset": (model([RELU], 10_000), "got 10000"),
    "a cycle": (model([("Add", ["x", "b"], ["a"], {}), ("Relu", ["a"], ["b"], {})], outputs=["b"]), "Add_0 reads 'b' before Relu_1"),
    "a name of nothing": (model([("Relu", ["z"], ["y"], {})]), "Relu_0 reads 'z', which nothing makes"),
    "an output of nothing": (model([RELU], outputs=["q"]), "the output 'q'"),
    "a name made twice": (model([RELU, RELU]), "Relu_1 makes 'y' again"),
}  # fmt: skip  # a table


@pytest.mark.parametrize("name", WRONG)
def test_wrong_graphs(tmp_path, name):
    made, message = WRONG[name]
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(InvalidArgument, match=message):
        paddle.onnx.load(tmp_path / "m.onnx")


def test_files_that_are_no_onnx_or_cut_off(tmp_path):
    file = tmp_path / "m.onnx"
    whole = model([RELU]).SerializeToString()
    for content in (b"", b"\x80\x04pickle", b"no protobuf at all", whole[:-9], whole[: len(whole) // 2]):
        file.write_bytes(content)
        with pytest.raises(InvalidArgument, match=r"m\.onnx: "):
            paddle.onnx.load(file)
    with pytest.raises(InvalidArgument, match="path: no file"):
        paddle.onnx.load(tmp_path / "lacking.onnx")
    with pytest.raises(InvalidArgument, match="path: no file"):
        paddle.onnx.load(tmp_path)
    with file.open("wb") as opened:
        opened.truncate(2**31)
    with pytest.raises(InvalidArgument, match="at most 2 GB"):
        paddle.onnx.load(file)


def external(location, **more):
    tensor = onnx.TensorProto(name="w", data_type=FLOAT, dims=[2], data_location=onnx.TensorProto.EXTERNAL)
    for key, value in {"location": location, **more}.items():
        tensor.external_data.add(key=key, value=str(value))
    return model([("Add", ["x", "w"], ["y"], {})], initializers=[tensor])


def test_data_beside_the_model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    file = folder / "m.onnx"
    numbers = onnx.numpy_helper.from_array(paddle.to_tensor([1.0, 2.0]).numpy()).raw_data
    (folder / "data.bin").write_bytes(b"1234" + numbers)
    file.write_bytes(external("data.bin", offset=4, length=8).SerializeToString())
    assert paddle.onnx.load(file)(paddle.zeros([1, 2])).tolist() == [[1.0, 2.0]]
    (tmp_path / "secret").write_bytes(numbers)
    (folder / "link").symlink_to(tmp_path / "secret")
    for location in ("../secret", str(tmp_path / "secret"), "link", ""):
        file.write_bytes(external(location).SerializeToString())
        with pytest.raises(InvalidArgument, match="tensor 'w': its data is outside the model's folder"):
            paddle.onnx.load(file)
    for more in ({"offset": 8, "length": 8}, {"offset": -4}, {"length": 2**40}, {"offset": "x"}):
        file.write_bytes(external("data.bin", **more).SerializeToString())
        with pytest.raises(InvalidArgument, match=r"tensor 'w': (bytes|offset and length)"):
            paddle.onnx.load(file)
    file.write_bytes(external("data.bin", length=4).SerializeToString())
    with pytest.raises(InvalidArgument, match="tensor 'w': damaged"):
        paddle.onnx.load(file)
