"""Networks as ONNX files, and what export refuses."""

import logging
import subprocess
import sys

import numpy as np
import pytest
from sampan.static import InputSpec

import sampan as paddle
import sampan.nn.functional as F
from sampan import nn
from sampan.engine.errors import InvalidArgument, InvalidType
from sampan.jit.record import Outside
from sampan.jit.translated import TranslatedLayer
from sampan.jit.whole import recorded
from sampan.onnx.library import library
from tests.onnx.exported import Function, agrees


class Residual(nn.Layer):
    """A small network of convolutions for pictures of any size."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2D(3, 8, 3, 2, 1), nn.BatchNorm2D(8), nn.ReLU(), nn.MaxPool2D(3, 2, 1)
        )
        self.next = nn.Sequential(nn.Conv2D(8, 8, 3, 1, 1, groups=8), nn.BatchNorm2D(8), nn.Hardswish())
        self.last = nn.Linear(8, 4)

    def forward(self, x):
        x = self.first(x)
        x = x + self.next(x)
        return self.last(F.adaptive_avg_pool2d(x, 1).flatten(1))


NETWORKS = {
    "lenet": (paddle.vision.models.LeNet, [None, 1, 28, 28]),
    "residual": (Residual, [None, 3, None, None]),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2), [None, None, 8]),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_answer_alike_at_other_sizes(tmp_path, name):
    make, shape = NETWORKS[name]
    sizes = [n or size for n, size in zip(shape, (3, 12, 40, 56), strict=False)]
    model = agrees(tmp_path, make(), [InputSpec(shape, name="given")], paddle.randn(sizes))
    (given,) = model.graph.input
    assert given.name == "given" and given.type.tensor_type.shape.dim[0].dim_param == "batch"
    assert all(node.doc_string for node in model.graph.node if node.op_type == "Conv")


def test_language_models(tmp_path):
    ids, more = paddle.to_tensor([[1, 2, 3]] * 5), paddle.to_tensor([[1, 1, 0]] * 5)
    spec = InputSpec([None, None], "int64")
    agrees(tmp_path, paddle.models.GPT(20, 64, 2, 2, 8), [spec], ids)
    agrees(tmp_path, paddle.models.BERT(20, 8, 2, 2, 64), [spec] * 3, ids, more - more, more)


def test_nested_arguments_results_and_shared_weights(tmp_path):
    linear = nn.Linear(3, 3)

    class Nested(nn.Layer):
        def __init__(self):
            super().__init__()
            self.one, self.two = linear, linear

        def forward(self, a, b):
            return {"sum": self.one(a["x"]) + self.two(b[0]), "rest": [b[1], 3, None, a["x"]]}

    onnx = pytest.importorskip("onnx")
    three = InputSpec([None, 3])
    paddle.onnx.export(Nested(), str(tmp_path / "n"), [{"x": three}, [three, InputSpec([None], "int32")]])
    model = onnx.load(str(tmp_path / "n.onnx"))
    assert [one.name for one in model.graph.output] == ["output_0", "output_1", "output_2"]
    assert sum(np.prod(one.dims) == 9 for one in model.graph.initializer) == 1


def test_all_calls_without_a_form_are_named_at_once_with_their_lines(tmp_path):
    pytest.importorskip("onnx")

    def lacking(x):
        y = paddle.erfinv(x * 0.01)
        return paddle.linalg.svd(y)[0], paddle.rand([2]) + x[0, 0]

    with pytest.raises(InvalidArgument, match="3 calls, nothing is written") as caught:
        paddle.onnx.export(Function(lacking), str(tmp_path / "m"), [InputSpec([None, 3])])
    line = lacking.__code__.co_firstlineno + 1
    text = str(caught.value)
    assert f"test_export.py:{line}: erfinv: no emitter" in text
    assert f":{line + 1}: svd" in text and f":{line + 1}: rand: random numbers" in text
    assert not list(tmp_path.iterdir())


def test_a_write_through_a_view_is_not_lost_in_silence(tmp_path):
    pytest.importorskip("onnx")

    def aliased(x):
        y = x * 2
        z = y[0]
        y[0] = 7.0
        return z + 1

    with pytest.raises(InvalidArgument, match="is not that of the layer"):
        paddle.onnx.export(Function(aliased), str(tmp_path / "m"), [InputSpec([None, 3])])
    assert not list(tmp_path.iterdir())


def test_bad_arguments(tmp_path):
    pytest.importorskip("onnx")
    layer, spec = nn.Linear(2, 2), [InputSpec([None, 2])]
    with pytest.raises(InvalidType, match="layer: expected a Layer or a function, got int"):
        paddle.onnx.export(3, str(tmp_path / "m"), spec)
    for opset in (0, 1000, "17", True):
        with pytest.raises(InvalidArgument, match="opset_version: expected 17 to"):
            paddle.onnx.export(layer, str(tmp_path / "m"), spec, opset_version=opset)
    with pytest.raises(InvalidArgument, match="input_spec"):
        paddle.onnx.export(layer, str(tmp_path / "m"))
    with pytest.raises(InvalidArgument, match="decides what is computed"):
        paddle.onnx.export(Function(lambda x: x if x.sum() > 0 else -x), str(tmp_path / "m"), spec)
    assert not list(tmp_path.iterdir())


def test_an_older_opset_is_raised_with_a_message(tmp_path, caplog):
    onnx = pytest.importorskip("onnx")
    with caplog.at_level(logging.WARNING, "sampan.onnx"):
        paddle.onnx.export(nn.Linear(2, 2), str(tmp_path / "m"), [paddle.ones([3, 2])], opset_version=9)
    assert "the file has 17" in caplog.text
    assert onnx.load(str(tmp_path / "m.onnx")).opset_import[0].version == 17


def test_a_loaded_program_is_exported(tmp_path):
    pytest.importorskip("onnx")
    layer = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    outside = Outside()
    loaded = recorded(layer.forward, [InputSpec([None, 2])], outside)
    named = [(f"tensor_{i}", tensor) for i, tensor in enumerate(outside.tensors)]
    agrees(tmp_path, TranslatedLayer(named, outside.buffers, [("forward", loaded)]), [], paddle.randn([5, 2]))


def test_without_the_library_the_extra_is_named(tmp_path, monkeypatch):
    library.cache_clear()
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"need the package onnx: pip install .sampan\[deploy\]"):
        paddle.onnx.export(nn.Linear(2, 2), str(tmp_path / "m"), [paddle.ones([1, 2])])


@pytest.mark.servers
def test_a_file_runs_where_neither_torch_nor_sampan_is(tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    layer = paddle.vision.models.LeNet()
    paddle.onnx.export(layer, str(tmp_path / "m"), [InputSpec([None, 1, 28, 28], name="picture")])
    x = paddle.randn([3, 1, 28, 28])
    np.save(tmp_path / "x.npy", x.numpy())
    program = (
        "import sys\nsys.modules.update(torch=None, sampan=None)\nimport numpy, onnxruntime\n"
        "session = onnxruntime.InferenceSession('m.onnx', providers=['CPUExecutionProvider'])\n"
        "numpy.save('y.npy', session.run(None, {'picture': numpy.load('x.npy')})[0])"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    layer.eval()
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), layer(x).numpy(), atol=1e-5)
