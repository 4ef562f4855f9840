"""How a Model steps: in mixed precision, and on every n-th batch."""

from __future__ import annotations

from typing import Any

from ..engine.tensor import InvalidArgument


class Precision:
    """Mixed precision of a Model: what `auto_cast` is given, and a GradScaler."""

    def __init__(self, level: str = "O1", dtype: str = "float16", **settings: Any) -> None:
        lists = ("custom_white_list", "custom_black_list", "use_promote")
        from .. import amp  # most programs do without

        self.amp, self.level, self.dtype = amp, level, dtype
        self.casts = {key: settings.pop(key) for key in lists if key in settings}
        try:
            self.scaler = amp.GradScaler(dtype == "float16", **settings)
        except TypeError as error:
            raise InvalidArgument(f"amp_configs: {error}") from None

    @staticmethod
    def of(configs: Any) -> Precision | None:
        """The Precision for amp_configs, a level or a dictionary; None without mixed precision."""
        given = {"level": configs} if isinstance(configs, str) else dict(configs or {"level": "O0"})
        if given.setdefault("level", "O1") not in ("O0", "O1", "O2"):
            raise InvalidArgument(
                f"amp_configs: expected the level 'O0', 'O1' or 'O2', got {given['level']!r}"
            )
        return None if given["level"] == "O0" else Precision(**given)

    def casting(self) -> Any:
        return self.amp.auto_cast(level=self.level, dtype=self.dtype, **self.casts)

    def decorate(self, network: Any, optimizer: Any) -> None:
        self.amp.decorate(network, optimizer, self.level, self.dtype)

    def scale(self, loss: Any) -> None:
        """Let the gradients be those of the scaled loss; the loss itself stays, for reports."""
        if self.scaler.is_enable() and not loss.stop_gradient:
            loss.register_hook(self.scaler.scale)


class _Scaled:
    """An optimizer that steps through a GradScaler."""

    def __init__(self, optimizer: Any, scaler: Any) -> None:
        self.optimizer, self.scaler = optimizer, scaler
        self.clear_grad = optimizer.clear_grad

    def step(self) -> None:
        self.scaler.step(self.optimizer)
        self.scaler.update()


class EveryFew:
    """An optimizer that acts on every n-th step only: gradients add up in between."""

    def __init__(self, optimizer: Any, every: int, steps: int | None) -> None:
        self.optimizer, self.every, self.steps, self.seen = optimizer, every, steps, 0

    def step(self) -> None:
        self.seen += 1
        if self._acts():
            self.optimizer.step()

    def clear_grad(self) -> None:
        if self._acts():
            self.optimizer.clear_grad()

    def _acts(self) -> bool:
        return self.seen % self.every == 0 or self.seen == self.steps


def stepping(optimizer: Any, precision: Precision | None, every: int, steps: int | None) -> Any:
    """The optimizer as training calls it."""
    found = optimizer if precision is None else _Scaled(optimizer, precision.scaler)
    return found if every == 1 else EveryFew(found, every, steps)
