"""Layer: what every network is made of.

A layer's attributes are the one record of what it holds: a Parameter, a Layer or a registered buffer that is
an attribute belongs to it, in the order of assignment. So an attribute costs a plain look-up in `forward`.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import torch

from ..dtype import as_device, as_dtype, get_default_dtype, name_of
from ..engine.errors import prefix_function_name
from ..engine.tensor import HookHandle, InvalidArgument, InvalidType, Tensor
from ..ops.shape import _ints
from ..row_sparse import RowGradient
from .attr import ParamAttr
from .initializer import Constant, Initializer, XavierUniform, global_initializer
from .parameter import Parameter, unique_name

__all__ = ["Layer", "Module"]


def alias(name: str) -> Any:
    """A class attribute that reads and assigns the attribute `name`: Paddle's private name of a setting."""
    return property(attrgetter(name), lambda self, value: setattr(self, name, value))


def _hooks() -> Any:
    """A layer's hooks of one kind by their id. The dictionary is created on first use."""
    return functools.cached_property(lambda self: OrderedDict())


R = TypeVar("R", covariant=True)
epoch = 0  # grows with each change of an attribute of any layer, for `jit`


class _Runs(Protocol[R]):
    """A layer whose `forward` returns R, for type checkers: so does a call of the layer."""

    @property
    def forward(self) -> Callable[..., R]: ...


class Layer:
    """Subclass it, assign Parameters and Layers to attributes, write `forward`.

    training: True after `train()` (the start), False after `eval()`.
    """

    training = True
    # Paddle's names: programs read and assign them.
    _built, _init_in_dynamic_mode, _cast_to_low_precision = False, True, True
    _device = None
    # What repr shows: attributes; "label:" before one is another name, "?" after it: where it is not usual.
    _shows: Any = ""
    _buffer_names: dict[str, bool] = {}  # name: persistable; an own dict as soon as there is a buffer
    _emptied: frozenset[str] = (
        frozenset()
    )  # names whose value was replaced by None: they keep their place in the order
    _forward_pre_hooks, _forward_post_hooks, _state_dict_hooks = _hooks(), _hooks(), _hooks()
    _forward_pre_hooks_with_kwargs_flag, _forward_post_hooks_with_kwargs_flag = _hooks(), _hooks()
    _forward_post_hooks_always_called = _hooks()

    def __init__(self, name_scope: str | None = None, dtype: Any = None) -> None:
        words = re.sub(r"(?<=.)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", type(self).__name__)
        self._full_name = unique_name(name_scope or words.lower())
        self._dtype = get_default_dtype() if dtype is None else dtype

    def __setattr__(self, name: str, value: Any) -> None:
        global epoch
        epoch += 1
        own = vars(self)
        held = own.get(name)
        kind = Parameter if isinstance(held, Parameter) else Layer if isinstance(held, Layer) else Tensor
        typed = held is not None and value is not None and (kind is not Tensor or name in self._buffer_names)
        if typed and not isinstance(value, kind):
            wanted = f"a {kind.__name__} or None in its place"
            raise InvalidType(f"{name}: expected {wanted}, got {type(value).__name__}")
        if value is None and kind is not Tensor:
            self._emptied = self._emptied | {name}
        elif (
            name in own
            and kind is Tensor
            and isinstance(value, Parameter | Layer)
            and name not in self._emptied
        ):
            del own[name]  # it was a plain attribute: the order is that of this assignment
        object.__setattr__(self, name, value)

    # --- running ---

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Computes the result of the call. A subclass defines it."""
        raise NotImplementedError(f"{type(self).__name__}.forward: write it in the subclass")

    if TYPE_CHECKING:

        def __call__(self: _Runs[R], *inputs: Any, **kwargs: Any) -> R: ...

    else:

        def __call__(self, *inputs, **kwargs):
            if self._forward_pre_hooks or self._forward_post_hooks:
                return self._call_with_hooks(inputs, kwargs)
            return self.forward(*inputs, **kwargs)

    def _call_with_hooks(self, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        outputs, finished = None, False
        try:
            for key, hook in tuple(self._forward_pre_hooks.items()):
                if key in self._forward_pre_hooks_with_kwargs_flag:
                    inputs, kwargs = hook(self, inputs, kwargs) or (inputs, kwargs)
                    continue
                changed = hook(self, inputs)
                if changed is not None:
                    inputs = changed if isinstance(changed, tuple) else (changed,)
            outputs, finished = self.forward(*inputs, **kwargs), True
        finally:
            for key, hook in tuple(self._forward_post_hooks.items()):
                if finished or key in self._forward_post_hooks_always_called:
                    named = [kwargs] if key in self._forward_post_hooks_with_kwargs_flag else []
                    changed = hook(self, inputs, *named, outputs)
                    outputs = outputs if changed is None else changed
        return outputs

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call `hook(layer, inputs)` before forward; what it returns, unless None, replaces the inputs.

        with_kwargs: `hook(layer, inputs, kwargs)`, which returns both or None. prepend: before the others.
        """
        flags = [self._forward_pre_hooks_with_kwargs_flag] if with_kwargs else []
        return _Handle(self._forward_pre_hooks, hook, prepend, flags)

    def register_forward_post_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call `hook(layer, inputs, outputs)` after forward; what it returns, unless None, replaces the
        outputs.

        with_kwargs: `hook(layer, inputs, kwargs, outputs)`. always_call: also when forward raises, with None.
        """
        flags = [self._forward_post_hooks_with_kwargs_flag] if with_kwargs else []
        flags += [self._forward_post_hooks_always_called] if always_call else []
        return _Handle(self._forward_post_hooks, hook, prepend, flags)

    register_forward_hook = register_forward_post_hook

    def register_state_dict_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(state_dict)` at the end of `state_dict`; it may change the dictionary, or return
        another."""
        return _Handle(self._state_dict_hooks, hook)

    def backward(self, *inputs: Any) -> Any:
        """Always an error: call `backward()` of the result."""
        raise InvalidArgument(
            f"{type(self).__name__}.backward: a Layer has none; call backward() of its result"
        )

    def train(self, mode: bool = True) -> Layer:
        """Switch this layer and all below to train mode, or with False to eval mode; returns the layer."""
        if not isinstance(mode, bool):
            raise InvalidArgument(f"mode: expected True or False, got {mode!r}")
        for layer in self.sublayers(include_self=True):
            layer.training = mode
        return self

    def eval(self) -> Layer:
        """Switch this layer and all below to eval mode: `train(False)`."""
        return self.train(False)

    # --- what it holds ---

    def create_parameter(
        self,
        shape: Sequence[int],
        attr: Any = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Initializer | None = None,
        device: Any = None,
    ) -> Parameter | None:
        """A new Parameter, or None for `attr=False`. Biases start at 0, weights XavierUniform, unless
        given."""
        attr = ParamAttr.of(attr)
        if attr is None:
            return None
        usual = global_initializer(is_bias) or default_initializer
        initializer = attr.initializer or usual or (Constant(0.0) if is_bias else XavierUniform())
        kind = as_dtype(self._dtype if dtype is None else dtype)
        if not isinstance(initializer, Initializer) or not (kind.is_floating_point or kind.is_complex):
            raise InvalidType(
                f"expected an Initializer and a floating dtype, got {initializer!r}, {name_of(kind)}"
            )
        shape = _ints(list(shape), "shape")
        if min(shape, default=0) < 0:
            raise InvalidArgument(f"shape: expected sizes of 0 or more, got {list(shape)}")
        buffer = initializer.make(shape, kind).to(as_device(device))
        name = attr.name or unique_name(f"{self._full_name}.{'b' if is_bias else 'w'}")
        rate, decay = attr.learning_rate, attr.regularizer
        return Parameter(buffer, attr.trainable, name, rate, decay, attr.need_clip)

    def create_tensor(
        self, name: str | None = None, persistable: bool | None = None, dtype: Any = None
    ) -> Tensor:
        """An empty Tensor of this layer's dtype."""
        kind = as_dtype(self._dtype if dtype is None else dtype)
        made = Tensor(torch.empty(0, dtype=kind, device=as_device(None)))
        made.name = f"{self._full_name}.{name}" if name else unique_name(f"{self._full_name}._generated_var")
        return made

    create_variable = create_tensor

    def add_parameter(self, name: str, parameter: Parameter | None) -> Parameter | None:
        """Register a Parameter (or None) under a name. KeyError if the name is taken or not allowed."""
        if parameter is not None and not isinstance(parameter, Parameter):
            raise InvalidType(f"parameter: expected a Parameter or None, got {type(parameter).__name__}")
        if isinstance(vars(self).get(name), Layer) or name in self._buffer_names:
            raise KeyError(
                f"add_parameter: name: {name!r} is a layer or a buffer of this {type(self).__name__} already"
            )
        if hasattr(self, str(name)) and not isinstance(vars(self).get(name), Parameter):
            raise KeyError(
                f"add_parameter: name: {name!r} is an attribute of this {type(self).__name__} already"
            )
        setattr(self, self._attribute(name), parameter)
        return parameter

    def add_sublayer(self, name: str, sublayer: Layer) -> Layer:
        """Register a layer under a name; returns it. KeyError for the name of a method."""
        if not isinstance(sublayer, Layer):
            raise InvalidType(f"sublayer: expected a Layer, got {type(sublayer).__name__}")
        if getattr(type(self), str(name), None) is not None:
            raise KeyError(f"add_sublayer: name: {name!r} is an attribute of every {type(self).__name__}")
        setattr(self, str(name), sublayer)
        return sublayer

    def register_module(self, name: str, module: Layer) -> None:
        """`add_sublayer`."""
        self.add_sublayer(name, module)

    add_module = register_module

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """`add_parameter`."""
        self.add_parameter(name, param)

    def _found(self, target: str, kind: Any) -> Any:
        """The attribute at a dotted name, if it is of this kind. AttributeError otherwise."""
        place: Any = self
        atoms = target.split(".") if target else []
        for depth, atom in enumerate(atoms):
            if not hasattr(place, atom):
                raise AttributeError(f"{type(place).__name__} has no attribute {atom!r}")
            place = getattr(place, atom)
            wanted = kind if depth == len(atoms) - 1 else Layer
            if not isinstance(place, wanted):
                raise AttributeError(f"{target!r}: {atom!r} is no {wanted.__name__}")
        return place

    def get_sublayer(self, target: str) -> Layer:
        """The layer at a dotted name such as "block.0"; this one for "". AttributeError where there is
        none."""
        return self._found(target, Layer)

    def get_parameter(self, target: str) -> Tensor:
        """The parameter or buffer at a dotted name. AttributeError if there is none."""
        return self._found(target, Tensor)

    get_buffer = get_parameter

    def set_sublayer(self, target: str, layer: Layer, strict: bool = False) -> None:
        """Put a layer at a dotted name, in place of another; strict: there must be one. ValueError,
        AttributeError."""
        if not target or not isinstance(layer, Layer):
            raise InvalidArgument(
                f"target, layer: expected a name and a Layer, got {target!r}, {type(layer)}"
            )
        above, _, last = target.rpartition(".")
        if strict or hasattr(self.get_sublayer(above), last):
            self._found(target, Layer)
        setattr(self.get_sublayer(above), last, layer)

    get_submodule, set_submodule = get_sublayer, set_sublayer

    def get_extra_state(self) -> Any:
        """State besides parameters and buffers. RuntimeError unless a subclass defines it."""
        raise RuntimeError(f"{type(self).__name__}.get_extra_state: it has none")

    def register_buffer(self, name: str, tensor: Tensor | None, persistable: bool = True) -> None:
        """Keep a Tensor that is not a parameter; it moves with the layer, and is saved in state_dict if
        persistable."""
        if tensor is not None and not isinstance(tensor, Tensor):
            raise InvalidType(f"tensor: expected a Tensor or None, got {type(tensor).__name__}")
        if name in vars(self) and name not in self._buffer_names:
            raise KeyError(f"register_buffer: name: {name!r} is an attribute of this layer already")
        self._buffer_names = {**self._buffer_names, self._attribute(name): persistable}
        setattr(self, name, tensor)

    def _attribute(self, name: str) -> str:
        """`name`, if a layer can hold something under it."""
        if not isinstance(name, str):
            raise InvalidType(f"name: expected a string, got {type(name).__name__}")
        if not name or "." in name or getattr(type(self), name, None) is not None:
            raise KeyError(
                prefix_function_name(f"name: {name!r} is empty, has a dot or is an attribute of this layer")
            )
        return name

    @property
    def _parameters(self) -> dict[str, Parameter]:
        return _Held(self, parameters_of(self))

    @property
    def _sub_layers(self) -> dict[str, Layer]:
        return _Held(self, layers_of(self))

    @_sub_layers.setter
    def _sub_layers(self, layers: dict[str, Layer]) -> None:
        held, layers = self._sub_layers, dict(layers)
        held.clear()
        held.update(layers)

    _modules = _sub_layers

    @property
    def _buffers(self) -> dict[str, Tensor]:
        return _HeldBuffers(self, _buffers_of(self))

    @property
    def _non_persistable_buffer_names_set(self) -> set[str]:
        return _NotSaved(self, {name for name, persistable in self._buffer_names.items() if not persistable})

    @_non_persistable_buffer_names_set.setter
    def _non_persistable_buffer_names_set(self, names: set[str]) -> None:
        known = {*self._buffer_names, *names}
        self._buffer_names = {name: name not in names for name in known}

    _non_persistent_buffers_set = _non_persistable_buffer_names_set

    def children(self) -> Iterator[Layer]:
        """The direct sublayers."""
        return (layer for _, layer in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Layer]]:
        """(name, layer) of the direct sublayers, each once."""
        seen: set[Layer] = set()
        for name, layer in layers_of(self).items():
            if layer not in seen:
                seen.add(layer)
                yield name, layer

    def named_sublayers(self, prefix="", include_self=False, layers_set=None, remove_duplicate=True):
        """(structured name, layer) of every layer below, each once (remove_duplicate), in the order of
        assignment."""
        seen = set() if layers_set is None else layers_set
        if remove_duplicate:
            if self in seen:
                return
            seen.add(self)
        if include_self:
            yield prefix, self
        for name, layer in layers_of(self).items():
            place = f"{prefix}.{name}" if prefix else name
            yield from layer.named_sublayers(place, True, seen, remove_duplicate)

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """torch's spelling: with this layer itself."""
        return self.named_sublayers(prefix, True, memo, remove_duplicate)

    def modules(self) -> Iterator[Layer]:
        """This layer and all below, each once."""
        return (layer for _, layer in self.named_modules())

    def sublayers(self, include_self: bool = False) -> list[Layer]:
        """All layers below, each once; include_self: this layer first."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def _named(
        self, held: Callable[[Layer], Any], prefix: str, include_sublayers: bool, once: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        layers = self.named_sublayers(prefix, True, None, once) if include_sublayers else [(prefix, self)]
        for scope, layer in layers:
            for name, value in held(layer).items():
                if not once or id(value) not in seen:
                    seen.add(id(value))
                    yield f"{scope}.{name}" if scope else name, value

    def named_parameters(self, prefix="", include_sublayers=True, remove_duplicate=True):
        """(structured name, parameter), each parameter once even where several layers share it
        (remove_duplicate)."""
        return self._named(parameters_of, prefix, include_sublayers, remove_duplicate)

    def parameters(self, include_sublayers: bool = True) -> list[Parameter]:
        """All parameters, of this layer and (include_sublayers) below, each once."""
        return [p for _, p in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(self, prefix="", include_sublayers=True, remove_duplicate=True):
        """(structured name, Tensor) of every Tensor that is not a parameter."""
        return self._named(_buffers_of, prefix, include_sublayers, remove_duplicate)

    def buffers(self, include_sublayers: bool = True) -> list[Tensor]:
        """All buffers, of this layer and below."""
        return [b for _, b in self.named_buffers(include_sublayers=include_sublayers)]

    def requires_grad_(self, requires_grad: bool = True) -> Layer:
        """Set whether the parameters need gradients; returns the layer."""
        for parameter in self.parameters():
            parameter.stop_gradient = not requires_grad
        return self

    def clear_gradients(self, set_to_zero: bool = True) -> None:
        """Zero the gradients of all parameters (set_to_zero), or remove them."""
        for parameter in self.parameters():
            parameter.clear_gradient(set_to_zero)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Remove the gradients of all parameters (set_to_none), or zero them."""
        self.clear_gradients(not set_to_none)

    def full_name(self) -> str:
        """The layer's own unique name, such as `linear_0`."""
        return self._full_name

    # --- state ---

    def state_dict(
        self,
        destination: dict[str, Tensor] | None = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        keep_vars: bool = True,
    ) -> dict[str, Tensor]:
        """Parameters and persistable buffers by structured name. They are the layer's own, not copies."""
        return self._state(destination, include_sublayers, structured_name_prefix, use_hook, keep_vars)

    def _state(
        self,
        destination: dict[str, Tensor] | None,
        include_sublayers: bool,
        structured_name_prefix: str,
        use_hook: bool,
        keep_vars: bool,
    ) -> dict[str, Tensor]:
        """The state that set_state_dict fills: a class may override state_dict, to rename what it saves."""
        found = OrderedDict() if destination is None else destination
        kept = {k: v for k, v in _buffers_of(self).items() if self._buffer_names.get(k)}
        for name, value in {**parameters_of(self), **kept}.items():
            found[structured_name_prefix + name] = value if keep_vars else value.detach()
        for name, layer in layers_of(self).items() if include_sublayers else ():
            found = layer._state(found, True, f"{structured_name_prefix}{name}.", use_hook, keep_vars)
        for hook in tuple(self._state_dict_hooks.values()) if use_hook else ():
            found = hook(found) or found
        return found

    to_static_state_dict = state_dict

    def set_state_dict(
        self, state_dict: dict[str, Any], use_structured_name: bool = True
    ) -> tuple[list[str], list[str]]:
        """Overwrite parameters and buffers by name; returns (missing, unexpected) names.

        state_dict: Tensors or arrays by structured name (or by `.name` with use_structured_name=False).
        Warns about names that are missing or whose shape differs, and leaves those as they are: they are
        among the missing ones, and in the second case among the unexpected too.
        """
        own = {
            (k if use_structured_name else v.name): v
            for k, v in self._state(None, True, "", False, True).items()
        }
        fitting, wrong = set(), []
        for name, tensor in own.items():
            if name in state_dict:
                shape = [int(n) for n in getattr(state_dict[name], "shape", ())]
                grows = hasattr(tensor, "growth") and shape[1:] == tensor.shape[1:]
                if shape == tensor.shape or grows:
                    fitting.add(name)
                    tensor.set_value(state_dict[name])
                else:
                    wrong.append(f"{name} has shape {shape} instead of {[*tensor.shape]}")
        missing = [name for name in own if name not in fitting]
        if wrong:
            warnings.warn(f"set_state_dict: {'; '.join(wrong)}", stacklevel=2)
        if absent := [name for name in missing if name not in state_dict]:
            warnings.warn(f"set_state_dict: nothing was given for {_some(absent)}", stacklevel=2)
        return missing, [n for n in state_dict if n not in fitting and not n.endswith("@@")]

    load_dict = set_dict = set_state_dict

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """set_state_dict; RuntimeError for missing or unexpected names if strict."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _Names(*self.set_state_dict(state_dict))
        if strict and (found.missing_keys or found.unexpected_keys):
            raise RuntimeError(f"load_state_dict: {type(self).__name__}: {found}")
        return found

    def apply(self, fn: Callable[[Layer], Any]) -> Layer:
        """Call `fn` on every layer below and then on this one."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    def to(self, device=None, dtype=None, blocking=None, non_blocking=None):
        """Move parameters and buffers to a place, and floating ones to a dtype, in
        place."""
        target = None if device is None else as_device(device)
        kind = None if dtype is None else as_dtype(dtype)
        return self._convert_all(target, kind, ())

    def _convert_all(self, target: Any, kind: Any, excluded: Any) -> Any:
        """`_convert` of all layers but those that are excluded: layers or their classes."""
        listed = list(excluded) if isinstance(excluded, list | tuple) else [excluded]
        kinds = tuple(e for e in listed if isinstance(e, type))
        for layer in self.sublayers(include_self=True):
            if not isinstance(layer, kinds) and layer not in listed:
                layer._convert(kind, target)
        return self

    def _convert(self, kind: Any, target: Any = None) -> None:
        """Move what this layer itself holds."""
        for tensor in [*parameters_of(self).values(), *_buffers_of(self).values()]:
            rows = isinstance(tensor._grad, RowGradient)
            for held in (tensor, tensor.grad if rows else tensor._grad):
                if isinstance(held, Tensor):
                    held._move(target, kind)
        self._dtype = self._dtype if kind is None else name_of(kind)

    def astype(self, dtype: Any = None) -> Layer:
        """`to(dtype=dtype)`."""
        return self.to(dtype=dtype)

    def type(self, dst_type: Any) -> Layer:
        """`to(dtype=dst_type)`."""
        return self.to(dtype=dst_type)

    def double(self) -> Layer:
        """`to(dtype="float64")`."""
        return self.to(dtype="float64")

    def half(self) -> Layer:
        """`to(dtype="float16")`."""
        return self.to(dtype="float16")

    def float(self, excluded_layers: Any = None) -> Layer:
        """Convert floating parameters and buffers to float32, except in `excluded_layers`."""
        return self._convert_all(None, torch.float32, excluded_layers or ())

    def float16(self, excluded_layers: Any = None) -> Layer:
        """Convert floating parameters and buffers to float16, except in `excluded_layers`."""
        return self._convert_all(None, torch.float16, excluded_layers or ())

    def bfloat16(self, excluded_layers: Any = None) -> Layer:
        """Convert floating parameters and buffers to bfloat16, except in `excluded_layers`."""
        return self._convert_all(None, torch.bfloat16, excluded_layers or ())

    def cpu(self) -> Layer:
        """`to("cpu")`."""
        return self.to("cpu")

    def cuda(self, device: Any = None) -> Layer:
        """`to` a GPU, by default GPU 0."""
        return self.to(f"gpu:{device or 0}" if device is None or isinstance(device, int) else device)

    # --- printing ---

    def extra_repr(self) -> str:
        """The arguments that the printed layer shows."""
        entries = [(e.rstrip("?").split(":"), e[-1] == "?") for e in self._shows.split()]
        found = [
            (n[0], getattr(self, n[-1]), tacit and getattr(type(self), n[-1], None), tacit)
            for n, tacit in entries
        ]
        return ", ".join(
            f"{label}={value}" for label, value, usual, tacit in found if not tacit or value != usual
        )

    _dtype_name = property(lambda self: name_of(as_dtype(self._dtype)))

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(part).replace("\n", "\n  ") for name, part in layers_of(self).items()]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}({extra}\n  " + "\n  ".join(lines) + "\n)"


Module = Layer


class _Handle(HookHandle):
    """Puts a hook among `hooks`, and its id among `flags`; `remove` takes them out again and gives None, as
    Paddle's."""

    next_hook_id = 0

    def __init__(self, hooks: Any, hook: Any, prepend: bool = False, flags: Sequence[Any] = ()) -> None:
        self._hook_id, self._kept = _Handle.next_hook_id, (hooks, *flags)
        _Handle.next_hook_id += 1
        hooks[self._hook_id] = hook
        hooks.move_to_end(self._hook_id, last=not prepend)
        for flag in flags:
            flag[self._hook_id] = True

    def remove(self) -> None:  # type: ignore[override]  # Paddle returns None
        _Handle.next_hook_id += 1
        for kept in self._kept:
            kept.pop(self._hook_id, None)


class _NotSaved(set[str]):
    """The names of a layer's buffers that its state_dict leaves out. A change of it is a change of the
    layer."""

    def __init__(self, layer: Layer, names: set[str]) -> None:
        super().__init__(names)
        self._layer = layer

    def add(self, name: str) -> None:
        self._layer._buffer_names = {**self._layer._buffer_names, name: False}
        super().add(name)

    def discard(self, name: Any) -> None:
        if name in self:
            self._layer._buffer_names = {**self._layer._buffer_names, name: True}
        super().discard(name)

    def remove(self, name: Any) -> None:
        if name not in self:
            raise KeyError(name)
        self.discard(name)


def parameters_of(layer: Layer) -> dict[str, Parameter]:
    """The layer's own parameters by attribute, sublayers excluded."""
    return {k: v for k, v in vars(layer).items() if isinstance(v, Parameter)}


def layers_of(layer: Layer) -> dict[str, Layer]:
    """The layer's direct sublayers by attribute."""
    return {k: v for k, v in vars(layer).items() if isinstance(v, Layer)}


def _buffers_of(layer: Layer) -> dict[str, Tensor]:
    return {k: v for k, v in vars(layer).items() if isinstance(v, Tensor) and not isinstance(v, Parameter)}


class _Held(dict[str, Any]):
    """The parameters, layers or buffers of a layer by name. A change of it is a change of the layer's
    attributes."""

    def __init__(self, layer: Layer, found: dict[str, Any]) -> None:
        super().__init__(found)
        self._layer = layer

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self._layer, name, value)
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        delattr(self._layer, name)

    pop, popitem, clear = MutableMapping.pop, MutableMapping.popitem, MutableMapping.clear
    update, setdefault = MutableMapping.update, MutableMapping.setdefault


class _HeldBuffers(_Held):
    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self._layer._buffer_names:
            self._layer._buffer_names = {**self._layer._buffer_names, name: True}
        super().__setitem__(name, value)


class _Names(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


def _some(names: Any) -> str:
    shown = list(names)[:6]
    return ", ".join(repr(n) for n in shown) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
