"""Loops and branches as calls of a Program, from files, against Python's own loops."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn, static
from sampan.jit import InputSpec, load, save
from sampan.jit.control_flow import Choose, Endless, Loop, Part, flow_calls
from sampan.jit.program import Program, Ref
from sampan.jit.saved_form import program_from_json, program_to_json

from .unsaved import layer_of

pytestmark = pytest.mark.servers  # `save` runs a fresh process


class Nested(nn.Layer):
    """A loop with a branch and a loop in it; lengths of the batch within them."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)

    def forward(self, x: Any, n: Any) -> Any:
        def turn(i: Any, state: Any) -> Any:
            h = static.nn.cond(
                state["h"].sum() > 0,
                lambda: self.a(state["h"]).reshape([x.shape[0] * 2, 2]).reshape([x.shape[0], 4]),
                lambda: state["h"] * 0.5 + 1,
            )
            _, h = static.nn.while_loop(
                lambda j, h: j < i, lambda j, h: [j + 1, h + x * 0.1], [paddle.zeros([1], "int64"), h]
            )
            return [i + 1, {"h": h}]

        first = [paddle.zeros([], "int64"), {"h": x.tanh()}]
        i, state = static.nn.while_loop(lambda i, _: i < n, turn, first)
        way = static.nn.switch_case(n % 3, {0: lambda: x, 1: lambda: x * 2, 2: lambda: x - 1})
        return state["h"], i, way, static.nn.case([(n > 3, lambda: x + 1), (n > 1, lambda: x)], lambda: -x)


def python_loop(net: Any, x: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same in NumPy."""
    weight, bias = net.a.weight.numpy(), net.a.bias.numpy()
    h = np.tanh(x)
    for i in range(n):
        h = h @ weight + bias if h.sum() > 0 else h * 0.5 + 1
        h = h + i * 0.1 * x
    return h, [x, x * 2, x - 1][n % 3], x + 1 if n > 3 else x if n > 1 else -x


def test_a_file_holds_loops_for_any_rounds_and_batch_and_trains(tmp_path: Path) -> None:
    net: Any = Nested()
    save(net, tmp_path / "net", [InputSpec([None, 4]), InputSpec([], "int64")])
    read: Any = load(tmp_path / "net")
    kinds = [type(call.function) for call in flow_calls(read.program())]
    assert kinds.count(Loop) == 2 and kinds.count(Choose) >= 4
    rng = np.random.default_rng(0)
    for rows, rounds in ((1, 0), (3, 1), (7, 5)):
        x, n = rng.standard_normal((rows, 4)).astype("float32"), paddle.to_tensor(rounds, dtype="int64")
        with paddle.no_grad():
            found = read(paddle.to_tensor(x), n)
        assert int(found[1]) == rounds
        for got, wanted in zip((found[0], found[2], found[3]), python_loop(net, x, rounds), strict=True):
            assert np.allclose(got.numpy(), wanted, atol=1e-5)
        gradients: list[Any] = []
        for layer in (net, read):
            t: Any = paddle.to_tensor(x, stop_gradient=False)
            h, _, way, last = layer(t, n)
            (h.sum() + way.sum() + last.mean()).backward()
            gradients.append(t.grad.numpy())
        assert np.allclose(gradients[0], gradients[1], atol=1e-5)


def test_a_layer_with_loops_from_a_file_is_recorded_again() -> None:
    read: Any = layer_of(Nested().forward, InputSpec([None, 4], name="x"), InputSpec([], "int64", "n"))
    again: Any = layer_of(read.forward, *read._input_spec)
    kinds = [[type(c.function) for c in flow_calls(layer.program())] for layer in (read, again)]
    assert kinds[0] == kinds[1] and again.forward.loaded.takes == {"x": Ref("x", 0), "n": Ref("x", 1)}
    x, n = paddle.randn([3, 4]), paddle.to_tensor(3)
    with paddle.no_grad():
        assert np.allclose(again(x=x, n=n)[0].numpy(), read(x, n)[0].numpy(), atol=1e-6)


def grows(x: Any) -> Any:
    return static.nn.while_loop(lambda x: x.sum() < 9, lambda x: paddle.concat([x, x]), [x * 1])[0]


def widens(x: Any) -> Any:
    return static.nn.while_loop(lambda x: x.sum() < 9, lambda x: x.astype("float64"), [x * 1])[0]


def collects(x: Any) -> Any:
    held = []

    def turn(x: Any) -> Any:
        held.append(x)
        return x + 1

    static.nn.while_loop(lambda x: x.sum() < 9, turn, [x * 1])
    return paddle.stack(held)


def reads(x: Any) -> Any:
    return static.nn.while_loop(lambda x: x.sum() < 9, lambda x: x * float(x.max()), [x * 1])[0]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (grows, r"test_control_flow\.py:\d+: while_loop: variable 0: its shape changes from \[3\] to \[6\]"),
        (widens, r"variable 0: its dtype changes from paddle.float32 to paddle.float64"),
        (collects, r"test_control_flow\.py:\d+: a value of a loop or branch is read behind it"),
        (reads, r"test_control_flow\.py:\d+: item\(\) of a Tensor decides what is computed in a loop"),
    ],
)
def test_loops_that_no_file_holds_are_refused_with_their_line(
    function: Any, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        save(function, tmp_path / "f", [InputSpec([3])])
    assert list(tmp_path.iterdir()) == []


def test_a_loop_that_ends_for_some_inputs_is_checked_with_those(tmp_path: Path) -> None:
    def doubled(x: Any) -> Any:
        return static.nn.while_loop(lambda x: x.sum() < 100, lambda x: x * 2, [x * 1])[0]

    save(doubled, tmp_path / "f", [InputSpec([3])])
    read = load(tmp_path / "f")
    with paddle.no_grad():
        assert read(paddle.to_tensor([1.0, 2.0, 3.0])).tolist() == [32.0, 64.0, 96.0]


def test_ways_of_other_shapes_become_programs_of_their_own() -> None:
    def either(x: Any) -> Any:
        return static.nn.cond(x.sum() > 0, lambda: x, lambda: [x.sum(), 3])

    read = layer_of(either, InputSpec([3]))
    with paddle.no_grad():
        assert read(paddle.ones([3])).tolist() == [1, 1, 1] and read(-paddle.ones([3]))[1] == 3


def test_damaged_parts_are_refused() -> None:
    x0, x1 = Ref("x", 0), Ref("x", 1)
    part = Part(Program([], (x0,)), 2)
    loop = {"call": "while_loop", "args": [{"tuple": ["%x0"]}, {"tuple": ["%x1"]}]}
    whole = {"steps": [], "result": {"tuple": ["%x0"]}}
    entry: dict[str, Any] = {**loop, "result": {"tuple": ["%v0"]}, "parts": [whole, whole]}
    read = program_from_json({"steps": [entry], "result": "%v0"})
    (call,) = read.calls
    assert call.function == Loop((part, part)) and call.args == ((x0,), (x1,))
    assert json.loads(json.dumps(program_to_json(read)))["steps"][0]["parts"] == [whole, whole]
    for change, message in (
        ({"call": "exp"}, "'exp' has no parts"),
        ({"parts": [whole]}, "its parts do not give"),
        ({"result": {"tuple": ["%v0", "%v1"]}}, "its parts do not give"),
        ({"parts": [whole, {"steps": [], "result": {"tuple": ["%x2"]}}]}, "a part reads x2"),
        ({"parts": [whole, {"steps": [], "result": {"tuple": ["%p0"]}}]}, "a part reads p0"),
    ):
        with pytest.raises(ValueError, match=message):
            program_from_json({"steps": [{**entry, **change}], "result": "%v0"})


def test_rounds_can_be_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    one = paddle.ones([1]).data
    loop = Loop((Part(Program([], (Ref("x", 0),)), 1), Part(Program([], (Ref("x", 0),)), 1)))
    monkeypatch.setattr("sampan.jit.control_flow.most_rounds", 5)
    with pytest.raises(Endless, match="more than 5 rounds"):
        loop((one,), ())
    assert loop((one * 0,), ())[0].item() == 0
