"""Loops and branches in ONNX, run by ONNX Runtime."""

from pathlib import Path
from typing import Any

import pytest

import sampan as paddle
from sampan import nn
from sampan.jit import InputSpec

from ..jit.unsaved import layer_of
from .exported import Function, agrees


class Rounds(nn.Layer):
    """A loop with a branch and a loop in it, lengths of the batch, parameters and constants."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x: Any, n: Any) -> Any:
        count, h = 0, x
        for i in range(n):
            if h.mean() > 0:
                h = self.a(h).reshape([x.shape[0] * 2, 2]).reshape([x.shape[0], 4])
            else:
                h = h * 0.5 + paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
            while h.abs().max() < 4 and count < 30:
                h = h * 2 + i
                count = count + 1
        return h, count + 0 * n, (h if n > 2 else -x)


def test_a_layer_with_loops_and_branches(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    paddle.seed(0)
    net = Rounds()
    for rows, n in ((1, 0), (3, 1), (5, 6)):
        spec = [InputSpec([None, 4], name="x"), InputSpec([], "int64", "n")]
        given = paddle.randn([rows, 4]), paddle.to_tensor(n, dtype="int64")
        model = agrees(tmp_path, net, spec, *given)
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("Loop") == 1 and kinds.count("If") == 1
    onnx.checker.check_model(model, full_check=True)
    # It is read again, runs in ONNX Runtime behind a predictor, and is recorded for a file.
    read: Any = paddle.onnx.load(tmp_path / "model.onnx")
    again = layer_of(read, *read.inputs)
    for rows, n in ((2, 0), (4, 5)):
        x, rounds = paddle.randn([rows, 4]), paddle.to_tensor(n)
        with paddle.no_grad():
            for one, other, wanted in zip(
                read(x, rounds), again(inputs=(x, rounds)), net(x, rounds), strict=True
            ):
                assert paddle.allclose(one, wanted, atol=1e-5) and paddle.allclose(other, wanted, atol=1e-5)


def test_a_loop_that_may_not_end_is_compared_where_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sampan.jit.whole.ROUNDS", 100)

    def doubled(x: Any) -> Any:
        while x.sum() < 100:
            x = x * 2
        return x

    def more(x: Any) -> Any:
        while x.sum() > -1e9:
            x = x + 1
        return x

    agrees(tmp_path, Function(doubled), [InputSpec([3])], paddle.to_tensor([1.0, 2.0, 3.0]))
    with pytest.raises(
        ValueError, match=r"test_flow\.py:\d+: for random inputs a loop takes more than 100 rounds"
    ):
        paddle.onnx.export(Function(more), str(tmp_path / "more"), [InputSpec([3])])


def test_what_has_no_form_in_a_loop_is_listed_with_its_line(tmp_path: Path) -> None:
    def sorts(x: Any) -> Any:
        while x.sum() < 5:
            x = paddle.linalg.inv(x) + 1
            x = paddle.linalg.pinv(x) + 1
        return x

    pytest.importorskip("onnx")
    with pytest.raises(ValueError, match=r"(?s)no form .*test_flow\.py:\d+: inverse.*test_flow\.py:\d+: svd"):
        paddle.onnx.export(Function(sorts), str(tmp_path / "m"), [InputSpec([3, 3])])
    assert list(tmp_path.iterdir()) == []
