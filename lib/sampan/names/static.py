"""Names of Paddle's static graphs that work without them: InputSpec, guards and control flow.

Every other name is a stand-in: a program can import it, and NoStaticGraph is raised when it
uses it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ..dtype import CPUPlace
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..jit.control_flow import record_choice, record_loop
from ..jit.program import leaves, mapped
from ..jit.record import recorder_of_flow
from ..jit.spec import InputSpec as InputSpec
from .framework import _modes


class NoStaticGraph(NotImplementedError, AttributeError):
    """A name of static graphs was used. An AttributeError as well, so that `hasattr` returns False."""


class _Absent(type):
    """The class of stand-ins: calling one, or reading an attribute, raises NoStaticGraph."""

    def __call__(cls, *args: Any, **settings: Any) -> Any:
        raise NoStaticGraph(cls.__doc__)

    def __getattr__(cls, name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else NoStaticGraph(cls.__doc__)


def absent(name: str) -> Any:
    """A stand-in for something of static graphs or of Paddle's C++ core."""
    text = f"{name}: Sampan runs operators at once on torch's buffers, without static graphs or a C++ core"
    return _Absent(name.rpartition(".")[2], (), {"__doc__": text})


# --- guards of static graphs, which have no effect on a dynamic program ---


def _no_guard(*args: Any, **settings: Any) -> contextlib.AbstractContextManager[None]:
    """Context manager without effect."""
    return contextlib.nullcontext()


name_scope = device_guard = ipu_shard_guard = _no_guard


def _module(name: str, **values: Any) -> ModuleType:
    """A module of static graphs: these values, and stand-ins for any other name."""
    made: Any = ModuleType(f"{__name__}.{name}")
    sys.modules[made.__name__] = made
    vars(made).update(values, __getattr__=lambda other: _inside(name, other))
    return made


def _inside(module: str, name: str) -> Any:
    if module == "nn" and not name.startswith("__"):
        from .static_graph import layers  # which dynamic programs need not load

        if name in layers.__all__:
            return getattr(layers, name)
    return _stand_in(f"{module}.{name}")


def _stand_in(name: str) -> Any:
    if name.rpartition(".")[2].startswith("__"):
        raise AttributeError(name)
    return absent(f"static.{name}")


# --- control flow, which a dynamic program runs at once: Python's own `if` and `while` do the same ---


def _built(value: Any) -> bool:
    """Whether this is a variable of a Program that is built."""
    return not _modes["dynamic"] and isinstance(value, Tensor)


def _flow_of_a_graph() -> Any:
    from .static_graph import control_flow  # which dynamic programs need not load

    return control_flow


def _chosen(pred: Tensor, true_fn: Any, false_fn: Any) -> Any:
    """Record a branch of a Program that jit records for a file; None where it is no such one."""
    recorder = recorder_of_flow()
    if recorder is None or not isinstance(pred, Tensor) or pred.size != 1:
        return None
    ways = [
        fn if fn is None else _function(fn, f"cond: {what}")
        for fn, what in ((true_fn, "true_fn"), (false_fn, "false_fn"))
    ]
    try:
        return (record_choice(recorder, pred, [way or (lambda: None) for way in ways]),)
    except InvalidArgument:  # each way becomes a Program of its own, where that is possible
        if recorder.depth_of_parts:
            raise
        return None


def _looped(test: Any, body: Any, loop_vars: Sequence[Any]) -> Any:
    """The values of a loop of a Program that jit records for a file; None where it is no such one."""
    recorder = recorder_of_flow()
    if recorder is None or not all(isinstance(leaf, Tensor) for leaf in leaves(list(loop_vars))):
        return None
    given = list(leaves(list(loop_vars)))

    def variables(tensors: Sequence[Tensor]) -> Any:
        order = iter(tensors)
        return mapped(list(loop_vars), lambda _: next(order))

    def next_ones(*tensors: Tensor) -> list[Any]:
        found = body(*variables(tensors))
        return list(leaves(list(found) if isinstance(found, (list, tuple)) else [found]))

    made = record_loop(recorder, lambda *tensors: test(*variables(tensors)), next_ones, given)
    return None if made is None else variables(made)


def _truth(value: Any, what: str) -> bool:
    """Whether the one value of a Tensor is true."""
    if not isinstance(value, Tensor):
        raise InvalidType(f"{what}: expected a Tensor, got {type(value).__name__}")
    if value.size != 1:
        raise InvalidArgument(f"{what}: expected one value, got shape {[*value.shape]}")
    return bool(value)


def _function(value: Any, what: str) -> Any:
    if not callable(value):
        raise InvalidType(f"{what}: expected a function, got {type(value).__name__}")
    return value


def cond(
    pred: Tensor, true_fn: Any = None, false_fn: Any = None, name: str | None = None, return_names: Any = None
) -> Any:
    """true_fn() where the one value of `pred` is true, else false_fn(); None for a function that is None."""
    if _built(pred):
        return _flow_of_a_graph().choose(pred, true_fn, false_fn)
    if (recorded := _chosen(pred, true_fn, false_fn)) is not None:
        return recorded[0]
    chosen, what = (true_fn, "true_fn") if _truth(pred, "cond: pred") else (false_fn, "false_fn")
    return None if chosen is None else _function(chosen, f"cond: {what}")()


def case(pred_fn_pairs: Sequence[tuple[Tensor, Any]], default: Any = None, name: str | None = None) -> Any:
    """fn() of the first pair (pred, fn) whose `pred` is true, else default(); without it that of the last
    pair."""
    pairs = list(pred_fn_pairs)
    if not pairs:
        raise InvalidType("case: pred_fn_pairs: expected pairs (pred, fn), got none")
    for i, pair in enumerate(pairs):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise InvalidType(f"case: pred_fn_pairs[{i}]: expected a pair (pred, fn), got {pair!r}")
        _function(pair[1], f"case: pred_fn_pairs[{i}]")
    if recorder_of_flow() is not None or any(_built(pred) for pred, _ in pairs):
        (pred, fn), rest = pairs[0], pairs[1:]
        other = default if not rest else lambda: _flow["case"](rest, default)
        return _flow["cond"](pred, fn, other) if other else fn()
    last = pairs[-1][1] if default is None else _function(default, "case: default")
    found = (fn for i, (pred, fn) in enumerate(pairs) if _truth(pred, f"case: pred_fn_pairs[{i}]"))
    return next(found, last)()


def switch_case(branch_index: Tensor, branch_fns: Any, default: Any = None, name: str | None = None) -> Any:
    """The branch with the number `branch_index`, called; without it default(), or the branch with the highest
    number.

    branch_fns: a dictionary, pairs (number, fn), or functions that are numbered from 0.
    """
    given = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    branches: dict[int, Any] = {}
    for i, pair in enumerate(given):
        number, fn = (i, pair) if callable(pair) else pair
        if type(number) is not int:
            raise InvalidType(f"switch_case: branch_fns: expected an int as number, got {number!r}")
        if number in branches:
            raise InvalidArgument(f"switch_case: branch_fns: {number} occurs more than once")
        branches[number] = _function(fn, f"switch_case: branch_fns: {number}")
    if not branches or not isinstance(branch_index, Tensor) or branch_index.size != 1:
        raise InvalidType(
            f"switch_case: expected a Tensor of one value and functions, got {branch_index!r} and "
            f"{len(branches)} functions"
        )
    last = branches[max(branches)] if default is None else _function(default, "switch_case: default")
    if _built(branch_index) or recorder_of_flow() is not None:
        return _flow["case"]([(branch_index.reshape([]) == n, branches[n]) for n in branches], last)
    return branches.get(int(branch_index), last)()


def while_loop(
    cond: Any, body: Any, loop_vars: Sequence[Any], is_test: bool = False, name: str | None = None
) -> Any:
    """`loop_vars = body(*loop_vars)` while cond(*loop_vars) is true.

    As in Paddle the Tensors in `loop_vars` become the results, except leaves that need a gradient, which
    are unchanged.
    """
    _function(cond, "while_loop: cond")
    _function(body, "while_loop: body")
    if not isinstance(loop_vars, list | tuple) or not loop_vars:
        raise InvalidType(f"while_loop: loop_vars: expected a list of Tensors, got {loop_vars!r}")
    if any(map(_built, loop_vars)):
        return _flow_of_a_graph().repeat(cond, body, loop_vars)
    values = list(loop_vars)
    looped = _looped(cond, body, loop_vars)
    again = looped is None and _truth(cond(*values), "while_loop: what cond returns")
    while again:
        found = body(*values)
        values = list(found) if isinstance(found, list | tuple) else [found]
        if len(values) != len(loop_vars):
            raise InvalidArgument(f"while_loop: body: expected {len(loop_vars)} results, got {len(values)}")
        again = _truth(cond(*values), "while_loop: what cond returns")
    changes: list[tuple[Tensor, Any]] = []
    values = values if looped is None else looped
    made = tuple(values) if isinstance(loop_vars, tuple) else values
    result = _put(loop_vars, made, changes)
    for tensor, state in changes:
        tensor.data, tensor.node, tensor.stop_gradient = state
    return result


def _put(given: Any, value: Any, changes: list[tuple[Tensor, Any]]) -> Any:
    """`value` with the Tensors of `given` in it; their new values are appended to `changes`."""
    if isinstance(value, dict) and isinstance(given, dict):
        return {k: _put(given.get(k), v, changes) for k, v in value.items()}
    if isinstance(value, list | tuple) and isinstance(given, list | tuple):
        return type(given)([_put(g, v, changes) for g, v in zip(given, value, strict=True)])
    kept = not (isinstance(given, Tensor) and isinstance(value, Tensor))
    if kept or (given.is_leaf and not given.stop_gradient):
        return value
    changes.append((given, (value.data, value.node, value.stop_gradient)))
    return given


__path__: list[str] = []  # makes this module a package
bf16 = _module("amp.bf16", bf16_guard=_no_guard)
amp = _module("amp", fp16_guard=_no_guard, bf16=bf16, __path__=[])
del bf16  # `static.bf16` is not a name of Paddle
_flow: dict[str, Any] = {"case": case, "cond": cond, "switch_case": switch_case, "while_loop": while_loop}
nn = _module("nn", **_flow, control_flow=_module("nn.control_flow", **_flow), __path__=[])
del case, cond, switch_case, while_loop


OF_GRAPHS = (
    *("BuildStrategy", "CompiledProgram"),
    *("Executor", "Program", "append_backward", "data", "default_main_program", "default_startup_program"),
    *("gradients", "load", "load_inference_model", "program_guard", "save", "save_inference_model"),
)


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """A list of `device_count` CPU places."""
    return [CPUPlace() for _ in range(device_count or 1)]


def __getattr__(name: str) -> Any:
    if name in OF_GRAPHS:
        from . import static_graph  # which dynamic programs need not load

        return getattr(static_graph, name)
    return _stand_in(name)
