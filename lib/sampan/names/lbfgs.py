"""L-BFGS (Nocedal 1980): a quasi-Newton method with limited memory."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from ..engine import tape
from ..engine.backward import enable_grad, no_grad
from ..engine.tensor import Tensor
from ..optimizer.optimizer import Optimizer

__all__ = ["LBFGS"]


class Point(NamedTuple):
    """A point of the line search: step size, loss, gradient, and directional derivative."""

    size: float
    loss: float
    gradient: torch.Tensor
    slope: float


class LBFGS(Optimizer):
    """Minimise with `step(closure)`; the closure clears the gradients, computes the loss, calls backward and
    returns the loss.

    Each of at most max_iter steps goes along -H g, with H from the last history_size changes (Nocedal and
    Wright 2006, algorithm 7.4). line_search_fn: None (steps of learning_rate) or "strong_wolfe" (algorithms
    3.5 and 3.6). It ends early when the largest gradient is below tolerance_grad, the change of parameters or
    loss below tolerance_change, or after max_eval (5/4 max_iter) calls of the closure.
    """

    def __init__(
        self,
        learning_rate=1.0,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-07,
        tolerance_change=1e-09,
        history_size=100,
        line_search_fn=None,
        parameters=None,
        weight_decay=None,
        grad_clip=None,
        name=None,
    ):
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError(f"line_search_fn: expected 'strong_wolfe' or None, got {line_search_fn!r}")
        self.max_iter, self.max_eval = max_iter, max_iter * 5 // 4 if max_eval is None else max_eval
        self.tolerance_grad, self.tolerance_change = tolerance_grad, tolerance_change
        self.history_size, self.line_search_fn = history_size, line_search_fn
        self.state: dict[str, Any] = {"func_evals": 0, "n_iter": 0, "old_yk": [], "old_sk": []}

    def state_dict(self) -> dict[str, Any]:
        return {"state": dict(self.state)}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.state = {key: _buffers(value) for key, value in state_dict["state"].items()}

    def minimize(self, loss: Tensor, *args: Any, **settings: Any) -> Any:
        raise NotImplementedError("LBFGS.minimize: expected step(closure) in place of minimize")

    def _evaluate(self, closure: Callable[[], Tensor]) -> tuple[Tensor, torch.Tensor]:
        """The loss, and the gradients of all parameters as one vector."""
        with enable_grad():
            loss = closure()
        self.state["func_evals"] += 1
        parts = [torch.zeros_like(p.data) if p.grad is None else p.grad.data for p in self._parameter_list]
        return loss, torch.cat([part.reshape(-1) for part in parts])

    def _move(self, direction: torch.Tensor, size: float) -> None:
        pieces = direction.split([p.size for p in self._parameter_list])
        for parameter, piece in zip(self._parameter_list, pieces, strict=True):
            parameter.data.add_(piece.view(parameter.data.shape), alpha=size)
            tape.written(parameter.data)

    def _direction(self, gradient: torch.Tensor) -> torch.Tensor:
        """-H g by the two-loop recursion over the history."""
        state = self.state
        if state["n_iter"] == 1:
            return -gradient
        change, moved = gradient - state["prev_flat_grad"], state["d"] * state["alpha"]
        if float(change @ moved) > 1e-10:
            state["old_yk"] = [*state["old_yk"], change][-self.history_size :]
            state["old_sk"] = [*state["old_sk"], moved][-self.history_size :]
            state["H_diag"] = float(change @ moved) / float(change @ change)
        kept = [(y, s, 1 / float(y @ s)) for y, s in zip(state["old_yk"], state["old_sk"], strict=True)]
        q, shares = -gradient, []
        for y, s, ro in reversed(kept):
            shares.append(ro * float(s @ q))
            q = q - y * shares[-1]
        q = q * state.get("H_diag", 1.0)
        for y, s, ro in kept:
            q = q + s * (shares.pop() - ro * float(y @ q))
        return q

    @no_grad()
    # A closure is required.
    def step(self, closure: Callable[[], Tensor]) -> Tensor:  # type: ignore[override]
        """Up to max_iter steps; returns the loss of the first call of the closure."""
        state, lr, began = self.state, self.get_lr(), self.state["func_evals"]
        first, gradient = self._evaluate(closure)
        loss = float(first)
        for iteration in range(1, self.max_iter + 1):
            if float(gradient.abs().max()) <= self.tolerance_grad:
                break
            state["n_iter"] += 1
            d = state["d"] = self._direction(gradient)
            state["prev_flat_grad"], before = gradient, loss
            size = lr * min(1.0, 1.0 / float(gradient.abs().sum())) if state["n_iter"] == 1 else lr
            slope = float(gradient @ d)
            if slope > -self.tolerance_change:
                break
            if self.line_search_fn is not None:
                found = self._search(closure, d, size, Point(0.0, loss, gradient, slope))
                size, loss, gradient, _ = found
                self._move(d, size)
            else:
                self._move(d, size)
                if iteration != self.max_iter:
                    value, gradient = self._evaluate(closure)
                    loss = float(value)
            state["alpha"] = size
            moved = float((d * size).abs().max())
            if moved <= self.tolerance_change or abs(loss - before) < self.tolerance_change:
                break
            if state["func_evals"] - began >= self.max_eval:
                break
        return first

    def _search(self, closure: Callable[[], Tensor], d: torch.Tensor, size: float, start: Point) -> Point:
        """A point that satisfies the strong Wolfe conditions, c1 = 1e-4 and c2 = 0.9."""
        copies = [p.data.clone() for p in self._parameter_list]

        def at(size: float) -> Point:
            self._move(d, size)
            loss, gradient = self._evaluate(closure)
            for parameter, copy in zip(self._parameter_list, copies, strict=True):
                parameter.data.copy_(copy)
            return Point(size, float(loss), gradient, float(gradient @ d))

        def high(point: Point) -> bool:
            return point.loss > start.loss + 1e-4 * point.size * start.slope

        def flat(point: Point) -> bool:
            return abs(point.slope) <= -0.9 * start.slope

        last, new, calls = start, at(size), 0
        while not high(new) and not (calls > 1 and new.loss >= last.loss):
            if flat(new):
                return new
            if new.slope >= 0 or calls == 25:
                break
            bounds = (new.size + 0.01 * (new.size - last.size), new.size * 10)
            last, new, calls = new, at(_cubic(last, new, bounds)), calls + 1
        low, top = sorted((start if calls == 25 else last, new), key=lambda point: point.loss)
        width, stalled = float(d.abs().max()), False
        while calls < 25 and abs(top.size - low.size) * width >= self.tolerance_change:
            small, large = sorted((low.size, top.size))
            size, margin = _cubic(low, top, (small, large)), 0.1 * (large - small)
            near = min(large - size, size - small) < margin
            if near and (stalled or not small < size < large):
                size = large - margin if abs(size - large) < abs(size - small) else small + margin
                near = False
            stalled = near
            new, calls = at(size), calls + 1
            if high(new) or new.loss >= low.loss:
                low, top = sorted((low, new), key=lambda point: point.loss)
                continue
            if flat(new):
                return new
            low, top = new, low if new.slope * (top.size - low.size) >= 0 else top
        return low


def _buffers(value: Any) -> Any:
    if isinstance(value, list):
        return [_buffers(v) for v in value]
    return value.data if isinstance(value, Tensor) else value


def _cubic(a: Point, b: Point, bounds: tuple[float, float]) -> float:
    """The minimum of the cubic through two points and their slopes, within bounds; the middle of the bounds
    if there is none."""
    a, b = (a, b) if a.size <= b.size else (b, a)
    first = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.size - b.size)
    square = first**2 - a.slope * b.slope
    if square < 0:
        return (bounds[0] + bounds[1]) / 2
    second = square**0.5
    size = b.size - (b.size - a.size) * ((b.slope + second - first) / (b.slope - a.slope + 2 * second))
    return min(max(size, bounds[0]), bounds[1])
