"""Rotary position embedding (Su et al. 2021, "RoFormer"): features are turned in pairs by an angle that grows
with the position."""

from typing import Any

import numpy as np
import torch
from numba import prange

from .....engine.operator import operator
from .....engine.tensor import InvalidArgument
from .....kernels.loops import Loop

PARALLEL_FROM = 1 << 17  # numbers


def _halves(x, cos, sin, out):
    half = x.shape[2] // 2
    for r in prange(x.shape[0]):
        c, s = cos[r], sin[r]
        for h in range(x.shape[1]):
            for i in range(half):
                a, b = x[r, h, i], x[r, h, i + half]
                out[r, h, i] = a * c[i] - b * s[i]
                out[r, h, i + half] = b * c[i + half] + a * s[i + half]


def _neighbours(x, cos, sin, out):
    half = x.shape[2] // 2
    for r in prange(x.shape[0]):
        c, s = cos[r], sin[r]
        for h in range(x.shape[1]):
            for i in range(half):
                a, b = x[r, h, 2 * i], x[r, h, 2 * i + 1]
                out[r, h, 2 * i] = a * c[2 * i] - b * s[2 * i]
                out[r, h, 2 * i + 1] = b * c[2 * i + 1] + a * s[2 * i + 1]


_loops = {
    False: Loop(_halves, PARALLEL_FROM, "rotary_halves"),
    True: Loop(_neighbours, PARALLEL_FROM, "rotary_neighbours"),
}


def _pairs(x: Any, neox: bool) -> tuple[Any, Any]:
    """The first and the second features of all pairs, as views."""
    half = x.shape[-1] // 2
    return (x[..., ::2], x[..., 1::2]) if neox else (x[..., :half], x[..., half:])


def _angles(x: torch.Tensor, time_axis: int, base: float) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin of t / base^(2 i / d) for both features of pair i, float32 [time, 1, d] or [1, time, d]."""
    width = x.shape[-1]
    pairs = torch.arange(width, device=x.device) // 2 * 2
    time = torch.arange(x.shape[time_axis], device=x.device, dtype=torch.float32)
    angles = time.unsqueeze(-1) * (1.0 / torch.tensor(base, device=x.device) ** (pairs / width))
    angles = angles.unsqueeze(1 - time_axis)
    return angles.cos(), angles.sin()


@operator(
    lambda g, cos, sin, neox, time_axis, base, back: rotate(g, cos, sin, neox, time_axis, base, not back),
    amp="half",
)
def rotate(x, cos, sin, neox, time_axis, base, back):
    """x cos + turned(x) sin, where turned(a, b) = (-b, a) for each pair; with `back` the transposed map.

    x: [batch, time, heads, d], or time first. cos, sin: [batch or 1, time or 1, d] in the order of x, without
    gradient; None for the angles t / base^(2 i / d). Half precision is computed in float32.
    """
    if cos is None:
        cos, sin = _angles(x, time_axis, base)
    kind = torch.float64 if x.dtype == torch.float64 else torch.float32
    cos, sin, wide = cos.to(kind), sin.to(kind), x.to(kind)
    if back:
        first, second = _pairs(sin, neox)
        sin = torch.stack([-second, -first], -1).flatten(-2) if neox else torch.cat([-second, -first], -1)
    turn = turned_by_torch if x.is_cuda else _turned_by_loop
    return turn(wide, cos, sin, neox).to(x.dtype)


def turned_by_torch(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, neox: bool) -> torch.Tensor:
    """`rotate` in three passes over memory, on any device."""
    out = x * cos.unsqueeze(2)
    (a, b), (to_a, to_b), (sin_a, sin_b) = (_pairs(v, neox) for v in (x, out, sin.unsqueeze(2)))
    to_a.addcmul_(b, sin_a, value=-1)
    to_b.addcmul_(a, sin_b)
    return out


def _turned_by_loop(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, neox: bool) -> torch.Tensor:
    """`rotate` in one pass over memory."""
    out = torch.empty_like(x, memory_format=torch.contiguous_format)
    rows = (*x.shape[:2], x.shape[-1])
    tables = (_flat(v.expand(rows)) for v in (cos, sin))
    if x.numel():
        _loops[neox](_flat(x), *tables, _flat(out), size=x.numel())
    return out


def _flat(x: torch.Tensor) -> np.ndarray:
    """The first two axes as one."""
    return x.contiguous().flatten(0, 1).numpy()


def _table(name: str, given: Any, x: Any, position_ids: Any, time_major: bool) -> Any:
    """sin or cos, [time, d] or [1, time, 1, d], as `rotate` takes it."""
    time_axis = 0 if time_major else 1
    shape, time, width = list(given.shape), x.shape[time_axis], x.shape[-1]
    if len(shape) not in (2, 4) or (len(shape) == 4 and (shape[0], shape[2]) != (1, 1)):
        raise InvalidArgument(f"{name}: expected [time, d] or [1, time, 1, d], got {shape}")
    length = shape[len(shape) // 2 - 1]
    if shape[-1] != width or (length < time if position_ids is not None else length != time):
        least = "at least " if position_ids is not None else ""
        raise InvalidArgument(f"{name}: expected {least}{time} times and {width} features, got {shape}")
    rows = given.reshape([length, width])
    if position_ids is None:
        return rows.unsqueeze(1 - time_axis)
    rows = rows[position_ids]
    return rows.transpose([1, 0, 2]) if time_major else rows


def fused_rotary_position_embedding(
    q,
    k=None,
    v=None,
    sin=None,
    cos=None,
    position_ids=None,
    use_neox_rotary_style=True,
    time_major=False,
    rotary_emb_base=10000.0,
) -> tuple[Any, Any, Any]:
    """(q, k, v) with rotary position embedding; None where k or v is None.

    q, k, v: [batch, time, heads, d], with time_major [time, batch, heads, d]; d even; the numbers of heads
    may differ. sin, cos: [time, d] or [1, time, 1, d], read at position_ids [batch, time], or at each
    position's own time; without both of them the angle of pair i at time t is t / rotary_emb_base^(2 i / d).
    use_neox_rotary_style: neighbouring features are the pairs; otherwise the two halves are.
    """
    computed = sin is None or cos is None
    if computed and position_ids is not None:
        raise InvalidArgument("position_ids: expected None without sin and cos")
    if computed and not use_neox_rotary_style:
        raise InvalidArgument("use_neox_rotary_style: expected True without sin and cos")
    time_axis = 0 if time_major else 1
    for name, x in (("q", q), ("k", k), ("v", v)):
        if x is None:
            continue
        if x.ndim != 4 or x.shape[-1] % 2:
            raise InvalidArgument(
                f"{name}: expected [batch, time, heads, d] with an even d, got {list(x.shape)}"
            )
        if (*x.shape[:2], x.shape[-1]) != (*q.shape[:2], q.shape[-1]):
            raise InvalidArgument(
                f"{name}: expected {list(q.shape)}, that of q, but for heads, got {list(x.shape)}"
            )
    if position_ids is not None:
        wanted = [q.shape[1 - time_axis], q.shape[time_axis]]
        if list(position_ids.shape) != wanted:
            raise InvalidArgument(f"position_ids: expected shape {wanted}, got {list(position_ids.shape)}")
    tables = [None, None]
    if not computed:
        if list(sin.shape) != list(cos.shape):
            raise InvalidArgument(f"cos: expected the shape of sin, {list(sin.shape)}, got {list(cos.shape)}")
        tables = [
            _table(name, given, q, position_ids, time_major) for name, given in (("cos", cos), ("sin", sin))
        ]
    settings = (bool(use_neox_rotary_style), time_axis, float(rotary_emb_base), False)
    turned: Any = [None if x is None else rotate(x, *tables, *settings) for x in (q, k, v)]
    return tuple(turned)
