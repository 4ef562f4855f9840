"""Checks of arguments that the functions of this package share."""

from numbers import Integral
from typing import Any

from ..engine.error_translation import describe
from ..engine.errors import InvalidType


def check_kind(value: Any, kind: type, label: str) -> None:
    """InvalidType unless `value` is of class `kind`, int meaning any integer; label: the argument's name."""
    if not isinstance(value, Integral if kind is int else kind):
        article = "an" if kind.__name__[0] in "AEIOUaeiou" else "a"
        raise InvalidType(f"{label}: expected {article} {kind.__name__}, got {describe(value)}")
