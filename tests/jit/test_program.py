"""Values of Programs: walking, changing and comparing them."""

import torch

from sampan.jit.program import Call, Guard, Program, Ref, equal, mapped, refs

X, V = Ref("x", 0), Ref("v", 0)


def test_refs_and_mapped_go_through_lists_dictionaries_and_slices() -> None:
    value = {"a": [X, (V, 2)], "b": slice(X, None, V), "c": "x0"}
    assert list(refs(value)) == [X, V, X, V]
    changed = mapped(value, lambda leaf: repr(leaf) if isinstance(leaf, Ref) else leaf)
    assert changed == {"a": ["x0", ("v0", 2)], "b": slice("x0", None, "v0"), "c": "x0"}
    assert mapped(torch.Size([2, 3]), lambda leaf: leaf) == torch.Size([2, 3])


def test_equal_compares_numbers_by_value_and_objects_by_identity() -> None:
    nan, thing = float("nan"), object()
    assert equal([1, nan, "a", thing, slice(0, X)], [1, float("nan"), "a", thing, slice(0, X)])
    assert not equal(1, 1.0) and not equal(1, True) and not equal(object(), object())
    assert not equal(torch.ones(2), torch.ones(2)) and not equal([1], [1, 2])


def test_calls_and_guards_are_compared_and_printed() -> None:
    call = Call(torch.add, "add", (X, 1), {"alpha": 2}, V, line="a.py:1")
    assert call.same(Call(torch.add, "add", (X, 1), {"alpha": 2}, V, line="b.py:7"))
    assert not call.same(Call(torch.add, "add", (X, 2), {"alpha": 2}, V))
    guard = Guard(bool, "bool", (V,), True, "a.py:2")
    assert guard.same(Guard(bool, "bool", (V,), False)) and not guard.same(call)
    program = Program([call, guard], V)
    assert program.calls == [call] and program.guards == [guard]
    assert str(program) == (
        "v0 = add(x0, 1, alpha=2)  # a.py:1\nbool(v0) is True          # a.py:2\nreturn v0"
    )
