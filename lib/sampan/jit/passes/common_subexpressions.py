"""What is computed twice is computed once."""

from __future__ import annotations

from ..program import Call, Ref, mapped, refs
from .rewriting import Rewriting, pure


def merge_equal_calls(rewriting: Rewriting) -> None:
    """The second of two equal calls takes the first one's result.

    Not where the Program writes to memory, nor for a result that is returned: it must have memory of its own.
    """
    if rewriting.written():
        return
    returned = set(refs(rewriting.result))
    seen: dict[str, list[Call]] = {}
    names: dict[Ref, Ref] = {}
    for call in list(rewriting.calls):
        if names:
            call = _renamed(rewriting, call, names)
        if not pure(call) or not isinstance(call.result, Ref) or call.result in returned:
            continue
        others = seen.setdefault(call.name, [])
        twin = next((other for other in others if _equal(call, other)), None)
        if twin is None:
            others.append(call)
        else:
            names[call.result] = twin.result
            rewriting.remove(call)
    rewriting.rename(names)


def _renamed(rewriting: Rewriting, call: Call, names: dict[Ref, Ref]) -> Call:
    def new(leaf: object) -> object:
        return names.get(leaf, leaf) if isinstance(leaf, Ref) else leaf

    changed = Call(**{**vars(call), "args": mapped(call.args, new), "settings": mapped(call.settings, new)})
    rewriting.put(call, changed)
    return changed


def _equal(one: Call, other: Call) -> bool:
    return one.same(Call(**{**vars(other), "result": one.result}))
