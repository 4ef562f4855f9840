"""Layers that only keep the settings of a function: one row each, their signature taken from the
function's."""

import inspect
from collections.abc import Callable
from operator import attrgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..engine.spelling import renamed
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from .layer import Layer, alias

_OWN = ("training", "out")  # a layer knows whether it trains
_PLAIN = inspect.Parameter.POSITIONAL_OR_KEYWORD
REQUIRED = inspect.Parameter.empty


class FunctionLayer(Layer):
    """Keeps settings as attributes and hands them to a function after its inputs::

        class Softmax(FunctionLayer, of=F.softmax, takes="axis name"):
            '''exp(x) / sum(exp(x)) along an axis.'''

    of: the function. inputs: how many of its first parameters forward takes; the others are settings. takes:
    the layer's settings in its own order, where they are fewer or in another. shows: those that its repr
    shows (see Layer._shows), all unless given. private: the settings that are also attributes under Paddle's
    private name, `_axis` for `axis`; "*" for all of them. Further keywords are other defaults, or values of
    settings that the layer does not take.
    """

    _function: Callable[..., Any]
    _names: list[str]
    _values: Any
    _settings: inspect.Signature
    _inputs = 1
    _private = ""
    _shows = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the settings

    def __init_subclass__(
        cls: Any,
        of: Any = None,
        takes: str | None = None,
        inputs: int | None = None,
        shows: str | None = None,
        private: str | None = None,
        **fixed: Any,
    ) -> None:
        super().__init_subclass__()
        cls._inputs = cls._inputs if inputs is None else inputs
        cls._shows = cls._shows if shows is None else shows
        cls._private = cls._private if private is None else private
        if of is not None:
            cls._function = staticmethod(of)
        if of is None and takes is None:
            return  # a family's base, or a user's subclass
        known = [p for p in inspect.signature(cls._function).parameters.values() if p.kind is _PLAIN]
        rest = {
            p.name: p.replace(default=fixed.get(p.name, getattr(cls, p.name, p.default)))
            for p in known[cls._inputs :]
        }
        cls._names = [p.name for p in known[: cls._inputs]]
        for name, parameter in rest.items():
            if name != "training":
                setattr(cls, name, parameter.default)
        cls._values = attrgetter(*rest, "_inputs")  # of one name alone it would not be a tuple
        names = [n for n in rest if n not in _OWN] if takes is None else takes.split()
        for name in names if cls._private == "*" else cls._private.split():
            setattr(cls, f"_{name}", alias(name))
        cls._settings = inspect.Signature([rest[n] if n in rest else _named(n, fixed) for n in names])

        def __init__(self: Any, *args: Any, **settings: Any) -> None:
            FunctionLayer.__init__(self, *args, **settings)

        if cls._shows is None:
            cls._shows = " ".join(f"{n}?" if n == "name" else n for n in names)
        own = [inspect.Parameter("self", _PLAIN), *cls._settings.parameters.values()]
        made: Any = __init__
        made.__signature__ = inspect.Signature(own)
        cls.__init__ = made

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__()
        try:
            bound = self._settings.bind(*args, **renamed(list(self._settings.parameters), settings))
        except TypeError as error:
            raise InvalidType(f"{type(self).__name__}: {error}") from None
        bound.apply_defaults()
        vars(self).update(bound.arguments)
        self._check()

    def _check(self) -> None:
        """Refuse settings that no input could go with."""
        if getattr(self, "reduction", "mean") not in ("mean", "sum", "none", "batchmean", None):
            raise InvalidArgument(f"reduction: expected 'mean', 'sum' or 'none', got {self.reduction!r}")

    def forward(self, *inputs: Any, **named: Any) -> Tensor:
        if named:
            named = renamed(self._names, named)
            inputs = (*inputs, *(named.pop(n) for n in self._names[len(inputs) :] if n in named))
            if named:
                raise InvalidType(
                    f"{type(self).__name__}: forward takes {', '.join(self._names)}, got {', '.join(named)}"
                )
        return self._function(*inputs, *self._values(self)[:-1])


def _named(name: str, fixed: dict[str, Any]) -> inspect.Parameter:
    """A setting that the function does not have, such as a `name` that nothing uses."""
    return inspect.Parameter(name, _PLAIN, default=fixed.get(name, None if name == "name" else REQUIRED))


def init_of(settings: str, keep: Callable[..., None]) -> Any:
    """An `__init__` with these settings, written as between the parentheses of a `def`: it calls keep(self,
    **them)."""
    signature = inspect.signature(eval(f"lambda self, {settings}: None"))

    def __init__(*args: Any, **kwargs: Any) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        keep(**bound.arguments)

    made: Any = __init__
    made.__signature__ = signature
    return made


def with_defaults(init: Any, **defaults: Any) -> Any:
    """The function `init` with other defaults of its arguments."""
    names = init.__code__.co_varnames[: init.__code__.co_argcount]
    old = dict(zip(reversed(names), reversed(init.__defaults__ or ()), strict=False))
    made = FunctionType(init.__code__, init.__globals__, init.__name__, None, init.__closure__)
    made.__defaults__ = tuple(defaults.get(n, old[n]) for n in names if n in old)
    made.__kwdefaults__ = {k: defaults.get(k, v) for k, v in (init.__kwdefaults__ or {}).items()}
    for key in ("__doc__", "__annotations__", "__qualname__"):
        setattr(made, key, getattr(init, key))
    return made
