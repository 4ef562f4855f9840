"""Parameter: a Tensor that an optimizer changes."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch

from ..dtype import as_dtype, name_of
from ..engine.tensor import InvalidType, Tensor

__all__ = ["Parameter"]


class UniqueNameGenerator:
    """Names `prefix_0`, `prefix_1`, ... of each key: Paddle's names of layers and parameters."""

    def __init__(self, prefix: str | None = None) -> None:
        self.prefix, self.ids = prefix or "", Counter[str]()

    def generate(self, key: str) -> str:
        self.ids[key] += 1
        return f"{self.prefix}{key}_{self.ids[key] - 1}"

    __call__ = generate


_generators = [UniqueNameGenerator()]


def unique_name(prefix: str) -> str:
    """The next name of `prefix`, from the generator in use."""
    return _generators[-1].generate(prefix)


def switch(new_generator: UniqueNameGenerator | None = None) -> UniqueNameGenerator:
    """Use another generator, a new one when None; returns the one before."""
    before, _generators[-1] = _generators[-1], new_generator or UniqueNameGenerator()
    return before


@contextlib.contextmanager
def guard(new_generator: Any = None) -> Iterator[None]:
    """Names are counted from 0 inside, with a prefix where one is given (a str, or a generator of names)."""
    text = new_generator.decode() if isinstance(new_generator, bytes) else new_generator
    before = switch(UniqueNameGenerator(text) if isinstance(text, str) else text)
    try:
        yield
    finally:
        switch(before)


class Parameter(Tensor):
    """A leaf of the tape that wants its gradient, unless requires_grad is False.

    trainable: whether the optimizer changes it; the opposite of stop_gradient.
    optimize_attr: {"learning_rate": factor on the optimizer's rate}.
    regularizer: takes the place of the optimizer's weight decay where it is not None.
    need_clip: whether gradient clipping counts and changes it.
    """

    __slots__ = ("do_model_average", "is_distributed", "need_clip", "optimize_attr", "regularizer")

    def __init__(
        self,
        data: Any,
        requires_grad: bool = True,
        name: str | None = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        need_clip: bool = True,
    ) -> None:
        super().__init__(data, not requires_grad)
        if requires_grad and not (self.data.is_floating_point() or self.data.is_complex()):
            raise InvalidType(f"Parameter: expected a floating dtype, got {name_of(self.data.dtype)}")
        self.name = name or unique_name("parameter")
        self.optimize_attr = {"learning_rate": learning_rate}
        self.regularizer, self.need_clip = regularizer, need_clip
        self.persistable = self.do_model_average = True
        self.is_distributed = False

    @classmethod
    def from_tensor(cls, tensor: Tensor, trainable: bool = True, **facts: Any) -> Parameter:
        """A Parameter over a tensor's memory. facts: name, regularizer, need_clip."""
        return cls(tensor, trainable, **facts)

    def initialize(self) -> None:
        """Nothing to do: its values are there since it was made, also within a LazyGuard."""

    @property
    def trainable(self) -> bool:
        return not self.stop_gradient

    @trainable.setter
    def trainable(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise InvalidType(f"trainable: expected a bool, got {value!r}")
        self.stop_gradient = not value

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        copied = Parameter(self.data.clone(), self.trainable, None, 1.0, self.regularizer, self.need_clip)
        copied.optimize_attr = dict(self.optimize_attr)
        memo[id(self)] = copied
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        rate = self.optimize_attr["learning_rate"]
        facts = (self.stop_gradient, self._name, rate, self.regularizer, self.need_clip)
        return _restored, (super().__reduce__()[1], facts)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


def _restored(content: tuple[Any, ...], facts: tuple[Any, ...]) -> Parameter:
    _, array, dtype, _ = content
    stop_gradient, *rest = facts
    return Parameter(torch.from_numpy(array).to(as_dtype(dtype)), not stop_gradient, *rest)
