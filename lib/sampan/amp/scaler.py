"""Loss scaling: gradients that would vanish in float16 are computed of a larger loss, and scaled back."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..nn.function_layer import with_defaults
from ..row_sparse import RowGradient, RowSparse
from . import casting

__all__ = ["AmpScaler", "GradScaler"]

_SETTINGS = ("incr_ratio", "decr_ratio", "incr_every_n_steps", "decr_every_n_nan_or_inf")
_KEPT = (*_SETTINGS, "use_dynamic_loss_scaling")


def _reads(attribute: str) -> Callable[[Any], Any]:
    return lambda self: getattr(self, attribute)


class GradScaler:
    """`scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()`.

    The scale begins at init_loss_scaling; after decr_every_n_nan_or_inf steps with gradients that are not
    finite (which are left out) it is multiplied by decr_ratio, after incr_every_n_steps good ones by
    incr_ratio. With another dtype than float16 dynamic scaling turns itself off, with a warning, as in
    Paddle.
    """

    def __init__(
        self,
        enable=True,
        init_loss_scaling=65536.0,
        incr_ratio=2.0,
        decr_ratio=0.5,
        incr_every_n_steps=2000,
        decr_every_n_nan_or_inf=1,
        use_dynamic_loss_scaling=True,
    ):
        self._enable = enable
        self.set_incr_ratio(incr_ratio)
        self.set_decr_ratio(decr_ratio)
        self._incr_every_n_steps, self._decr_every_n_nan_or_inf = incr_every_n_steps, decr_every_n_nan_or_inf
        self._use_dynamic_loss_scaling = enable and use_dynamic_loss_scaling
        self._init_loss_scaling = self._scale = float(init_loss_scaling) if enable else 1.0
        self._incr_count = self._decr_count = 0
        self._found_inf = False
        self._unscaled: set[int] = set()
        self._stepped: set[int] = set()

    def scale(self, var: Tensor) -> Tensor:
        """The loss times the scale."""
        if not isinstance(var, Tensor):
            raise InvalidType(f"var: expected a Tensor, got {type(var).__name__}")
        if self._enable and casting.last_dtype != "float16" and self._use_dynamic_loss_scaling:
            self._enable = self._use_dynamic_loss_scaling = False
            self._init_loss_scaling = 1.0
            text = f"GradScaler: dynamic loss scaling is not for {casting.last_dtype}; it is turned off"
            warnings.warn(text, stacklevel=2)
        return var * self._scale if self._enable else var

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the scale, once between two updates: before clipping them by hand."""
        if not self._enable:
            return
        if id(optimizer) in self._stepped | self._unscaled:
            raise RuntimeError(
                "unscale_: expected update() first: unscale_() or step() was called since the last one"
            )
        given = [p._grad for p in optimizer._parameter_list]
        found = [g for g in given if g is not None]
        gradients = [g.own_values() if isinstance(g, RowGradient | RowSparse) else g.data for g in found]
        if gradients:
            torch._foreach_mul_(gradients, 1.0 / self._scale)
        self._found_inf = not all(bool(torch.isfinite(g).all()) for g in gradients)
        self._unscaled.add(id(optimizer))

    def step(self, optimizer: Any) -> None:
        """A step of the optimizer, unless a gradient is not finite."""
        if not self._enable:
            optimizer.step()
            return
        if id(optimizer) in self._stepped:
            raise RuntimeError("step: expected update() first: step() was called since the last one")
        if id(optimizer) not in self._unscaled:
            self.unscale_(optimizer)
        if not self._found_inf:
            optimizer.step()
        self._stepped.add(id(optimizer))
        if not self._use_dynamic_loss_scaling:
            self._begin()

    def update(self) -> None:
        """Adjust the scale to what the last step found."""
        if not (self._enable and self._use_dynamic_loss_scaling):
            return
        if self._found_inf:
            self._incr_count, self._decr_count = 0, self._decr_count + 1
            if self._decr_count == self._decr_every_n_nan_or_inf:
                lower = self._scale * self._decr_ratio
                print(f"Found inf or nan, the loss scale {self._scale:g} becomes {lower:g}")
                self._scale, self._decr_count = lower, 0
        else:
            self._incr_count, self._decr_count = self._incr_count + 1, 0
            if self._incr_count == self._incr_every_n_steps:
                self._scale, self._incr_count = self._scale * self._incr_ratio, 0
        self._begin()

    def _begin(self) -> None:
        self._unscaled, self._stepped = set(), set()

    def minimize(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """`step` and `update` in one call, given the scaled loss after its backward."""
        pairs = optimizer.backward(*args, **kwargs)
        self.step(optimizer)
        self.update()
        return [], pairs

    def is_enable(self) -> bool:
        """Whether the loss is scaled."""
        return self._enable

    def is_use_dynamic_loss_scaling(self) -> bool:
        """Whether the scale adapts."""
        return self._use_dynamic_loss_scaling

    def set_init_loss_scaling(self, new_init_loss_scaling: float) -> None:
        """Set the scale."""
        self._init_loss_scaling = self._scale = float(new_init_loss_scaling)

    def set_incr_ratio(self, new_incr_ratio: float) -> None:
        """Set the factor by which the scale grows, above 1."""
        if not new_incr_ratio > 1:
            raise InvalidArgument(f"incr_ratio: expected a number above 1, got {new_incr_ratio}")
        self._incr_ratio = new_incr_ratio

    def set_decr_ratio(self, new_decr_ratio: float) -> None:
        """Set the factor by which the scale shrinks, below 1."""
        if not new_decr_ratio < 1:
            raise InvalidArgument(f"decr_ratio: expected a number below 1, got {new_decr_ratio}")
        self._decr_ratio = new_decr_ratio

    def set_incr_every_n_steps(self, new_incr_every_n_steps: int) -> None:
        """Set the number of finite steps before the scale grows."""
        self._incr_every_n_steps = new_incr_every_n_steps

    def set_decr_every_n_nan_or_inf(self, new_decr_every_n_nan_or_inf: int) -> None:
        """Set the number of steps with NaN or infinity before the scale shrinks."""
        self._decr_every_n_nan_or_inf = new_decr_every_n_nan_or_inf

    get_init_loss_scaling = _reads("_init_loss_scaling")
    get_incr_ratio = _reads("_incr_ratio")
    get_decr_ratio = _reads("_decr_ratio")
    get_incr_every_n_steps = _reads("_incr_every_n_steps")
    get_decr_every_n_nan_or_inf = _reads("_decr_every_n_nan_or_inf")

    def state_dict(self) -> dict[str, Any]:
        """Paddle's keys; empty when it is off."""
        if not self._enable:
            return {}
        counts = {"incr_count": self._incr_count, "decr_count": self._decr_count}
        found = {key: getattr(self, f"_{key}") for key in _KEPT}
        return {"scale": np.array([self._scale], np.float32), **found, **counts}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a `state_dict`. RuntimeError for an empty one."""
        if not self._enable:
            return
        if not state_dict:
            raise RuntimeError("load_state_dict: expected the state of an enabled scaler, got an empty state")
        self.set_init_loss_scaling(float(np.ravel(state_dict["scale"])[0]))
        for key in (*_KEPT, "incr_count", "decr_count"):
            setattr(self, f"_{key}", state_dict[key])

    set_state_dict = load_state_dict


class AmpScaler(GradScaler):
    """GradScaler's older name, with other defaults."""

    __init__ = with_defaults(GradScaler.__init__, init_loss_scaling=2.0**15, incr_every_n_steps=1000)
