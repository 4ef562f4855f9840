import numpy as np
import pytest

import sampan as paddle
from sampan.graph.drawing import child, draw, host, start, weighed, whole


def test_a_seed_decides_and_else_the_generator_of_paddle_seed() -> None:
    assert start(5) == start(np.int64(5)) == 5
    assert start(-1) == 2**64 - 1
    paddle.seed(3)
    first = start(None), start(None)
    paddle.seed(3)
    assert first == (start(None), start(None))
    assert first[0] != first[1]
    assert child(0, 1) != child(1, 0)


def test_host_copies_only_what_it_must() -> None:
    array = np.arange(4)
    assert host(array) is array
    assert host(paddle.to_tensor(array)[::2]).tolist() == [0, 2]
    assert host([1, 2]).tolist() == [1, 2]


def test_wrong_numbers() -> None:
    assert whole(np.int32(3), 0, "f") == 3
    for wrong in (1.5, True, "1", None):
        with pytest.raises(TypeError, match=r"f: a number, got "):
            whole(wrong, 0, "f: a number")
    with pytest.raises(ValueError, match=r"f: a number, got -2"):
        whole(-2, -1, "f: a number")
    with pytest.raises(ValueError, match="expected one for each of 3 edges, got 2"):
        weighed([1.0, 2.0], 3, "f")
    with pytest.raises(TypeError, match="expected numbers"):
        weighed(["a"], 1, "f")
    assert weighed([1, 2], 2, "f").dtype == np.float64


def test_a_draw_names_the_function_of_a_wrong_weight() -> None:
    rows = np.zeros(1, np.int64), np.full(1, 2)
    weights = np.array([1.0, -1.0]), np.empty(0, np.int32)
    with pytest.raises(ValueError, match="g: expected finite weights of at least 0"):
        draw(rows, 1, np.arange(2), weights, False, 0, 0, np.int64, "g")
    counts = draw(rows, 5, np.arange(2), None, True, 0, 0, np.int64, "g")[3]
    assert counts.tolist() == [5]
