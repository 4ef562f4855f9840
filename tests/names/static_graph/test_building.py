"""Programs that are built by calling operators on variables."""

from typing import Any

import pytest

import sampan as paddle
from sampan import static
from sampan.names.static_graph.building import Program

Tensor: Any = paddle.Tensor


def built() -> tuple[Program, Any, Any]:
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x: Any = static.data("x", [None, 4])
        y = paddle.nn.functional.relu(paddle.nn.Linear(4, 8)(x))
    return main, x, y


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


def test_bad_input() -> None:
    main, _, _ = built()
    with pytest.raises(TypeError, match="expected a Program"), static.program_guard(3):
        pass
    with static.program_guard(main), pytest.raises(ValueError, match="'x' is declared already"):
        static.data("x", [2])
    with pytest.raises(ValueError, match="does not belong to this Program"):
        main.ref("nothing")
    paddle.disable_static()
    with pytest.raises(RuntimeError, match="static mode is off"):
        static.data("q", [2])
    assert paddle.in_dynamic_mode() and (paddle.ones([2]) + 1).tolist() == [2, 2]
