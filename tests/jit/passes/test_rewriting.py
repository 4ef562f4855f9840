import torch

from sampan.jit.passes import PASSES
from sampan.jit.passes.rewriting import Rewriting, drop_dead, pure
from sampan.jit.program import Call, Program, Ref

X, P, V0, V1, V2 = Ref("x", 0), Ref("p", 0), Ref("v", 0), Ref("v", 1), Ref("v", 2)


def add(result: Ref, *args: object, **facts: object) -> Call:
    return Call(torch.add, "add", args, {}, result, **facts)  # type: ignore[arg-type]  # as given


def test_renaming_replacing_and_counting() -> None:
    rewriting = Rewriting(Program([add(V0, X, P), add(V1, V0, V0), add(V2, V1, 1)], V2), {P: torch.ones(1)})
    assert rewriting.readers()[V0] == 2 and rewriting.made_by()[V1].args == (V0, V0)
    rewriting.rename({V0: X, X: Ref("x", 1)})
    assert rewriting.calls[1].args == (Ref("x", 1), Ref("x", 1))
    assert rewriting.constant(torch.ones(2)) == Ref("k", 0) and rewriting.constant(torch.ones(2)) == Ref(
        "k", 1
    )
    rewriting.remove(rewriting.calls[2])
    rewriting.result = V1
    drop_dead(rewriting)
    assert [call.result for call in rewriting.calls] == [V1]


def test_pure_calls() -> None:
    assert pure(add(V0, X)) and not pure(add(V0, X, random=True)) and not pure(add(V0, X, writes=(X,)))


def test_passes_have_texts() -> None:
    assert all(function.__doc__ for function in PASSES.values())
