"""One time step of a recurrent layer, after its matrix products: all gates of a row in one pass, and back.

Arrays of one step are [batch, gates * size]: `x` holds the inputs' share of the gates, `r` the recurrent
share. Rows whose sequence has ended (step >= length) hand their state on.
"""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from .exponential import exp


@numba.njit(cache=True, error_model="numpy")
def lstm_step(x, r, h, c, h_out, c_out, length, t):
    """Gates i, f, g, o (left in x): c_out = f c + i g; h_out = o tanh(c_out)."""
    n = h.shape[1]
    one, two = x.dtype.type(1), x.dtype.type(2)
    for b in range(h.shape[0]):
        if t >= length[b]:
            h_out[b], c_out[b] = h[b], c[b]
            continue
        xi, xf, xg, xo = x[b, :n], x[b, n : 2 * n], x[b, 2 * n : 3 * n], x[b, 3 * n :]
        ri, rf, rg, ro = r[b, :n], r[b, n : 2 * n], r[b, 2 * n : 3 * n], r[b, 3 * n :]
        before, cell, hidden = c[b], c_out[b], h_out[b]
        for j in range(n):
            i = one / (one + exp(-(xi[j] + ri[j])))
            f = one / (one + exp(-(xf[j] + rf[j])))
            g = one - two / (one + exp(two * (xg[j] + rg[j])))
            o = one / (one + exp(-(xo[j] + ro[j])))
            value = f * before[j] + i * g
            xi[j], xf[j], xg[j], xo[j] = i, f, g, o
            cell[j] = value
            hidden[j] = o * (one - two / (one + exp(two * value)))


@numba.njit(cache=True, error_model="numpy")
def lstm_step_back(x, r, h, c, c_out, h_out, g_out, dh, dc, dx, dr, length, t):
    """From dh + g_out and dc of a step to dx (also dr), and the share of dh and dc that bypasses the
    product."""
    n = h.shape[1]
    one, two = x.dtype.type(1), x.dtype.type(2)
    for b in range(h.shape[0]):
        if t >= length[b]:
            dx[b] = 0
            continue
        xi, xf, xg, xo = x[b, :n], x[b, n : 2 * n], x[b, 2 * n : 3 * n], x[b, 3 * n :]
        di, df, dg, do = dx[b, :n], dx[b, n : 2 * n], dx[b, 2 * n : 3 * n], dx[b, 3 * n :]
        before, cell, along, given, after = c[b], c_out[b], dh[b], g_out[b], dc[b]
        for j in range(n):
            i, f, g, o = xi[j], xf[j], xg[j], xo[j]
            bent = one - two / (one + exp(two * cell[j]))
            d = along[j] + given[j]
            slope = after[j] + d * o * (one - bent * bent)
            di[j] = slope * g * i * (one - i)
            df[j] = slope * before[j] * f * (one - f)
            dg[j] = slope * i * (one - g * g)
            do[j] = d * bent * o * (one - o)
            along[j], after[j] = 0, slope * f


@numba.njit(cache=True, error_model="numpy")
def gru_step(x, r, h, c, h_out, c_out, length, t):
    """Gates r, z, n (left in x; the recurrent share of n stays in r): h_out = (h - n) z + n."""
    n = h.shape[1]
    one, two = x.dtype.type(1), x.dtype.type(2)
    for b in range(h.shape[0]):
        if t >= length[b]:
            h_out[b] = h[b]
            continue
        xr, xz, xn = x[b, :n], x[b, n : 2 * n], x[b, 2 * n :]
        rr, rz, rn = r[b, :n], r[b, n : 2 * n], r[b, 2 * n :]
        before, hidden = h[b], h_out[b]
        for j in range(n):
            reset = one / (one + exp(-(xr[j] + rr[j])))
            keep = one / (one + exp(-(xz[j] + rz[j])))
            new = one - two / (one + exp(two * (xn[j] + reset * rn[j])))
            xr[j], xz[j], xn[j] = reset, keep, new
            hidden[j] = (before[j] - new) * keep + new


@numba.njit(cache=True, error_model="numpy")
def gru_step_back(x, r, h, c, c_out, h_out, g_out, dh, dc, dx, dr, length, t):
    """As for the LSTM; here dr differs from dx in the gate n."""
    n = h.shape[1]
    one = x.dtype.type(1)
    for b in range(h.shape[0]):
        if t >= length[b]:
            dx[b] = 0
            dr[b] = 0
            continue
        xr, xz, xn, rn = x[b, :n], x[b, n : 2 * n], x[b, 2 * n :], r[b, 2 * n :]
        ar, az, an = dx[b, :n], dx[b, n : 2 * n], dx[b, 2 * n :]
        br, bz, bn = dr[b, :n], dr[b, n : 2 * n], dr[b, 2 * n :]
        before, along, given = h[b], dh[b], g_out[b]
        for j in range(n):
            reset, keep, new = xr[j], xz[j], xn[j]
            d = along[j] + given[j]
            slope = d * (one - keep) * (one - new * new)
            toward = slope * rn[j] * reset * (one - reset)
            hold = d * (before[j] - new) * keep * (one - keep)
            ar[j], az[j], an[j] = toward, hold, slope
            br[j], bz[j], bn[j] = toward, hold, slope * reset
            along[j] = d * keep


@numba.njit(cache=True, error_model="numpy")
def tanh_step(x, r, h, c, h_out, c_out, length, t):
    """h_out = tanh(x + r)."""
    one, two = x.dtype.type(1), x.dtype.type(2)
    for b in range(h.shape[0]):
        if t >= length[b]:
            h_out[b] = h[b]
            continue
        given, recurrent, hidden = x[b], r[b], h_out[b]
        for j in range(hidden.size):
            hidden[j] = one - two / (one + exp(two * (given[j] + recurrent[j])))


@numba.njit(cache=True, error_model="numpy")
def relu_step(x, r, h, c, h_out, c_out, length, t):
    """h_out = max(x + r, 0)."""
    for b in range(h.shape[0]):
        h_out[b] = h[b] if t >= length[b] else np.maximum(x[b] + r[b], x.dtype.type(0))


def _plain_back(slope: Callable[[Any], Any]) -> Callable[..., None]:
    """The step back through h_out = f(x + r), with f' as a function of h_out."""

    def back(x, r, h, c, c_out, h_out, g_out, dh, dc, dx, dr, length, t):
        ended = (t >= length)[:, None]
        np.multiply(dh + g_out, np.where(ended, 0, slope(h_out)), out=dx)
        dh *= ended

    return back


STEPS: dict[str, tuple[int, Callable[..., None], Callable[..., None]]] = {  # gates, step, step back
    "LSTM": (4, lstm_step, lstm_step_back),
    "GRU": (3, gru_step, gru_step_back),
    "RNN_TANH": (1, tanh_step, _plain_back(lambda h: 1 - h * h)),
    "RNN_RELU": (1, relu_step, _plain_back(lambda h: h > 0)),
}
