"""Operators in int8 take the activation behind them, and hand integers to the next one.

relu is applied before a value leaves the register. Where only operators in int8 of one scale read a value,
the one that makes it rounds it for them: it stays in 8 bits in memory. Jacob et al. 2018, section 2.4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..program import Call, Ref, refs
from .rewriting import Rewriting

_PLACES = {"int8_linear": 5, "int8_conv2d": 9}  # arguments before the settings that this pass adds


def fuse_int8(rewriting: Rewriting) -> None:
    """Join each operator in int8 with the relu or relu6 that alone reads its result, and with the next
    rounding."""
    for call in list(rewriting.calls):
        if _plain(call):
            _round_for_readers(rewriting, _with_activation(rewriting, call))


def _plain(call: Call) -> bool:
    return len(call.args) == _PLACES.get(call.name) and not call.settings


def _with_activation(rewriting: Rewriting, call: Call) -> Call:
    """The call and the relu or relu6 behind it as one; the call where there is none."""
    reading = _readers(rewriting, call.result)
    if len(reading) != 1 or reading[0].name not in ("relu", "relu6") or rewriting.readers()[call.result] != 1:
        return call
    joined = replace(call, settings={"activation": reading[0].name}, result=reading[0].result)
    rewriting.remove(call)
    rewriting.put(reading[0], joined)
    return joined


def _round_for_readers(rewriting: Rewriting, call: Call) -> None:
    reading = _readers(rewriting, call.result)
    if not reading or call.result in refs(rewriting.result):
        return
    scales = [_scale(rewriting, reader, call.result) for reader in reading]
    if scales[0] is None or any(s is None or s.item() != scales[0].item() for s in scales):
        return
    call.settings = {**call.settings, "out_scale": reading[0].args[3]}


def _scale(rewriting: Rewriting, reader: Call, ref: Ref) -> Any:
    """The known scale by which an operator in int8 rounds this value, which is its input and nothing else."""
    others = [*refs(reader.args[1:]), *refs(reader.settings)]
    if len(reader.args) != _PLACES.get(reader.name) or reader.args[0] != ref or ref in others:
        return None
    return rewriting.frozen.get(reader.args[3]) if isinstance(reader.args[3], Ref) else None


def _readers(rewriting: Rewriting, ref: Ref) -> list[Call]:
    return [c for c in rewriting.calls if ref in (*refs(c.args), *refs(c.settings), *c.writes)]
