"""Parameter: a Tensor that an optimizer changes."""

from __future__ import annotations

from typing import Any

import torch

from ..tensor import Tensor

# fmt: off
__all__ = [
    "Parameter",
]
# fmt: on

_counts: dict[str, int] = {}


def unique_name(prefix: str) -> str:
    """`prefix_0`, `prefix_1`, ...: Paddle's names of layers and parameters."""
    number = _counts.get(prefix, 0)
    _counts[prefix] = number + 1
    return f"{prefix}_{number}"


class Parameter(Tensor):
    """A leaf of the tape that wants its gradient.

    trainable: whether the optimizer changes it; the opposite of stop_gradient.
    optimize_attr: {"learning_rate": factor on the optimizer's rate}.
    regularizer: takes the place of the optimizer's weight decay where it is not None.
    need_clip: whether gradient clipping counts and changes it.
    """

    __slots__ = ("need_clip", "optimize_attr", "regularizer")

    def __init__(
        self,
        data: Any,
        stop_gradient: bool = False,
        name: str | None = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        need_clip: bool = True,
    ) -> None:
        super().__init__(data, stop_gradient)
        if not (self.data.is_floating_point() or self.data.is_complex()):
            raise TypeError(
                f"Parameter: expected a floating dtype, got {str(self.data.dtype).removeprefix('torch.')}"
            )
        self.name = name or unique_name("parameter")
        self.optimize_attr = {"learning_rate": learning_rate}
        self.regularizer = regularizer
        self.need_clip = need_clip

    @property
    def trainable(self) -> bool:
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self.stop_gradient = not value

    @property
    def persistable(self) -> bool:
        return True

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        copied = Parameter(self.data.clone(), self.stop_gradient, None, 1.0, self.regularizer, self.need_clip)
        copied.optimize_attr = dict(self.optimize_attr)
        memo[id(self)] = copied
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        facts = (
            self.stop_gradient,
            self._name,
            self.optimize_attr["learning_rate"],
            self.regularizer,
            self.need_clip,
        )
        return _restored, (super().__reduce__()[1], facts)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


def _restored(content: tuple[Any, ...], facts: tuple[Any, ...]) -> Parameter:
    _, array, dtype, _ = content
    from ..dtype import as_dtype

    return Parameter(torch.from_numpy(array).to(as_dtype(dtype)), *facts)
