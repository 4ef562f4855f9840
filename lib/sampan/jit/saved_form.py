"""Programs as JSON: operators and functions of torch by name, so that a file can only call what is listed.

A Ref is written "%v3", and a text that begins with % with one % more. What JSON has no form for is a
dictionary of one key: {"tuple": [...]}, {"dtype": "float32"}, {"length": "..."}.
"""

from __future__ import annotations

import importlib
import math
from contextlib import suppress
from typing import Any

import torch

from ..dtype import as_dtype, name_of
from ..engine.errors import InvalidArgument
from ..engine.operator import Operator, operators
from .code import read_by
from .control_flow import FLOWS, Choose, Flow, Part
from .program import Call, Guard, Program, Ref, refs
from .symbolic import Axis, Length

_LIBRARY = __name__.partition(".")[0]
# Functions of torch outside operators that a file may name. They compute from what they are given alone.
_FUNCTIONS = (  # noqa: SIM905  # one text is shorter than a list of names
    "T __add__ __and__ __eq__ __ge__ __getitem__ __gt__ __invert__ __le__ __lt__ __matmul__ __mul__ "
    "__ne__ __neg__ __or__ __rsub__ __setitem__ __sub__ __truediv__ __xor__ abs add add_ all amax amin "
    "any arange argmax argmin as_strided bitwise_and bitwise_not bitwise_or bmm bool broadcast_to cat "
    "chunk clamp clone complex contiguous copy_ cos cumsum detach diagonal div div_ double empty "
    "empty_like eq exp expand expand_as eye fill_ flatten flip float floor full full_like gather ge gt "
    "half imag index_fill_ index_select int isfinite isinf isnan isneginf isposinf le linspace log "
    "logical_and logical_not logical_or logical_xor long lt mT masked_fill masked_fill_ masked_select "
    "matmul max maximum mean min minimum mm movedim mul mul_ narrow ne neg new_empty new_full new_ones "
    "new_zeros nonzero numel ones ones_like pad permute pow prod rand randn real reciprocal remainder "
    "repeat repeat_interleave reshape resolve_conj resolve_neg round rsqrt rsub scatter searchsorted "
    "select sigmoid sign sin softmax sort split sqrt squeeze stack std sub sub_ sum swapaxes t "
    "take_along_dim tanh tensor tile to topk transpose tril triu type_as unbind unflatten unfold unique "
    "unsqueeze var view view_as where zero_ zeros zeros_like "
).split()


def _functions() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in _FUNCTIONS:
        for place, prefix in ((torch, "torch."), (torch.Tensor, "Tensor.")):
            value = getattr(place, name, None)
            if value is not None:
                found[prefix + name] = getattr(value, "__get__", value) if not callable(value) else value
    return found


FUNCTIONS = _functions()


def name_of_call(call: Call) -> str:
    """The name under which a file has a call. InvalidArgument where it has none."""
    if call.operator is not None and operators.get(call.operator.name) is call.operator:
        return call.operator.name
    for name in (f"Tensor.{call.name}", f"torch.{call.name}"):
        known = FUNCTIONS.get(name)
        if known is not None and (known is call.function or known == call.function):
            return name
    raise InvalidArgument(
        f"{call.line}: {call.name} cannot be saved: no operator or listed function of torch"
    )


def encoded(value: Any) -> Any:
    """A value of a Program as JSON. InvalidArgument for one that has no form."""
    if isinstance(value, Ref):
        return f"%{value!r}"
    if isinstance(value, str):
        return f"%{value}" if value.startswith("%") else value
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, Length):
        axes = [[a.input, a.axis] for a in value.axes]
        return {"length": [value.numerator, value.denominator, axes, value.plus]}
    if isinstance(value, torch.dtype):
        return {"dtype": name_of(value)}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if isinstance(value, slice):
        return {"slice": [encoded(part) for part in (value.start, value.stop, value.step)]}
    if isinstance(value, tuple):
        return {"tuple": [encoded(part) for part in value]}
    if isinstance(value, list):
        return [encoded(part) for part in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {"dict": {key: encoded(part) for key, part in value.items()}}
    if isinstance(value, torch.memory_format | torch.layout):
        return {"torch": str(value).removeprefix("torch.")}
    raise InvalidArgument(f"{type(value).__name__} cannot be saved: expected Tensors, numbers, texts, lists")


_TORCH = {
    str(value).removeprefix("torch."): value
    for value in (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.strided)
}


def decoded(value: Any) -> Any:
    """The value behind its JSON. InvalidArgument for what `encoded` does not write."""
    if isinstance(value, str):
        if not value.startswith("%"):
            return value
        if value.startswith("%%"):
            return value[1:]
        if value[1:2] in ("x", "p", "k", "v") and value[2:].isdigit():
            return Ref(value[1], int(value[2:]))
        raise InvalidArgument(f"{value!r}: expected a value such as %v3")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, list):
        return [decoded(part) for part in value]
    if isinstance(value, dict) and len(value) == 1:
        ((kind, content),) = value.items()
        if kind in _FORMS:
            return _FORMS[kind](content)
    raise InvalidArgument(f"{value!r}: expected a value of a Program")


def _length(content: Any) -> Length:
    numerator, denominator, axes, plus = content
    if not all(isinstance(n, int) for n in (numerator, denominator, plus)) or denominator < 1:
        raise InvalidArgument(f"length: expected whole numbers, got {content!r}")
    return Length(numerator, denominator, tuple(Axis(int(i), int(a)) for i, a in axes), plus)


_FORMS: dict[str, Any] = {
    "float": lambda c: float(c),
    "length": _length,
    "dtype": as_dtype,
    "device": lambda c: torch.device(str(c)),
    "complex": lambda c: complex(*c),
    "ellipsis": lambda c: Ellipsis,
    "slice": lambda c: slice(*map(decoded, c)),
    "tuple": lambda c: tuple(map(decoded, c)),
    "dict": lambda c: {key: decoded(part) for key, part in c.items()},
    "torch": lambda c: _TORCH[c],
}


def program_to_json(program: Program) -> dict[str, Any]:
    """A Program; of its guards those of truth values."""
    steps = []
    for step in program.steps:
        if isinstance(step, Guard):
            entry = {"truth": encoded(step.args[0]), "outcome": step.outcome}
            steps.append({**entry, "line": step.line})
            continue
        flow = step.function if isinstance(step.function, Flow) else None
        name = name_of_call(step) if flow is None else flow.name
        entry = {"call": name, "args": encoded(list(step.args)), "result": encoded(step.result)}
        entry |= {} if flow is None else {"parts": [program_to_json(part.program) for part in flow.parts]}
        entry |= {"from": room} if (room := _room_of(step.operator)) else {}
        entry |= {"settings": encoded(step.settings)["dict"]} if step.settings else {}
        entry |= {"writes": [encoded(ref) for ref in step.writes]} if step.writes else {}
        entry |= {"random": True} if step.random else {}
        steps.append({**entry, "line": step.line})
    return {"steps": steps, "result": encoded(program.result)}


def program_from_json(content: dict[str, Any]) -> Program:
    """The Program, each call with what its name stands for. InvalidArgument for an unknown name."""
    steps: list[Any] = []
    made: set[Ref] = set()
    for number, entry in enumerate(content["steps"]):
        if "truth" in entry:
            line, value = str(entry.get("line", "")), decoded(entry["truth"])
            steps.append(Guard(truth, "bool", (value,), bool(entry["outcome"]), line))
            _check_order(steps[-1], made, number)
            continue
        name = entry["call"]
        operator, function = None, FUNCTIONS.get(name)
        if "parts" in entry:
            function = _flow(entry, number)
        else:
            operator = _operator(name, entry.get("from", ""))
        body = function if operator is None else operator.body
        if body is None:
            raise InvalidArgument(f"step {number}: {name!r} is not an operator of this version")
        call = Call(
            body,
            name.rpartition(".")[2],
            tuple(decoded(entry["args"])),
            {key: decoded(part) for key, part in entry.get("settings", {}).items()},
            decoded(entry["result"]),
            operator,
            Ref("s", number) if operator is not None and operator.saves else None,
            tuple(decoded(entry.get("writes", []))),
            bool(entry.get("random")),
            str(entry.get("line", "")),
        )
        _check_order(call, made, number)
        steps.append(call)
    return Program(steps, decoded(content["result"]))


def _flow(entry: dict[str, Any], number: int) -> Flow:
    """The loop or branch of an entry. InvalidArgument where its Parts do not fit to what it is given."""
    kind, name = FLOWS.get(entry["call"]), entry["call"]
    if kind is None:
        raise InvalidArgument(f"step {number}: {name!r} has no parts in this version")
    first, others = decoded(entry["args"])
    result, programs = decoded(entry["result"]), [program_from_json(form) for form in entry["parts"]]
    inputs = len(others) + (0 if kind is Choose else len(first))
    counts = [len(result), len(result)] if kind is Choose else [1, len(first)]
    if [len(program.result) for program in programs] != counts or len(result) != counts[1]:
        raise InvalidArgument(f"step {number}: {name}: its parts do not give {counts} values")
    for program in programs:
        given = [(call.args, call.settings) for call in program.calls]
        strange = [
            r
            for r in refs([given, program.result])
            if r.kind not in "vx" or (r.kind == "x" and r.index >= inputs)
        ]
        if strange or program.guards:
            raise InvalidArgument(f"step {number}: {name}: a part reads {[*strange, *program.guards][0]!r}")
    return kind(tuple(Part(program, inputs) for program in programs))


def _room_of(operator: Operator | None) -> str:
    """The module of the library that declares an operator; "" for those that `import sampan` brings."""
    module = "" if operator is None else str(operator.body.__module__)
    top, _, room = module.partition(".")
    return "" if top != _LIBRARY or room.startswith(("ops.", "nn.")) else room


def _operator(name: str, room: str) -> Operator | None:
    """An operator by its name. room: the module of this library that declares it, maybe not imported."""
    if name not in operators and all(part.isidentifier() for part in str(room).split(".")):
        with suppress(ModuleNotFoundError):
            importlib.import_module(f"{_LIBRARY}.{room}")
    return operators.get(name)


def truth(buffer: torch.Tensor) -> bool:
    """What a guard of a file reads: whether the one value of a buffer is true."""
    return bool(buffer)


def _check_order(call: Call | Guard, made: set[Ref], number: int) -> None:
    """Refuse a call that reads a value which no earlier call has made."""
    read = refs(call.args) if isinstance(call, Guard) else read_by(call)
    missing = [ref for ref in read if ref.kind == "v" and ref not in made]
    if missing:
        raise InvalidArgument(f"step {number}: {call.name} reads {missing[0]!r} before it is made")
    if isinstance(call, Call):
        made.update(refs(call.result))
