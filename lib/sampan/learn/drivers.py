"""How a learner's function is called by a check: a driver takes plain values, calls it, and
returns plain values.

Drivers run where the learner's code runs and do not know the expected answers. The visible checks and
the grader use the same ones. Arrays reach the function as buffers (`torch.Tensor`), a `Strided` one as a view
with gaps.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import torch

from . import lessons, slots
from .cases import Names, Text
from .language import say
from .plain import Strided, plain

Driver = Callable[..., Any]
Naming = Callable[..., Names]
_drivers: dict[str, Driver] = {}
_namings: dict[str, Naming] = {}


class Missing(LookupError):
    """Raised when a slot holds no learner's function."""


def driver(function: Driver | None = None, *, answer: Naming | None = None) -> Any:
    """Decorator: registers `function(slot, *args)` under its own name.

    answer: called as `answer(parameters, *args)` with the names of the slot's parameters; it returns the
    names of the parts of the driver's answer, so that a message says `out` or "the gradient of x" and not
    `result[1][0]`.
    """
    if function is None:
        return partial(driver, answer=answer)
    _drivers[function.__name__] = function
    if answer is not None:
        _namings[function.__name__] = answer
    return function


def answer_names(slot_name: str, driver_name: str, args: tuple[Any, ...]) -> Names:
    """The names of the parts of that driver's answer to `args`; None where it has one part, or none has a
    name."""
    lessons.installed()  # an installed course registers its drivers
    naming = _namings.get(driver_name)
    if naming is None:
        return None
    return naming(list(inspect.signature(slots.get(slot_name).original).parameters), *args)


def parameter(name: str) -> Text:
    """The value of an argument after the call."""
    return f"`{name}`", f"`{name}`"


def gradient_of(name: str) -> Text:
    return f"the gradient of `{name}`", f"`{name}` 的梯度"


THE_VALUE: Text = ("the value", "函数值")


def value_and_gradients(parameters: list[str], inputs: list[Any], *_: Any) -> Names:
    """The answer (value, one gradient for each input); the inputs are the first parameters."""
    return [THE_VALUE, [gradient_of(name) for name in parameters[: len(inputs)]]]


def run(slot_name: str, driver_name: str, args: tuple[Any, ...]) -> Any:
    """The answer of the learner's function in that slot, as plain values; every other slot holds the
    library's.

    Raises `Missing` when the slot holds no learner's function, else whatever the learner's code raises.
    """
    _named(driver_name)
    with slots.only(slot_name) as slot:
        if slot.function is None:
            missing = "no function of yours is in the slot; run its cell first"
            raise Missing(
                say((f"{slot_name}: {missing}", f"{slot_name}：槽位里还没有你的函数；先运行它的单元格"))
            )
        return answer_of(slot, driver_name, args)


def answer_of(slot: slots.Slot, driver_name: str, args: tuple[Any, ...]) -> Any:
    """The answer of the function that is in the slot's place now, the learner's or the library's."""
    return plain(_named(driver_name)(slot, *(buffers(arg) for arg in args)))


def _named(name: str) -> Driver:
    lessons.installed()  # an installed course registers its drivers
    if name not in _drivers:
        raise ValueError(f"there is no driver {name!r}; there are {sorted(_drivers)}")
    return _drivers[name]


def buffers(value: Any) -> Any:
    """Copies of a plain tree's arrays as buffers."""
    if isinstance(value, Strided):
        array = torch.from_numpy(np.ascontiguousarray(value.array))
        gaps = torch.zeros(*array.shape[:-1], 2 * array.shape[-1], dtype=array.dtype)
        view = gaps[..., ::2]
        view.copy_(array)
        return view
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.array(value))  # a copy: the function may write into it
    if isinstance(value, (list, tuple)):
        return type(value)(buffers(item) for item in value)
    if isinstance(value, dict):
        return {key: buffers(item) for key, item in value.items()}
    return value


@driver
def call(slot: slots.Slot, *args: Any) -> Any:
    """The function's result."""
    return slot.placed(*args)
