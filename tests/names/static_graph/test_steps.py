"""Which steps of a Program are needed, and how they evaluate."""

from typing import Any

import sampan as paddle
from sampan import nn, static
from sampan.names.static_graph.steps import evaluated, needed


def test_what_is_not_needed_is_not_run() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [None, 4])
        y = nn.functional.relu(nn.Linear(4, 8)(x))
        (x * 3).exp()
    assert [call.name for call in needed(main.steps, [main.ref(y)])] == ["affine", "relu"]


def test_what_a_branch_reads_is_needed() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [4])
        shift, unused = x.exp(), x.tanh()
        y = static.nn.cond(x.sum() > 0, lambda: x + shift, lambda: x)
    kept = needed(main.steps, [main.ref(y)])
    names = [getattr(step, "name", type(step).__name__) for step in kept]
    assert "exp" in names and "tanh" not in names and names[-1] == "cond"
    assert main.ref(unused) is not None and paddle.in_dynamic_mode() is False


def test_statistics_are_read_and_not_moved() -> None:
    main = static.Program()
    with static.program_guard(main):
        x: Any = static.data("x", [None, 3, 4, 4])
        nn.BatchNorm2D(3)(x)
    (before,) = [step for step in main.steps if step.name == "normalize_batch"]
    (after,) = [step for step in evaluated(main.steps) if step.name == "normalize_batch"]
    assert before.args[5] is True and before.writes and after.args[5] is False and after.writes == ()
