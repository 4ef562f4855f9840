"""Copies that nothing writes to are not made."""

from __future__ import annotations

from ..program import Ref, refs
from .rewriting import Rewriting


def drop_copies(rewriting: Rewriting) -> None:
    """`assign(x)`, such as dropout leaves it in evaluation, becomes x.

    Not where the Program writes to memory at all, nor where the copy is returned: the caller may write to it.
    """
    if rewriting.written():
        return
    returned = set(refs(rewriting.result))
    names: dict[Ref, Ref] = {}
    for call in list(rewriting.calls):
        (source, *rest) = call.args or (None,)
        is_copy = call.name == "assign" and isinstance(source, Ref) and rest in ([], [None])
        if is_copy and call.result not in returned:
            names[call.result] = source
            rewriting.remove(call)
    rewriting.rename(names)
