"""A table of a network's layers."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..dtype import as_device, as_dtype, default_dtype
from ..engine.backward import no_grad
from ..engine.tensor import InvalidArgument, Tensor
from ..nn import Layer
from .state import evaluating


def _shapes(value: Any) -> Any:
    if isinstance(value, Tensor):
        return [*value.shape]
    value = list(value.values()) if isinstance(value, dict) else value
    return [_shapes(v) for v in value] if isinstance(value, list | tuple) else type(value).__name__


def _inputs(input_size: Any, dtypes: Any) -> list[Any]:
    """Zeros of the shapes; a tuple of them for a tuple of shapes."""
    many = isinstance(input_size, list) and bool(input_size) and not isinstance(input_size[0], int | None)
    sizes: Sequence[Any] = [getattr(s, "shape", s) for s in (input_size if many else [input_size])]
    kinds = dtypes if isinstance(dtypes, list | tuple) else [dtypes] * len(sizes)
    made: list[Any] = []
    for size, kind in zip(sizes, kinds, strict=True):
        if isinstance(size, list | tuple) and any(isinstance(n, list | tuple) for n in size):
            made.append(
                tuple(_inputs([s], kind)[0] for s in size)
            )  # an argument that is a tuple, as a cell's states
            continue
        shape = [1 if n is None or n == -1 else int(n) for n in ([size] if isinstance(size, int) else size)]
        if min(shape, default=1) < 1:
            raise InvalidArgument(f"input_size: expected sizes of 1 or more, got {size}")
        dtype = default_dtype() if kind is None else as_dtype(kind)
        made.append(Tensor(torch.zeros(shape, dtype=dtype, device=as_device(None))))
    return made


def watched(net: Layer, layers: list[Layer], note: Callable[..., None], inputs: list[Any]) -> None:
    """Run `net` once as in evaluation, with `note(layer, inputs, outputs)` after each of `layers`."""
    handles = [layer.register_forward_post_hook(note) for layer in layers]
    try:
        with evaluating(net), no_grad():
            net(*inputs)
    finally:
        for handle in handles:
            handle.remove()


def summary(net: Layer, input_size: Any = None, dtypes: Any = None, input: Any = None) -> dict[str, int]:
    """Print each layer with the shapes that go in and out and its number of parameters.

    input_size: the shape of the input (or an InputSpec), with the batch axis (None or -1 there count as 1),
    or a list of them; or `input`: what forward takes, a Tensor, or a list or dictionary of them. Returns
    {"total_params", "trainable_params"}.
    """
    if input_size is None and input is None:
        raise InvalidArgument("input_size, input: expected one of the two, got neither")
    given = _inputs(input_size, dtypes) if input is None else [input]
    rows: list[tuple[str, str, str, int]] = []
    counted: set[int] = set()

    def note(layer: Layer, inputs: Any, outputs: Any) -> None:
        own = [p for p in layer.parameters(include_sublayers=False) if id(p) not in counted]
        counted.update(id(p) for p in own)
        ins = _shapes(list(inputs))
        ins = ins[0] if len(ins) == 1 else ins
        rows.append((names[layer], str(ins), str(_shapes(outputs)), sum(p.size for p in own)))

    names = {
        layer: f"{type(layer).__name__} ({name})" if name else type(layer).__name__
        for name, layer in net.named_sublayers(include_self=True)
    }
    watched(net, [layer for layer in names if not layer._sub_layers or layer._parameters], note, given)
    parameters = net.parameters()
    total = sum(p.size for p in parameters)
    trainable = sum(p.size for p in parameters if not p.stop_gradient)
    _print(rows, total, trainable, sum(p.size * p.element_size() for p in parameters))
    return {"total_params": total, "trainable_params": trainable}


def _print(rows: list[tuple[str, str, str, int]], total: int, trainable: int, size: int) -> None:
    head = ("Layer", "Input shape", "Output shape", "Parameters")
    table = [head, *((a, b, c, f"{n:,}") for a, b, c, n in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(4)]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row[:3], widths, strict=False))
        + "  "
        + row[3].rjust(widths[3])
        for row in table
    ]
    rule = "-" * max(len(line) for line in lines)
    print("\n".join([rule, lines[0], rule, *lines[1:], rule]))
    print(f"Parameters: {total:,}, trainable: {trainable:,}, {size / 2**20:.2f} MiB")
