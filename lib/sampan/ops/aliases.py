"""Second names of operators, as functions, as methods and, where there is one, for their in-place twins."""

from __future__ import annotations

import functools
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from ..operator import as_method
from ..tensor import Tensor, declared
from . import inplace

_NAMES = (
    "mul=multiply sub=subtract div=divide true_divide=divide mod=remainder floor_mod=remainder clamp=clip "
    "eq=equal ne=not_equal lt=less_than le=less_equal gt=greater_than ge=greater_equal less=less_than "
    "greater=greater_than bitwise_invert=bitwise_not gammaln=lgamma view_as_real=as_real view_as_complex=as_complex "
    "ger=outer reverse=flip swapdims=swapaxes take_along_dim=take_along_axis"
)
ALIASES = dict(pair.split("=") for pair in _NAMES.split())
# The parameters that Paddle shows where they are not the operator's; both spellings are taken.
_SHOWN = {"true_divide": "input other", "view_as_real": "input", "view_as_complex": "input"}
__all__ = list(ALIASES)


def _shown(function: Callable[..., Any], names: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **settings: Any) -> Any:
        return function(*args, **settings)

    out = [Parameter("out", Parameter.KEYWORD_ONLY, default=None)] if "other" in names else []
    given = [Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in names.split()]
    call.__signature__ = Signature([*given, *out])  # type: ignore[attr-defined]
    return call


for _alias, _name in ALIASES.items():
    _function = getattr(declared, _name)
    globals()[_alias] = _function = _shown(_function, _SHOWN[_alias]) if _alias in _SHOWN else _function
    if hasattr(Tensor, _name):
        as_method(_function, _alias)
    _twin = getattr(inplace, f"{_name}_", None)
    if _twin is not None:
        globals()[f"{_alias}_"] = _twin
        as_method(_twin, f"{_alias}_")
        __all__ += [f"{_alias}_"]
