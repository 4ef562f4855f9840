"""Paddle's module `fleet.recompute`: parts of a network that run a second time in the backward pass."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from ...engine.errors import InvalidArgument
from ...nn import Sequential
from ..arguments import check_kind
from ..group import group_of
from .utils import recompute as recompute

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside, which are this one
for _name in ("recompute", "recompute_hybrid"):
    sys.modules[f"{__name__}.{_name}"] = sys.modules[__name__]


def recompute_sequential(
    ctx: dict[str, Any],
    functions: Sequential | Sequence[Callable[..., Any]],
    *args: Any,
    **kwargs: Any,
) -> Any:
    """The value of `functions`, one after another; of all segments but the last only the inputs are kept.

    ctx: "segments" (1), into how many parts of equal length the functions are divided; "preserve_rng_state"
    (True). The first function gets args and kwargs, each other the value of the one before.
    """
    check_kind(ctx, dict, "ctx")
    listed = list(functions.children()) if isinstance(functions, Sequential) else list(functions)
    segments = ctx.get("segments", 1)
    if not isinstance(segments, int) or not 1 <= segments <= max(1, len(listed)):
        raise InvalidArgument(f"ctx: segments: expected 1 to {len(listed)}, got {segments!r}")
    length = len(listed) // segments

    def run(first: int, end: int) -> Callable[..., Any]:
        def part(*values: Any, **named: Any) -> Any:
            for function in listed[first:end]:
                value = function(*values, **named)
                values, named = (value,), {}
            return values[0]

        return part

    for segment in range(segments - 1):
        first = segment * length
        kept = ctx.get("preserve_rng_state", True)
        value = recompute(run(first, first + length), *args, preserve_rng_state=kept, **kwargs)
        args, kwargs = (value,), {}
    return run((segments - 1) * length, len(listed))(*args, **kwargs)


def recompute_hybrid(ctx: dict[str, Any], function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`recompute` in a network that is cut by tensor parallelism.

    ctx: "mp_group", its group, which must be given; "offload" and "partition", which move or cut what is kept
    on GPUs, have no effect.
    """
    check_kind(ctx, dict, "ctx")
    if ctx.get("mp_group") is None:
        raise AssertionError("ctx must contains mp_group and mp_group can not be None.")
    group_of(ctx["mp_group"], "ctx: mp_group")
    return recompute(function, *args, **kwargs)
