"""ParamAttr: how a parameter is named, initialised, updated and regularised."""

from __future__ import annotations

from typing import Any

from ..engine.tensor import InvalidType
from .initializer import Initializer

__all__ = ["ParamAttr"]


class ParamAttr:
    """Given to a layer as `weight_attr` or `bias_attr`.

    learning_rate: factor on the optimizer's rate, for this parameter. regularizer: takes the place of the
    optimizer's weight decay. need_clip: whether gradient clipping counts and changes this parameter.
    """

    def __init__(
        self,
        name: str | None = None,
        initializer: Initializer | None = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = True,
        need_clip: bool = True,
    ) -> None:
        self.name, self.initializer, self.trainable = name, initializer, trainable
        self.learning_rate, self.regularizer = learning_rate, regularizer
        self.do_model_average, self.need_clip = do_model_average, need_clip

    @staticmethod
    def of(value: Any) -> ParamAttr | None:
        """The ParamAttr for `value`: one, a name, an initializer, True or None (the defaults), or
        False (no parameter: None comes back). TypeError for anything else."""
        if value is False:
            return None
        if value is None or value is True:
            return ParamAttr()
        if isinstance(value, ParamAttr):
            return value
        if isinstance(value, str):
            return ParamAttr(name=value)
        if isinstance(value, Initializer):
            return ParamAttr(initializer=value)
        raise InvalidType(
            f"attr: expected a ParamAttr, name, initializer or bool, got {type(value).__name__}"
        )
