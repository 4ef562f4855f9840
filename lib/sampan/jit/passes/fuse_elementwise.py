"""Elementwise calls whose intermediate values no other call reads become one loop over memory.

`gelu(layer_norm(x + y))` costs torch three passes over memory and two results that are thrown away; as one
generated loop (loops/chain.py) it costs one. What a call computes is a line in loops/formulas.py. The loop
runs where it is faster, which a measurement at the first call decides.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from ..code import Branch, forward_source, read_by
from ..loops.chain import Chain, Step
from ..loops.formulas import FORMULAS, number
from ..program import Call, Ref, mapped, refs
from .rewriting import Rewriting, pure

MOST_CALLS, MOST_INPUTS = 32, 12  # of a chain
_KINDS = {torch.float32: "f", torch.bool: "b"}


def fuse_elementwise(rewriting: Rewriting) -> None:
    """Join elementwise calls of float32 on the CPU, and at most one layer_norm or softmax among them.

    A chain is a call and all calls before it whose values only the chain reads, of the same shape.
    """
    if rewriting.written():
        return
    readers = rewriting.readers()
    taken: set[int] = set()
    for root in list(reversed(rewriting.calls)):
        if id(root) in taken or not _fits(rewriting, root, readers):
            continue
        group = _group(rewriting, root, readers, taken)
        if len(group) < 2:
            continue
        taken.update(map(id, group))
        chain, inputs = _chain(rewriting, group)
        for call in group[:-1]:
            rewriting.remove(call)
        rewriting.put(root, Call(chain, "elementwise", tuple(inputs), {}, root.result, line=root.line))


def _group(rewriting: Rewriting, root: Call, readers: Counter[Ref], taken: set[int]) -> list[Call]:
    """The calls of a chain, in order, the root last."""
    place = next(i for i, call in enumerate(rewriting.calls) if call is root)
    group, reads = [root], Counter(read_by(root))
    shape = rewriting.shape(root.result)
    for call in reversed(rewriting.calls[:place]):
        made = call.result
        if not isinstance(made, Ref) or not reads[made] or reads[made] != readers[made] or id(call) in taken:
            continue
        if rewriting.shape(made) != shape or not _fits(rewriting, call, readers):
            continue
        if call.name in _ROWS and any(each.name in _ROWS for each in group):
            continue
        joined = reads + Counter(read_by(call))
        inside = {each.result for each in group} | {made}
        if len(group) < MOST_CALLS and len(joined.keys() - inside) <= MOST_INPUTS:
            group.insert(0, call)
            reads = joined
    return group


def _fits(rewriting: Rewriting, call: Call, readers: Counter[Ref]) -> bool:
    """Whether a chain may hold a call: its formula is known, and its dtypes are the formula's."""
    if not (pure(call) and isinstance(call.result, Ref)) or call.settings:
        return False
    if call.saved is not None and readers[call.saved]:
        return False
    if call.name in _ROWS:
        kinds = [_letter(rewriting, arg) for arg in (call.result, *refs(call.args))]
        return set(kinds) == {"f"} and _ROWS[call.name](rewriting, call.args) is not None
    formula = FORMULAS.get(call.name)
    if formula is None or len(call.args) < len(formula.takes):
        return False
    operands, settings = call.args[: len(formula.takes)], call.args[len(formula.takes) :]
    if not any(isinstance(arg, Ref) for arg in operands) or any(True for _ in refs(settings)):
        return False
    for wanted, arg in zip(formula.takes, operands, strict=True):
        if not (_letter(rewriting, arg) == wanted if isinstance(arg, Ref) else _is_number(arg, wanted)):
            return False
    return _letter(rewriting, call.result) == formula.gives and formula.text(*operands, *settings) is not None


def _is_number(value: Any, wanted: str) -> bool:
    return wanted == "f" and type(value) in (int, float)


def _letter(rewriting: Rewriting, ref: Any) -> str:
    """What a value is for a formula; "" for another dtype, another device, or if it is not known."""
    form = rewriting.form(ref)
    return _KINDS.get(form.dtype, "") if form is not None and form.cpu else ""


def _norm(rewriting: Rewriting, args: tuple[Any, ...]) -> Any:
    """The arguments of a layer_norm: x, weight, bias, epsilon."""
    return args if len(args) == 4 and isinstance(args[0], Ref) and type(args[3]) in (int, float) else None


def _softmax(rewriting: Rewriting, args: tuple[Any, ...]) -> Any:
    """The arguments of a softmax along the last axis, which keeps the dtype."""
    x, axis, *rest = (*args, -1)[: max(len(args), 2)]
    last = isinstance(x, Ref) and axis in (-1, len(rewriting.shape(x) or ()) - 1)
    return (x,) if last and rest in ([], [None], [None, None]) else None


_ROWS = {"normalize_layer": _norm, "softmax": _softmax}


def _chain(rewriting: Rewriting, group: list[Call]) -> tuple[Chain, list[Ref]]:
    """The Chain of a group, and the values that it is given."""
    made = {call.result: f"v{i}" for i, call in enumerate(group)}
    inputs = [ref for ref in dict.fromkeys(r for call in group for r in read_by(call)) if ref not in made]
    names = made | {ref: f"x{i}" for i, ref in enumerate(inputs)}
    steps = [_step(rewriting, call, names) for call in group]

    def given(leaf: Any) -> Any:
        return Ref("x", inputs.index(leaf)) if isinstance(leaf, Ref) and leaf in inputs else leaf

    calls = [Call(**{**vars(call), "args": mapped(call.args, given)}) for call in group]
    branch = Branch(calls, outputs=(group[-1].result,), number=0)
    function = forward_source(branch, len(inputs), 0, 0).compiled("elementwise")

    def by_torch(*buffers: torch.Tensor) -> torch.Tensor:
        value: torch.Tensor = function(*buffers)[1][0]
        return value

    letters = "".join(_letter(rewriting, ref) for ref in inputs)
    return Chain(letters, _letter(rewriting, group[-1].result), steps, by_torch), inputs


def _step(rewriting: Rewriting, call: Call, names: dict[Ref, str]) -> Step:
    name, reads = names[call.result], tuple(names[ref] for ref in dict.fromkeys(read_by(call)))
    if call.name == "softmax":
        return Step(name, "out[i] * scale", reads, "exponentials", reads[0])
    if call.name == "normalize_layer":
        x, weight, bias, epsilon = call.args
        text = f"({names[x]} - mean) * scale"
        text = text if weight is None else f"{text} * {names[weight]}"
        text = text if bias is None else f"{text} + {names[bias]}"
        return Step(name, text, reads, "moments", names[x], float(epsilon))
    formula = FORMULAS[call.name]
    count = len(formula.takes)
    operands = [names[arg] if isinstance(arg, Ref) else number(arg) for arg in call.args[:count]]
    text_of = formula.text(*operands, *call.args[count:])
    assert text_of is not None
    return Step(name, text_of, reads)
