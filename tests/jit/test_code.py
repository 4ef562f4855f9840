"""Programs as Python functions."""

from typing import Any

import pytest
import torch

from sampan.jit.code import Branch, Source, Unseen, forward_source
from sampan.jit.program import Call, Guard, Program, Ref

X, V0, V1, V2 = Ref("x", 0), Ref("v", 0), Ref("v", 1), Ref("v", 2)


def add(result: Ref, *args: Any, **facts: Any) -> Call:
    return Call(torch.add, "add", args, {}, result, **facts)


def is_positive(buffer: torch.Tensor) -> bool:
    return bool(buffer.sum() > 0)


def guard(outcome: bool) -> Guard:
    return Guard(is_positive, "is_positive", (V0,), outcome)


def test_values_are_freed_after_their_last_use() -> None:
    branch = Branch()
    assert branch.add(Program([add(V0, X, 1), add(V1, V0, X), add(V2, V1, V1)]), 0, (V2,))
    source = forward_source(branch, 1, 0, 0)
    assert source.lines == [
        "def program(x0):", "    v0 = add(x0, 1)", "    v1 = add(v0, x0)", "    del v0", "    v2 = add(v1, v1)",
        "    del v1", "    return 0, (v2,), ()",
    ]  # fmt: skip  # a table
    number, (value,), kept = source.compiled("test")(torch.ones(2))
    assert (number, kept, value.tolist()) == (0, (), [6, 6])


def test_branches_join_at_their_guards() -> None:
    branch = Branch()
    assert branch.add(Program([add(V0, X, 1), guard(True), add(V1, V0, 10)]), 0, (V1,))
    assert branch.add(Program([add(V0, X, 1), guard(False), add(V1, V0, 20)]), 1, (V1,))
    program = forward_source(branch, 1, 0, 0).compiled("test")
    assert program(torch.ones(1))[:1] == (0,) and program(torch.ones(1))[1][0].item() == 12
    assert program(-torch.ones(1) * 5)[1][0].item() == 16
    other = Branch()
    assert other.add(Program([add(V0, X, 1), guard(True)]), 0, (V0,))
    with pytest.raises(Unseen):
        forward_source(other, 1, 0, 0).compiled("test")(-torch.ones(1) * 5)


def test_a_run_that_differs_before_a_guard_does_not_join() -> None:
    branch = Branch()
    assert branch.add(Program([add(V0, X, 1), guard(True)]), 0, (V0,))
    assert not branch.add(Program([add(V0, X, 2), guard(False)]), 1, (V0,))
    assert not branch.add(Program([add(V0, X, 1)]), 1, (V0,))
    assert not branch.add(Program([add(V0, X, 1), guard(True)]), 1, (V0,))


def test_calls_without_use_are_dropped_but_not_those_with_effects() -> None:
    branch = Branch()
    drawn, written = add(V1, X, 2, random=True), add(V2, X, 3, writes=(X,))
    branch.add(Program([add(V0, X, 1), drawn, written]), 0, ())
    assert branch.pruned()[0].calls == [drawn, written]


def test_settings_are_written_out_or_named() -> None:
    source, thing = Source(), object()
    values = [
        None,
        True,
        3,
        "a'b",
        2.5,
        float("inf"),
        torch.float32,
        (1,),
        [X],
        slice(0, None),
        ...,
        {"a": 1},
        thing,
    ]
    texts = [source.text(value) for value in values]
    for text, value in zip(texts, values, strict=True):
        if value is not values[8]:
            assert eval(text, source.names) == value
    assert texts[8] == "[x0]" and texts[12] == source.text(thing)


def test_results_of_several_values() -> None:
    call = Call(torch.split, "split", (X, 1), {}, (V0, V1))
    program = forward_source(Branch([call], outputs=(V1, V0), number=0), 1, 0, 0).compiled("test")
    assert [v.item() for v in program(torch.tensor([1.0, 2.0]))[1]] == [2, 1]
