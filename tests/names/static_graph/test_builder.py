"""Calls on variables as they are recorded."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import static


def test_shapes_have_minus_one_where_they_follow_an_input() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [None, 3, -1])
        assert x.shape == [-1, 3, -1] and (x * 2).shape == [-1, 3, -1]
        assert x.sum(0).shape == [3, -1] and x.flatten(1).shape == [-1, -1]
        assert paddle.concat([x, x], 0).shape == [-1, 3, -1] and paddle.zeros([2]).shape == [2]


def test_a_program_in_a_folder_of_this_name_is_a_users() -> None:
    names: dict[str, Any] = {"static": static}
    text = "with static.program_guard(static.Program()):\n    shape = static.data('x', [None, 3]).shape"
    exec(compile(text, "/home/learner/sampan/train.py", "exec"), names)
    assert names["shape"] == [-1, 3]


def test_constants_are_outside_and_numbers_follow_the_batch() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [None, 4])
        y = x + paddle.ones([4])
        z = paddle.zeros([y.shape[0], 2]) if y.shape[0] != -1 else y.reshape([y.shape[0], 2, 2])
    assert [call.name for call in main.ops] == ["add", "reshape"]
    assert z.shape == [-1, 2, 2]


def test_a_value_cannot_be_read_while_building() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [None, 4])
        y: Any = paddle.nn.Linear(4, 8)(x)
    with static.program_guard(main):
        for read in (lambda: bool(y.sum() > 0), lambda: float(y.sum()), y.numpy, y.tolist):
            with pytest.raises(ValueError, match="has no value before a Program runs"):
                read()
        assert np.asarray(main.all_parameters()[0].numpy()).shape == (4, 8)
