"""Which arrays of a call share memory, found by writing.

Every tensor and NumPy array that goes into a call or comes out of it (and a Layer's parameters and buffers) is filled
in place, and all others are looked at. The answer is a text of relations: `0>a` says that the first input `a` changes
when the first result `0` is written, `a>0` the reverse, `0*3` that one entry of the result shows up as three of its
own. `0!` is an array that cannot be written. An empty text: no memory is shared.
"""

from __future__ import annotations

import re
import types
import warnings
from typing import Any

import numpy as np

from .perform import called
from .spec import Call
from .surface import area_of


def aliases(library: types.ModuleType, name: str, call: Call, grad: bool | None = None) -> str | None:
    """The relations of one call, None if the call raises. grad: as in the call when None.

    Sparse tensors are left out: their cases are made from arrays of the case table, which must not be written.
    """
    if area_of(name).startswith("paddle.sparse"):
        return None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            result, builder, layer = called(library, name, call, call.grad if grad is None else grad)
        except Exception:  # the table of answers has it
            return None
        given = _arrays(builder.arrays, library.Tensor)
        own = [] if layer is None else _arrays(list(layer.state_dict().values()), library.Tensor)
        made = _arrays(result, library.Tensor)
        named = {chr(97 + i): t for i, t in enumerate(given[:20])}
        named |= {f"w{i}": t for i, t in enumerate(own)}
        named |= {str(i): t for i, t in enumerate(made)}
        with library.no_grad():
            return " ".join(sorted(r for n in named for r in _relations(n, named)))


def differs(library: types.ModuleType, name: str, call: Call, theirs: str | None, both: bool = True) -> str:
    """How the relations differ from PaddlePaddle's, or nothing. both: inputs on the tape and without, not as in the call."""
    if theirs is None:
        return ""
    ways = (False, True) if both and call.program is None else (call.grad,)
    found = (aliases(library, name, call, grad) for grad in ways)
    return next((text for ours in found if ours is not None and (text := compare(theirs, ours))), "")


def compare(theirs: str, ours: str) -> str:
    """How two answers differ, or nothing; arrays that PaddlePaddle cannot write are ignored."""
    mute = {word[:-1] for word in theirs.split() if word.endswith("!")}

    def known(text: str) -> set[str]:
        return {r for r in text.split() if not set(re.split("[>*!]", r)) & mute}

    more, less = sorted(known(ours) - known(theirs)), sorted(known(theirs) - known(ours))
    return "; ".join(
        f"{what} {' '.join(found)}" for what, found in (("shares", more), ("does not share", less)) if found
    )


def _arrays(value: Any, tensor: type) -> list[Any]:
    """The dense arrays with entries in a nested value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _arrays(v, tensor)]
    if isinstance(value, np.ndarray):
        return [value] if value.size and value.dtype.kind in "biufc" else []
    if not isinstance(value, tensor) or not hasattr(value, "fill_") or value.is_sparse():
        return []
    return [value] if int(np.prod(value.shape)) else []


def _values(array: Any) -> np.ndarray:
    return np.array(array if isinstance(array, np.ndarray) else array.numpy())


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return one.tobytes() == other.tobytes()  # also where entries are NaN


def _fill(array: Any, value: int) -> None:
    if isinstance(array, np.ndarray):
        array[...] = value
    else:
        array.fill_(value)


def _relations(name: str, named: dict[str, Any]) -> list[str]:
    """The arrays that change when the array `name` is written."""
    array, result = named[name], name.isdigit()
    others = {n: t for n, t in named.items() if n != name and (result or n.isdigit())}
    try:
        _fill(array, 0)
        before = {n: _values(t) for n, t in others.items()}
        if result and array.ndim:
            array[(0,) * array.ndim] = 1
        count = int(np.count_nonzero(_values(array)))
        _fill(array, 1)
        changed = [n for n, was in before.items() if not _same(was, _values(others[n]))]
    except Exception:
        return [f"{name}!"]
    return [f"{name}>{n}" for n in changed] + [f"{name}*{count}"] * (count > 1)
