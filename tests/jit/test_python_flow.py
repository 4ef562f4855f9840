"""Python's loops and branches over a Tensor's value in Programs, against the functions themselves."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn
from sampan.jit import InputSpec, load, save, to_static
from sampan.jit.control_flow import flow_calls
from sampan.jit.record import Refused

from .unsaved import layer_of


def halved(x: Any) -> Any:
    """A function that the layer calls, with a branch over a size, which is Python's."""
    if x.shape[1] > 2:
        x = x + 1
    return x / 2


class Inner(nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.__k = nn.Linear(4, 4), 3

    def forward(self, h: Any, flip: bool = False) -> Any:
        if h.mean() > 0 and not flip:
            h = self.a(h)
            k = 1
        else:
            h, k = h - 0.5, self.__k
        return h * k


class Looped(nn.Layer):
    """Numbers that become Tensors, names that a loop makes, layers and functions in loops."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(Inner())

    def forward(self, x: Any, n: Any) -> Any:
        count, total, state = 0, 0.0, (x.sum(), {"k": x})
        while paddle.abs(x).sum() > 3 and count < 20:
            x = halved(x)
            count += 1
            y = x.sum()
            total = total + y
            state = (state[0] + 1, {"k": state[1]["k"] * 2})
            if x.max() > 1 or count == 2:
                x = x * 0.9
        h = x
        for i in range(1, n, 2):
            h = self.inner(h) + i
            for k in range(2):
                h = h + k
        for row in x:
            total = total + row[0]
        return h, (h if h.sum() > 0 else -h), count, total, state


def flat(value: Any) -> list[np.ndarray]:
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in flat(part)]
    return flat(list(value.values())) if isinstance(value, dict) else [np.asarray(value)]


@pytest.mark.servers  # `save` runs a fresh process
def test_a_layer_with_plain_loops_is_saved(tmp_path: Path) -> None:
    net: Any = Looped()
    net.eval()
    save(net, tmp_path / "net", [InputSpec([None, 4]), InputSpec([], "int64")])
    read: Any = load(tmp_path / "net")
    assert len(list(flow_calls(read.program()))) == 6 and "forward" not in vars(net.inner[0])
    rng = np.random.default_rng(1)
    for rows, n in ((1, 0), (3, 2), (6, 7)):
        x = paddle.to_tensor(3 * rng.standard_normal((rows, 4)).astype("float32"))
        with paddle.no_grad():
            pairs = zip(flat(read(x, paddle.to_tensor(n))), flat(net(x, paddle.to_tensor(n))), strict=True)
        for found, wanted in pairs:
            assert np.allclose(found, wanted, atol=1e-4)


def filled(x: Any, n: Any) -> Any:
    buffer = paddle.zeros([4])
    for i in range(n - 1, -1, -1):
        buffer[i] = x.sum() + i
    return buffer + 1


def clipped(x: Any, n: Any) -> Any:
    for i in range(n):
        x = x if i > 2 else x + (x.max() if not x.sum() > 4 else -x.min())
    return x


def late(x: Any, n: Any) -> Any:
    done = False
    while not done:
        x = x + 1
        done = x.sum() > n
    return x


@to_static
def decayed(x: Any) -> Any:
    while x.abs().sum() > 3:
        x = x / 2
    return x


def calls(x: Any, n: Any) -> Any:
    return decayed(x + n * 3) + 1


def breaks(x: Any, n: Any) -> Any:
    while True:
        x = x * 2
        if x.sum() > 100 + n:
            break
    return x


def returns(x: Any, n: Any) -> Any:
    for i in range(n):
        x = x * 2
        if i > x.sum():
            return x
        for k in range(40):
            if k > n:
                break
            x = x + k
    return x + 1


def found(x: Any, n: Any) -> Any:
    for row in paddle.stack([x, x + 1, x - 1]):
        if row.sum() < 0:
            continue
        if row.sum() > n:
            return row
    else:
        return x * 2


@pytest.mark.parametrize("function", [filled, clipped, late, calls, breaks, returns, found])
def test_loops_answer_as_python_does(function: Any) -> None:
    layer = layer_of(function, InputSpec([4]), InputSpec([], "int64"))
    with paddle.no_grad():
        for n in (0, 1, 4):
            x = paddle.to_tensor([0.5, -1.0, 2.0, 0.0])
            n_rounds = paddle.to_tensor(n, dtype="int64")
            assert np.allclose(layer(x, n_rounds).numpy(), function(x, n_rounds).numpy(), atol=1e-6)


def appends(x: Any) -> Any:
    found = []
    while x.sum() < 10:
        found.append(x)
        x = x + 1
    return paddle.stack(found)


def unbound(x: Any) -> Any:
    while x.sum() < 10:
        y = x + 1
        x = y * 2
    return y


def grows(x: Any) -> Any:
    total = 0
    while x.sum() < 10:
        total = total + x
        x = x + 1
    return total


def retyped(x: Any) -> Any:
    kind: Any = "a"
    while x.sum() < 10:
        kind = x
        x = x + 1
    return kind


def shrinks(x: Any) -> Any:
    while x.sum() < 10:
        if x.max() > 1:
            x = x[:1]
        else:
            x = x + 1
    return x


def steps(x: Any) -> Any:
    for _ in range(0, 10, x.sum().astype("int64")):
        x = x + 1
    return x


@pytest.mark.parametrize(
    ("function", "line", "message"),
    [
        (appends, 2, r"more than 16 ways .* `found.append\(x\)` is there for its effect; write a loop with"),
        (unbound, None, "'y' .* needs one before it"),
        (grows, 2, r"'total' is a number before the loop, a Tensor of shape \[3\] after a round; begin with"),
        (retyped, 2, "'kind' is str before the loop, Tensor after a round"),
        (shrinks, 2, r"cond: result 0: its shape changes from \[1\] to \[3\]"),
        (steps, 1, "range: expected a number other than 0 as step"),
    ],
)
def test_what_is_refused_names_the_line_and_the_way_out(function: Any, line: Any, message: str) -> None:
    place = "" if line is None else rf"^test_python_flow\.py:{function.__code__.co_firstlineno + line}: "
    with pytest.raises(Refused, match=f"{place}.*{message}"):
        layer_of(function, InputSpec([3]))


def test_a_branch_whose_ways_differ_is_two_programs() -> None:
    def either(x: Any) -> Any:
        if x.sum() > 0:
            result = x
        else:
            result = None
        return result

    layer = layer_of(either, InputSpec([3]))
    with paddle.no_grad():
        assert layer(paddle.ones([3])).tolist() == [1, 1, 1] and layer(-paddle.ones([3])) is None
