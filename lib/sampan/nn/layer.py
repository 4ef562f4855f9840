"""Layer: what every network is made of.

A layer's attributes are the one record of what it holds: a Parameter, a Layer or a registered buffer that is an
attribute belongs to it, in the order of assignment. So an attribute costs a plain look-up in `forward`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from ..dtype import as_device, as_dtype, default_dtype
from ..tensor import HookHandle, Tensor
from .attr import ParamAttr
from .initializer import Constant, Initializer, XavierUniform
from .parameter import Parameter, unique_name

# fmt: off
__all__ = [
    "Layer",
]
# fmt: on


class Layer:
    """Subclass it, assign Parameters and Layers to attributes, write `forward`.

    training: True after `train()` (the start), False after `eval()`.
    """

    training = True
    _buffer_names: dict[str, bool] = {}  # name: persistable; an own dict as soon as there is a buffer
    _pre_hooks: Sequence[Callable[..., Any]] = ()
    _post_hooks: Sequence[Callable[..., Any]] = ()

    def __init__(self, name_scope: str | None = None, dtype: Any = None) -> None:
        scope = name_scope or re.sub(
            r"(?<=.)(?=[A-Z][a-z])|(?<=[a-z0-9])(?=[A-Z])", "_", type(self).__name__
        ).lower()
        self._full_name = unique_name(scope)
        self._dtype = default_dtype() if dtype is None else as_dtype(dtype)

    # --- running ---

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.forward: write it in the subclass")

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if self._pre_hooks or self._post_hooks:
            return self._call_with_hooks(inputs, kwargs)
        return self.forward(*inputs, **kwargs)

    def _call_with_hooks(self, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for hook in tuple(self._pre_hooks):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        outputs = self.forward(*inputs, **kwargs)
        for hook in tuple(self._post_hooks):
            changed = hook(self, inputs, outputs)
            if changed is not None:
                outputs = changed
        return outputs

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(layer, inputs)` before forward; what it returns, unless None, replaces the inputs."""
        return self._hook("_pre_hooks", hook)

    def register_forward_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(layer, inputs, outputs)` after forward; what it returns, unless None, replaces the outputs."""
        return self._hook("_post_hooks", hook)

    def _hook(self, kind: str, hook: Callable[..., Any]) -> HookHandle:
        hooks = vars(self).setdefault(kind, [])
        hooks.append(hook)
        return HookHandle(hooks, hook)

    def train(self) -> Layer:
        for layer in self.sublayers(include_self=True):
            layer.training = True
        return self

    def eval(self) -> Layer:
        for layer in self.sublayers(include_self=True):
            layer.training = False
        return self

    # --- what it holds ---

    def create_parameter(
        self,
        shape: Sequence[int],
        attr: Any = None,
        dtype: Any = None,
        is_bias: bool = False,
        default_initializer: Initializer | None = None,
    ) -> Parameter | None:
        """A new Parameter, or None for `attr=False`. Biases start at 0, weights XavierUniform, unless told."""
        attr = ParamAttr.of(attr)
        if attr is None:
            return None
        initializer = (
            attr.initializer or default_initializer or (Constant(0.0) if is_bias else XavierUniform())
        )
        buffer = initializer.make(shape, self._dtype if dtype is None else dtype)
        name = attr.name or unique_name(f"{self._full_name}.{'b' if is_bias else 'w'}")
        return Parameter(
            buffer, not attr.trainable, name, attr.learning_rate, attr.regularizer, attr.need_clip
        )

    def create_tensor(self, name: str | None = None, persistable: bool = False, dtype: Any = None) -> Tensor:
        """An empty Tensor of this layer's dtype."""
        return Tensor(
            torch.empty(0, dtype=self._dtype if dtype is None else as_dtype(dtype), device=as_device(None))
        )

    def add_parameter(self, name: str, parameter: Parameter | None) -> Parameter | None:
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(f"parameter: expected a Parameter or None, got {type(parameter).__name__}")
        setattr(self, self._attribute(name), parameter)
        return parameter

    def add_sublayer(self, name: str, sublayer: Layer) -> Layer:
        if not isinstance(sublayer, Layer):
            raise TypeError(f"sublayer: expected a Layer, got {type(sublayer).__name__}")
        setattr(self, self._attribute(name), sublayer)
        return sublayer

    def register_buffer(self, name: str, tensor: Tensor | None, persistable: bool = True) -> None:
        """Keep a Tensor that is no parameter; it goes where the layer goes, and into state_dict if persistable."""
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"tensor: expected a Tensor or None, got {type(tensor).__name__}")
        if name in vars(self) and name not in self._buffer_names:
            raise KeyError(f"name: {name!r} is an attribute of this layer already")
        self._buffer_names = {**self._buffer_names, self._attribute(name): persistable}
        setattr(self, name, tensor)

    def _attribute(self, name: str) -> str:
        """`name`, if a layer can hold something under it."""
        if not isinstance(name, str):
            raise TypeError(f"name: expected a string, got {type(name).__name__}")
        if not name or "." in name or getattr(type(self), name, None) is not None:
            raise KeyError(
                f"name: {name!r} is empty, has a dot or is an attribute of every {type(self).__name__}"
            )
        return name

    @property
    def _parameters(self) -> dict[str, Parameter]:
        return {k: v for k, v in vars(self).items() if isinstance(v, Parameter)}

    @property
    def _sub_layers(self) -> dict[str, Layer]:
        return {k: v for k, v in vars(self).items() if isinstance(v, Layer)}

    @property
    def _buffers(self) -> dict[str, Tensor]:
        return {k: vars(self)[k] for k in self._buffer_names if vars(self)[k] is not None}

    def children(self) -> Iterator[Layer]:
        return (layer for _, layer in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Layer]]:
        seen: set[Layer] = set()
        for name, layer in self._sub_layers.items():
            if layer not in seen:
                seen.add(layer)
                yield name, layer

    def named_sublayers(
        self, prefix: str = "", include_self: bool = False, layers_set: set[Layer] | None = None
    ) -> Iterator[tuple[str, Layer]]:
        """(structured name, layer) of every layer below, each once, in the order of assignment."""
        seen = set() if layers_set is None else layers_set
        if self in seen:
            return
        seen.add(self)
        if include_self:
            yield prefix, self
        for name, layer in self._sub_layers.items():
            yield from layer.named_sublayers(f"{prefix}.{name}" if prefix else name, True, seen)

    def sublayers(self, include_self: bool = False) -> list[Layer]:
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def _named(self, kind: str, prefix: str, include_sublayers: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        layers = self.named_sublayers(prefix, True) if include_sublayers else iter([(prefix, self)])
        for scope, layer in layers:
            for name, value in getattr(layer, kind).items():
                if id(value) not in seen:
                    seen.add(id(value))
                    yield f"{scope}.{name}" if scope else name, value

    def named_parameters(
        self, prefix: str = "", include_sublayers: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """(structured name, parameter), each parameter once even where several layers share it."""
        return self._named("_parameters", prefix, include_sublayers)

    def parameters(self, include_sublayers: bool = True) -> list[Parameter]:
        return [p for _, p in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(self, prefix: str = "", include_sublayers: bool = True) -> Iterator[tuple[str, Tensor]]:
        return self._named("_buffers", prefix, include_sublayers)

    def buffers(self, include_sublayers: bool = True) -> list[Tensor]:
        return [b for _, b in self.named_buffers(include_sublayers=include_sublayers)]

    def clear_gradients(self, set_to_zero: bool = True) -> None:
        for parameter in self.parameters():
            parameter.clear_gradient(set_to_zero)

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
        found = {} if destination is None else destination
        layers = self.named_sublayers(include_self=True) if include_sublayers else iter([("", self)])
        for scope, layer in layers:
            for name, value in vars(layer).items():
                if isinstance(value, Parameter) or (value is not None and layer._buffer_names.get(name)):
                    key = structured_name_prefix + (f"{scope}.{name}" if scope else name)
                    found[key] = value if keep_vars else value.detach()
        return found

    to_static_state_dict = state_dict

    def set_state_dict(
        self, state_dict: dict[str, Any], use_structured_name: bool = True
    ) -> tuple[list[str], list[str]]:
        """Overwrite parameters and buffers by name; returns (missing, unexpected) names.

        state_dict: Tensors or arrays by structured name (or by `.name` with use_structured_name=False).
        Warns about missing names. ValueError, before anything is written, when a shape differs or no name fits.
        """
        own = {(k if use_structured_name else v.name): v for k, v in self.state_dict().items()}
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own and not name.endswith("@@")]
        if own and len(missing) == len(own):
            raise ValueError(
                f"state_dict: no name of it fits this {type(self).__name__}; expected {_some(own)}, "
                f"got {_some(state_dict)}"
            )
        wrong = []
        for name, tensor in own.items():
            if name in state_dict:
                shape = [int(n) for n in getattr(state_dict[name], "shape", ())]
                if shape != tensor.shape:
                    wrong.append(f"{name}: expected {tensor.shape}, got {shape}")
        if wrong:
            raise ValueError(
                f"state_dict: other shapes than this {type(self).__name__}'s: {'; '.join(wrong)}"
            )
        for name, tensor in own.items():
            if name in state_dict:
                tensor.set_value(state_dict[name])
        if missing:
            warnings.warn(f"set_state_dict: nothing was given for {_some(missing)}", stacklevel=2)
        return missing, unexpected

    load_dict = set_dict = set_state_dict

    def apply(self, fn: Callable[[Layer], Any]) -> Layer:
        """Call `fn` on every layer below and then on this one."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    def to(self, device: Any = None, dtype: Any = None, blocking: bool | None = None) -> Layer:
        """Move parameters and buffers to a place and dtype (floating ones only), as they stand in the layer."""
        target = None if device is None else as_device(device)
        kind = None if dtype is None else as_dtype(dtype)
        if kind is not None and not kind.is_floating_point:
            raise TypeError(f"dtype: expected a floating dtype, got {dtype!r}")
        for tensor in [*self.parameters(), *self.buffers()]:
            chosen = kind if tensor.data.is_floating_point() else None
            tensor.data = tensor.data.to(device=target, dtype=chosen)
            if tensor._grad is not None and isinstance(tensor._grad, Tensor):
                tensor._grad.data = tensor._grad.data.to(device=target, dtype=chosen)
        if kind is not None:
            for layer in self.sublayers(include_self=True):
                layer._dtype = kind
        return self

    def astype(self, dtype: Any) -> Layer:
        return self.to(dtype=dtype)

    def float(self) -> Layer:
        return self.to(dtype="float32")

    # --- printing ---

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        lines = [
            f"({name}): " + repr(layer).replace("\n", "\n  ") for name, layer in self._sub_layers.items()
        ]
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}({extra}\n  " + "\n  ".join(lines) + "\n)"


def _some(names: Any) -> str:
    shown = list(names)[:6]
    return ", ".join(repr(n) for n in shown) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
