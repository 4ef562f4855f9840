"""Calls of known values only are run once, here."""

from __future__ import annotations

from typing import Any

import torch

from ..code import read_by
from ..program import Ref, leaves, mapped
from ..symbolic import Length
from .rewriting import Rewriting, pure


def fold_constants(rewriting: Rewriting) -> None:
    """`w.t()` of a frozen w, or `zeros([3])`, becomes a constant, unless something writes to it.

    A number that follows an input's size is not known.
    """
    known, written = rewriting.frozen, rewriting.written()
    names: dict[Ref, Ref] = {}
    for call in list(rewriting.calls):
        made = call.result
        free = not any(isinstance(leaf, Length) for leaf in leaves([call.args, call.settings]))
        reads = [names.get(ref, ref) for ref in read_by(call)]
        if not (free and pure(call) and isinstance(made, Ref) and made not in written):
            continue
        if any(ref not in known or ref in written for ref in reads):
            continue
        given = mapped([list(call.args), call.settings], lambda leaf: _value(leaf, names, known))
        value = call.function(*given[0], **given[1])
        names[made] = rewriting.constant(value[0] if call.saved is not None else value)
        rewriting.remove(call)
    rewriting.rename(names)


def _value(leaf: Any, names: dict[Ref, Ref], known: dict[Ref, torch.Tensor]) -> Any:
    return known[names.get(leaf, leaf)] if isinstance(leaf, Ref) else leaf
