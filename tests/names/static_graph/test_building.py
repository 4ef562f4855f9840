"""Programs that are built by calling operators on variables."""

from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import static
from sampan.names.static_graph.building import Program, needed

Tensor: Any = paddle.Tensor


def built() -> tuple[Program, Any, Any]:
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x: Any = static.data("x", [None, 4])
        y = paddle.nn.functional.relu(paddle.nn.Linear(4, 8)(x))
    return main, x, y


def test_shapes_have_minus_one_where_they_follow_an_input() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [None, 3, -1])
        assert x.shape == [-1, 3, -1] and (x * 2).shape == [-1, 3, -1]
        assert x.sum(0).shape == [3, -1] and x.flatten(1).shape == [-1, -1]
        assert paddle.concat([x, x], 0).shape == [-1, 3, -1] and paddle.zeros([2]).shape == [2]


def test_calls_go_to_the_program_of_the_guard() -> None:
    main, x, _ = built()
    assert [call.name for call in main.ops][-2:] == ["affine", "relu"]
    assert (
        len(main.all_parameters()) == 2 and main.var("x") is x and main.has_var("x") and not main.has_var("z")
    )
    assert main.global_block().ops == main.ops and main.num_blocks == 1 and "affine" in str(main)
    assert static.default_main_program() is not main
    with pytest.raises(ValueError, match="no variable 'z'"):
        main.var("z")


def test_constants_are_outside_and_numbers_follow_the_batch() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [None, 4])
        y = x + paddle.ones([4])
        z = paddle.zeros([y.shape[0], 2]) if y.shape[0] != -1 else y.reshape([y.shape[0], 2, 2])
    assert [call.name for call in main.ops] == ["add", "reshape"]
    assert z.shape == [-1, 2, 2]


def test_what_is_not_needed_is_not_run() -> None:
    main, x, y = built()
    with static.program_guard(main):
        (x * 3).exp()
    assert [call.name for call in needed(main.steps, [main.ref(y)])] == ["affine", "relu"]


def test_a_value_cannot_be_read_while_building() -> None:
    main, _, y = built()
    with static.program_guard(main):
        for read in (lambda: bool(y.sum() > 0), lambda: float(y.sum()), y.numpy, y.tolist):
            with pytest.raises(ValueError, match="has no value before a Program runs"):
                read()
        assert np.asarray(main.all_parameters()[0].numpy()).shape == (4, 8)


def test_bad_input() -> None:
    main, _, _ = built()
    with pytest.raises(TypeError, match="expected a Program"), static.program_guard(3):
        pass
    with static.program_guard(main), pytest.raises(ValueError, match="'x' is declared already"):
        static.data("x", [2])
    with pytest.raises(ValueError, match="is no variable of this Program"):
        main.ref("nothing")
    paddle.disable_static()
    with pytest.raises(RuntimeError, match="static mode is off"):
        static.data("q", [2])
    assert paddle.in_dynamic_mode() and (paddle.ones([2]) + 1).tolist() == [2, 2]
