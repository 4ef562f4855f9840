"""`to_static(full_graph=True)`: a function as one Program at its first call, with its loops and branches.

It is recorded as for a file (whole.py), on the arguments of the call: once for each outcome of the truth
values that no loop or branch of the Program takes. Values behind a recorded loop are those of one round, so
nothing of the recording is a result: memory and random numbers are put back, and the Program runs.
"""

from __future__ import annotations

from typing import Any

import torch

from ..engine.tensor import Tensor
from .function import StaticFunction
from .gradients import NotDerived
from .kinds import Kind, containers, content
from .program import mapped
from .record import WAYS, Recorder, Refused, too_many_ways
from .spec import InputSpec
from .whole import refuse_numbers, rewritten_flow


def recorded_call(
    static: StaticFunction, name: Any, kind: Kind, args: Any, kwargs: Any, tensors: list[Tensor]
) -> Any:
    """The result of a call whose Program is recorded for it.

    Raises Refused for what no Program can hold. The function runs eagerly where an outcome leads to an error
    of its own, and where gradients cannot be recorded; then a message names the line.
    """
    if kind.ends:  # an outcome for which the recorded run has raised an error
        return static.dygraph_function(*args, **kwargs)
    before = _Before(static, tensors)
    try:
        reason = _record_ways(static, kind, args, kwargs, tensors, before)
    except Refused:
        static._kinds.pop(name, None)
        raise
    finally:
        before.restore()
    if reason:
        kind.eager, kind.why = True, reason
        static._tell(reason)
        return static.dygraph_function(*args, **kwargs)
    return static(*args, **kwargs) if kind.ends else static.dygraph_function(*args, **kwargs)


def _record_ways(
    static: StaticFunction, kind: Kind, args: Any, kwargs: Any, tensors: list[Tensor], before: _Before
) -> str:
    """Add a Program for each way through the function; why it runs eagerly, or ""."""
    state = static._attributes()
    on_tape = [(t.data, t.node, t.stop_gradient) for t in tensors]
    held = [(c, content(c)) for c in containers([args, kwargs, *static._outer().values()])]
    kind.call = static.last_call = mapped(
        (args, kwargs),
        lambda leaf: InputSpec.from_tensor(leaf) if isinstance(leaf, Tensor) else leaf,
    )
    kind.gradients = torch.is_grad_enabled()
    left: list[list[bool]] = [[]]
    while left:
        outcomes = left.pop()
        recorder = Recorder(tensors, kind.outside, before.owners, outcomes, takes_flow=True)
        try:
            with rewritten_flow(static) as made, recorder.watching():
                result = made(*args, **kwargs)
        except Refused:
            raise
        except NotDerived as error:
            return str(error)
        except Exception:  # the eager call raises it, or goes where no error is
            continue
        finally:
            before.restore()
        if any(content(container) != was for container, was in held):
            recorder.refuse("it changes a list, dictionary or set", static._where())
        if recorder.refused:
            raise Refused(f"{recorder.refused[0]}; with full_graph=True all of the function is one Program")
        refuse_numbers(recorder.program)
        seen: list[Any] = [guard.outcome for guard in recorder.program.guards]
        with static._lock:
            if reason := static._joined(kind, recorder, result, tensors, on_tape, state):
                return reason
        left += [[*seen[:i], not seen[i]] for i in range(len(outcomes), len(seen))]
        if len(kind.ends) + len(left) > WAYS:
            guard = recorder.program.guards[-1]
            raise too_many_ways(guard.name, guard.line)
    return ""


class _Before:
    """Memory and random numbers before a recording. owners: the Tensors of the layers by their buffers."""

    def __init__(self, static: StaticFunction, tensors: list[Tensor]) -> None:
        layers = static._layers()
        owned = [t for layer in layers for t in (*layer.parameters(), *layer.buffers())]
        named = [t for t in static._outer().values() if isinstance(t, Tensor)]
        self.owners = {id(t.data): t for t in owned}
        buffers = {id(t.data): t.data for t in (*tensors, *owned, *named)}.values()
        self.state = torch.get_rng_state()
        self.buffers = [(b, b._version, b.clone()) for b in buffers]

    def restore(self) -> None:
        """Put back what has been changed since."""
        torch.set_rng_state(self.state)
        for place, (buffer, version, value) in enumerate(self.buffers):
            if buffer._version != version:
                buffer.copy_(value)
                self.buffers[place] = buffer, buffer._version, value
