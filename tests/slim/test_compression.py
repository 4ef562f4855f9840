"""Networks within a budget."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import nn, slim


def network() -> tuple[Any, Any, Any]:
    """A network that sorts pictures by the side that is brighter, its inputs, and its score."""
    paddle.seed(5)
    net = nn.Sequential(
        nn.Conv2D(1, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 16), nn.ReLU(), nn.Linear(16, 2)
    )
    x = paddle.randn([256, 1, 8, 8])
    label = (x[:, :, :, :4].sum([1, 2, 3]) > x[:, :, :, 4:].sum([1, 2, 3])).astype("int64")

    def train(model: Any) -> None:
        adam = paddle.optimizer.Adam(0.005, parameters=model.parameters())
        for _ in range(25):
            nn.functional.cross_entropy(model(x), label).backward()
            adam.step()
            adam.clear_grad()

    def score(model: Any) -> float:
        return float((model(x).argmax(1) == label).astype("float32").mean())

    train(net)
    return net, x, (score, train)


def test_int8_keeps_the_score_and_names_the_layers_that_stay() -> None:
    net, x, (score, _) = network()
    found = slim.compress(net, [x[:64], x[64:128]], "int8", score, slower=1e9, tolerance=0.02)
    before, after = found.rows
    assert before.score > 0.9 and after.score > before.score - 0.02 and after.bytes < 0.35 * before.bytes
    assert found.notes == [] and found.model[0].weight.dtype == paddle.int8
    assert "| int8 |" in str(found) and net[0].weight.dtype == paddle.float32
    slow = slim.compress(net, [x[:64]], "int8", score, slower=0.0)
    assert [note.split()[0] for note in slow.notes] == ["0", "3", "5"] and "of the time" in slow.notes[0]
    np.testing.assert_array_equal(slow.model(x).numpy(), net(x).numpy())

    def hurt(model: Any) -> float:
        return score(model) - 0.5 * (type(dict(model.named_sublayers())["3"]).__name__ == "QuantedLinear")

    hurts = slim.compress(net, [x[:64]], "int8", hurt, slower=1e9, tolerance=0.02)
    assert [note.split(":")[0] for note in hurts.notes] == ["3 stays in float32"]
    assert hurts.model[0].weight.dtype == paddle.int8 and hurts.model[3].weight.dtype == paddle.float32


def test_a_share_and_bytes_by_fewer_filters() -> None:
    net, x, (score, train) = network()
    half = slim.compress(net, [x[:64]], "50%", score, train)
    assert half.rows[1].bytes <= 0.5 * half.rows[0].bytes < 1.6 * half.rows[1].bytes
    assert half.rows[1].score > 0.9 and half.notes == [
        "5 keeps its filters: they reach the result or a call without a rule"
    ]
    small = slim.compress(net, [x[:64]], 3000, score)
    assert small.rows[1].bytes <= 3000
    with pytest.raises(ValueError, match="budget: 10 bytes cannot be met, the least is"):
        slim.compress(net, [x[:64]], 10, score)


def test_what_does_not_fit_is_refused() -> None:
    net, x, (score, _) = network()
    for bad in ("int7", "0%", "120%", -5, True, 0.5):
        with pytest.raises(ValueError, match="budget: expected 'int8'"):
            slim.compress(net, [x], bad, score)  # type: ignore[arg-type]  # a float is one of the cases
    with pytest.raises(ValueError, match="data: expected a list of at least one Tensor"):
        slim.compress(net, [], "int8", score)
    with pytest.raises(ValueError, match="evaluate: expected a function"):
        slim.compress(net, [x], "int8")
    with pytest.raises(ValueError, match="Linear or Conv2D layers, got none"):
        slim.compress(nn.Sequential(nn.ReLU()), [x], "int8", lambda model: 1.0)
