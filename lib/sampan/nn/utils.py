"""Gradients clipped by hand, parameters as one vector, and weights that are computed from others."""

import math
from collections.abc import Iterable
from typing import Any

import torch

from ..engine.tape import written
from ..engine.tensor import InvalidArgument, Tensor
from ..ops.joining import concat
from .layer import Layer
from .norm import power_iteration
from .parameter import Parameter

# fmt: off
__all__ = [
    "clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "remove_weight_norm", "spectral_norm",
    "vector_to_parameters", "weight_norm",
]
# fmt: on


def _gradients(parameters: Any) -> list[Tensor]:
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p.grad for p in listed if p.grad is not None]


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale the gradients of `parameters` in place so that their joint norm is at most max_norm; returns the
    norm.

    norm_type: a number, or inf. RuntimeError for a norm that is not finite, if error_if_nonfinite.
    """
    gradients = _gradients(parameters)
    kind = float(norm_type)
    if kind != math.inf and not (kind > 0 or kind == 0):
        raise InvalidArgument(f"norm_type: expected a number of at least 0 or inf, got {norm_type}")
    if not gradients:
        return Tensor(torch.tensor(0.0))
    norm = torch.stack([g.data.double().norm(kind) for g in gradients]).norm(kind)
    if error_if_nonfinite and not torch.isfinite(norm):
        raise RuntimeError(f"clip_grad_norm_: the norm of the gradients is {norm.item()}")
    factor = (float(max_norm) / (norm + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.data.mul_(factor.to(gradient.data.dtype))
        written(gradient.data)
    return Tensor(norm.to(gradients[0].data.dtype))


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Every entry of the gradients into -clip_value..clip_value, in place."""
    for gradient in _gradients(parameters):
        gradient.data.clamp_(-float(clip_value), float(clip_value))
        written(gradient.data)


def parameters_to_vector(parameters: Iterable[Any], name: str | None = None) -> Any:
    """All entries of all parameters, in order, as one vector."""
    return concat([p.reshape([-1]) for p in parameters], 0)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Any], name: str | None = None) -> None:
    """The opposite: write the entries of a vector into the parameters."""
    listed = list(parameters)
    if vec.data.numel() != sum(p.size for p in listed):
        raise InvalidArgument(f"vec: expected {sum(p.size for p in listed)} entries, got {vec.data.numel()}")
    for parameter, part in zip(listed, vec.data.split([p.size for p in listed]), strict=True):
        parameter.data.copy_(part.view(parameter.data.shape))
        written(parameter.data)


def _norm(weight: Any, dim: int) -> Any:
    """The norm over all axes but `dim`, which stays: [n]; over all of them for dim -1."""
    if dim == -1:
        return (weight * weight).sum().sqrt()
    return (weight * weight).sum(axis=[a for a in range(weight.ndim) if a != dim]).sqrt()


class _Reparametrised:
    """Before each forward a weight is computed from parameters: the hook, and how it is taken away."""

    def __init__(self, layer: Layer, name: str, compute: Any, tag: str) -> None:
        self.layer, self.name, self.compute, self.tag = layer, name, compute, tag
        if not isinstance(getattr(layer, name, None), Parameter):
            raise InvalidArgument(f"name: expected the name of a parameter of the layer, got {name!r}")
        if any(r.name == name for r in vars(layer).get("_computed", ())):
            raise RuntimeError(f"{tag}: {name!r} is computed already")
        delattr(layer, name)

    def start(self) -> Layer:
        vars(self.layer).setdefault("_computed", []).append(self)
        self.handle = self.layer.register_forward_pre_hook(lambda layer, inputs: self.refresh())
        self.refresh()
        return self.layer

    def refresh(self) -> None:
        vars(self.layer)[self.name] = self.compute()


def weight_norm(layer: Layer, name: str = "weight", dim: int | None = 0) -> Layer:
    """weight = g v / |v| (Salimans and Kingma 2016): parameters `weight_g` and `weight_v` in its place.

    dim: the axis whose entries have a length g of their own; None (or -1): all have one.
    """
    weight = getattr(layer, name, None)
    axis = -1 if dim is None else dim
    if weight is not None and not -weight.ndim <= axis < weight.ndim:
        raise InvalidArgument(f"dim: expected an axis of {weight.ndim}, got {dim}")
    axis = axis + weight.ndim if weight is not None and axis < -1 else axis
    made = _Reparametrised(layer, name, None, "weight_norm")
    assert isinstance(weight, Parameter)
    layer.add_parameter(f"{name}_v", Parameter(weight.data))
    layer.add_parameter(f"{name}_g", Parameter(_norm(weight, axis).data))

    def compute() -> Any:
        g, v = getattr(layer, f"{name}_g"), getattr(layer, f"{name}_v")
        shape = [-1 if a == axis else 1 for a in range(v.ndim)]
        return v * (g / _norm(v, axis)).reshape(shape if axis != -1 else [1] * v.ndim)

    made.compute = compute
    return made.start()


def remove_weight_norm(layer: Layer, name: str = "weight") -> Layer:
    """Make the weight a plain parameter again. ValueError if it has no weight norm."""
    for made in vars(layer).get("_computed", ()):
        if made.name == name and made.tag == "weight_norm":
            made.refresh()
            value = getattr(layer, name).data
            made.handle.remove()
            layer._computed.remove(made)  # type: ignore[attr-defined]  # set in vars(layer)
            for suffix in ("", "_g", "_v"):
                delattr(layer, f"{name}{suffix}")
            layer.add_parameter(name, Parameter(value))
            return layer
    raise InvalidArgument(f"name: {name!r} of {layer!r} has no weight norm")


def spectral_norm(
    layer: Layer,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Layer:
    """weight / its largest singular value (Miyato et al. 2018), which n_power_iterations follow in each
    forward.

    The weight is a matrix [its axis dim, the rest]; dim is 0, but 1 for a Linear and transposed convolutions.
    The parameter becomes `weight_orig`; buffers `weight_u` and `weight_v` keep the iteration's vectors.
    """
    if n_power_iterations <= 0:
        raise InvalidArgument(f"n_power_iterations: expected a positive number, got {n_power_iterations}")
    kind = type(layer).__name__
    axis = dim if dim is not None else int(kind == "Linear" or kind.endswith("Transpose"))
    weight = getattr(layer, name, None)
    made = _Reparametrised(layer, name, None, "spectral_norm")
    assert isinstance(weight, Parameter)
    layer.add_parameter(f"{name}_orig", weight)
    matrix = weight.data.movedim(axis, 0).flatten(1)
    for suffix, size in (("u", matrix.shape[0]), ("v", matrix.shape[1])):
        start = torch.nn.functional.normalize(torch.randn(size, dtype=matrix.dtype), dim=0, eps=eps)
        layer.register_buffer(f"{name}_{suffix}", Tensor(start))

    def compute() -> Any:
        original = getattr(layer, f"{name}_orig")
        u, v = getattr(layer, f"{name}_u").data, getattr(layer, f"{name}_v").data
        matrix = original.moveaxis(axis, 0).reshape([original.shape[axis], -1])
        u, v = power_iteration(matrix.data, u, v, n_power_iterations if layer.training else 0, eps)
        getattr(layer, f"{name}_u").data, getattr(layer, f"{name}_v").data = u, v
        return original / (Tensor(u) * (matrix @ Tensor(v))).sum()

    made.compute = compute
    return made.start()
