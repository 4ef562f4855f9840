"""Second names of operators, as functions, as methods and, where there is one, for their in-place twins."""

from ..engine.operator import as_method
from ..engine.tensor import Tensor, declared
from . import inplace

_NAMES = (
    "mul=multiply sub=subtract div=divide true_divide=divide mod=remainder floor_mod=remainder clamp=clip "
    "eq=equal ne=not_equal lt=less_than le=less_equal gt=greater_than ge=greater_equal less=less_than "
    "greater=greater_than bitwise_invert=bitwise_not gammaln=lgamma negative=neg "
    "view_as_real=as_real view_as_complex=as_complex ger=outer reverse=flip swapdims=swapaxes "
    "take_along_dim=take_along_axis"
)
ALIASES = dict(pair.split("=") for pair in _NAMES.split())
__all__ = list(ALIASES)

for _alias, _name in ALIASES.items():
    globals()[_alias] = _function = getattr(declared, _name)
    if hasattr(Tensor, _name):
        as_method(_function, _alias)
    _twin = getattr(inplace, f"{_name}_", None)
    if _twin is not None:
        globals()[f"{_alias}_"] = _twin
        as_method(_twin, f"{_alias}_")
        __all__ += [f"{_alias}_"]
