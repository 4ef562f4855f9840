"""Sampan and torch in one program: layers of one train inside the other, without copying.

Tensors cross by sharing memory: `Tensor(torch_tensor)`, `tensor.data`, DLPack both ways. `tensor.numpy()` and
`np.asarray(tensor)` copy, as in Paddle; `tensor.data.numpy()` shares the memory of a tensor on the CPU.
"""

from __future__ import annotations

from typing import Any

import torch

from .engine import backward as walk
from .engine.apply import wrap, wrap_outputs
from .engine.operator import recorded_by_hand
from .engine.tape import Node
from .engine.tensor import Tensor
from .framework import from_dlpack as from_dlpack
from .framework import to_dlpack as to_dlpack
from .nn.layer import Layer
from .nn.parameter import Parameter

# --- a Sampan layer in a torch program ----------------------------------------------------------------------


class _LayerFunction(torch.autograd.Function):
    """One entry of torch's tape for all operators of a Sampan layer."""

    @staticmethod
    def forward(ctx: Any, module: TorchModule, count: int, *buffers: torch.Tensor) -> Any:
        wants = [b.requires_grad for b in buffers[:count]]
        inputs = [Tensor(b.detach(), not w) for b, w in zip(buffers[:count], wants, strict=True)]
        with walk.enable_grad():
            result = module.layer(*inputs)
        ctx.module, ctx.inputs = module, inputs
        ctx.outputs = [result] if isinstance(result, Tensor) else list(result)
        values = tuple(o.data for o in ctx.outputs)
        return values[0] if isinstance(result, Tensor) else values

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        both = zip(ctx.outputs, gradients, strict=True)
        pairs = [(o, g) for o, g in both if not o.stop_gradient and g is not None]
        parameters = ctx.module.sampan_parameters
        sources = [t for t in (*ctx.inputs, *parameters) if not t.stop_gradient]
        outputs, given = [o for o, _ in pairs], [Tensor(g.contiguous()) for _, g in pairs]
        found = walk.grad(outputs, sources, given, retain_graph=True, allow_unused=True)
        by_source = {id(s): g for s, g in zip(sources, found, strict=True)}

        own = [by_source.get(id(t)) for t in (*ctx.inputs, *parameters)]
        return None, None, *(None if g is None else g.data for g in own)


class TorchModule(torch.nn.Module):
    """A Sampan layer as a torch module: the same parameters, by the same memory."""

    def __init__(self, layer: Layer) -> None:
        super().__init__()
        self.layer = layer
        named = list(layer.named_parameters())
        self.sampan_parameters = [p for _, p in named]
        self.sampan_buffers = list(layer.buffers())
        for name, parameter in named:
            shown = torch.nn.Parameter(parameter.data, requires_grad=not parameter.stop_gradient)
            self.register_parameter(_free_name(self, name), shown)
        for name, buffer in layer.named_buffers():
            self.register_buffer(_free_name(self, name), buffer.data)

    def _apply(self, fn: Any, recurse: bool = True) -> TorchModule:
        """What `to`, `double`, `cuda`, ... go through: the layer's tensors move with the module's."""
        super()._apply(fn, recurse)
        own, moved = (*self.sampan_parameters, *self.sampan_buffers), (*self.parameters(), *self.buffers())
        for ours, theirs in zip(own, moved, strict=True):
            ours.data, ours.grad = theirs.detach(), None
        return self

    def train(self, mode: bool = True) -> TorchModule:
        super().train(mode)
        if mode:
            self.layer.train()
        else:
            self.layer.eval()
        return self

    def forward(self, *inputs: torch.Tensor) -> Any:
        if torch.is_grad_enabled():
            return _LayerFunction.apply(self, len(inputs), *inputs, *self.parameters())
        result = self.layer(*(Tensor(b) for b in inputs))
        return result.data if isinstance(result, Tensor) else tuple(r.data for r in result)


def _free_name(holder: Any, name: str) -> str:
    """`a.b` as an attribute's name that `holder` does not have yet."""
    name = name.replace(".", "_")
    while hasattr(holder, name):
        name += "_"
    return name


def torch_module(layer: Layer) -> TorchModule:
    """`layer` as a torch.nn.Module: torch's optimizers see its parameters, torch's autograd runs through it.

    The parameters share memory with the layer's, so both see every update. First derivatives only.
    """
    if not isinstance(layer, Layer):
        raise TypeError(f"torch_module: expected a sampan.nn.Layer, got {type(layer).__name__}")
    return TorchModule(layer)


# --- a torch module in a Sampan program ---------------------------------------------------------------------


class TorchLayer(Layer):
    """A torch module as a Sampan layer: the same parameters, by the same memory."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module
        self._torch_parameters = list(module.parameters())
        self._own = []
        for name, parameter in module.named_parameters():
            self._own.append(Parameter(parameter.data, parameter.requires_grad))
            self.add_parameter(_free_name(self, name), self._own[-1])
        for name, buffer in module.named_buffers():
            self.register_buffer(_free_name(self, name), Tensor(buffer))

    def train(self, mode: bool = True) -> TorchLayer:
        self.module.train(mode)
        super().train(mode)
        return self

    def forward(self, *inputs: Any) -> Any:
        own = self._own
        tensors = [t for t in inputs if isinstance(t, Tensor)]
        recorded = walk.is_grad_enabled() and any(not t.stop_gradient for t in (*tensors, *own))
        wants = [recorded and isinstance(t, Tensor) and not t.stop_gradient for t in inputs]
        buffers = [t.data.detach() if isinstance(t, Tensor) else t for t in inputs]
        buffers = [b.requires_grad_() if want else b for b, want in zip(buffers, wants, strict=True)]
        with torch.set_grad_enabled(recorded):
            result = self.module(*buffers)
        outputs = [result] if isinstance(result, torch.Tensor) else list(result)
        if not recorded:
            wrapped = [wrap(o.detach()) for o in outputs]
            return wrapped[0] if isinstance(result, torch.Tensor) else type(result)(wrapped)
        sources = [b for b in buffers if isinstance(b, torch.Tensor)] + self._torch_parameters

        def pullback(gradient: Any) -> tuple[Any, ...]:
            given = gradient if isinstance(gradient, tuple) else (gradient,)
            if any(isinstance(g, Tensor) for g in given):
                raise NotImplementedError("a torch module has no second derivative on Sampan's tape")
            pairs = [(o, g) for o, g in zip(outputs, given, strict=True) if o.requires_grad and g is not None]
            wanted = [s for s in sources if s.requires_grad]
            with torch.enable_grad():
                ends, came = [o for o, _ in pairs], [g for _, g in pairs]
                found = iter(torch.autograd.grad(ends, wanted, came, retain_graph=True, allow_unused=True))
            return tuple(next(found) if s.requires_grad else None for s in sources)

        edges = [None if t.stop_gradient else (t.node or t) for t in (*tensors, *own)]
        node = Node(_OPERATOR, edges, {"saved": pullback})
        values = [o.detach() for o in outputs]
        if isinstance(result, torch.Tensor):
            tensor = Tensor(values[0], stop_gradient=False)
            tensor.node = node
            return tensor
        return type(result)(wrap_outputs(node, values))


def torch_layer(module: torch.nn.Module) -> TorchLayer:
    """`module` as a sampan.nn.Layer: Sampan's optimizers see its parameters, Sampan's tape runs through it.

    The parameters share memory with the module's, so both see every update. First derivatives only.
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"torch_layer: expected a torch.nn.Module, got {type(module).__name__}")
    return TorchLayer(module)


_OPERATOR = recorded_by_hand("torch_module")
