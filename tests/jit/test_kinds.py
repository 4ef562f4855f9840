"""What tells kinds of calls apart."""

from typing import Any

import torch

import sampan as paddle
from sampan import nn
from sampan.jit.kinds import Kind, attributes_of, casts, containers, content, describe


def key(*args: Any) -> list[Any] | None:
    tensors: list[Any] = []
    found: list[Any] = []
    return found if describe(args, tensors, found) else None


def test_arguments_that_decide() -> None:
    x = paddle.ones([2, 3])
    alike = [key(x, 1, "a", [None]), key(paddle.zeros([2, 3]), 1, "a", [None])]
    assert alike[0] == alike[1]
    others = [
        key(paddle.ones([3, 2]), 1, "a", [None]), key(x.astype("float64"), 1, "a", [None]), key(x, True, "a", [None]),
        key(x, 1.0, "a", [None]), key(x, 1, "b", [None]), key(x, 1, "a", (None,))
    ]  # fmt: skip  # a table
    assert all(other != alike[0] for other in others)
    assert key(float("nan")) == key(float("nan")) and key({"a": 1}) != key({"b": 1})
    assert key(object()) is None and key(torch.ones(1)) is None


def test_attributes_that_decide() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5))
    before = attributes_of(net)
    assert attributes_of(net) == before
    net.eval()
    assert attributes_of(net) != before
    net.train()
    assert attributes_of(net) == before
    net[1].p = 0.25
    assert attributes_of(net) != before


def test_observers_that_decide() -> None:
    assert casts() == ()
    with paddle.amp.auto_cast(dtype="bfloat16"):
        one = casts()
    with paddle.amp.auto_cast(dtype="float16"):
        assert one and casts() != one
    with paddle.trace():
        assert casts() is None


def test_containers_and_their_content() -> None:
    inner: list[Any] = [1]
    value = ([inner, {"a": inner}], 3)
    found = list(containers(value))
    assert len(found) == 4 and found[1] is inner
    before = [content(c) for c in found]
    inner.append(2)
    assert [content(c) for c in found] != before


def test_an_unused_kind_is_empty() -> None:
    kind = Kind()
    assert kind.current() == [] and kind.ends == [] and not kind.eager
