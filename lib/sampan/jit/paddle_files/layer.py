"""Files of PaddlePaddle as Programs: their operators are run on inputs of several sizes and recorded."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

from ...engine.errors import InvalidArgument
from ...engine.tensor import Tensor
from ...nn.layer import Layer
from ...nn.parameter import Parameter
from ..program import Ref
from ..record import Outside
from ..spec import InputSpec
from ..translated import TranslatedLayer
from ..whole import evaluating, recorded
from . import layers as layers  # which enters its operators
from .operators import LARGEST, OPERATORS, Cannot, tensor
from .reader import File, Op, checked_size, read

# What an operator of a changed file may raise.
_FAILURES = (TypeError, ValueError, LookupError, AttributeError, RuntimeError, ArithmeticError, MemoryError)


def loaded(content: dict[str, Any], base: Path) -> TranslatedLayer:
    """The layer of `base`.json, whose content is given, and `base`.pdiparams.

    Its parameters have the names that they have in the file, such as `linear_0.w_0`. Raises InvalidArgument
    for damaged files, and with all operators that are not read.
    """
    checked_size(Path(f"{base}.json"))
    file = read(content, Path(f"{base}.pdiparams"))
    _check_operators(file.ops)
    layer = _Operators(file)
    outside = Outside(by_content=True)
    with evaluating(layer):
        whole = recorded(layer.forward, layer.specs, outside)
    whole = whole._replace(takes={str(spec.name): Ref("x", i) for i, spec in enumerate(whole.specs)})
    names = {id(t): p.name for p, t in layer.held}
    named = [(names.get(id(t), f"tensor_{i}"), t) for i, t in enumerate(outside.tensors)]
    return TranslatedLayer(named, outside.buffers, [("forward", whole)])


def _check_operators(ops: list[Op]) -> None:
    """Refuse a Program with operators that are not read, with all of them."""
    lacking: dict[str, int] = {}
    for op in ops:
        if op.name not in OPERATORS and op.name not in ("pd_op.data", "pd_op.fetch"):
            lacking[op.name] = lacking.get(op.name, 0) + 1
    if lacking:
        listed = ", ".join(f"{name} ({count})" for name, count in sorted(lacking.items()))
        raise InvalidArgument(f"{sum(lacking.values())} operators that are not read: {listed}")


def _check_size(spec: InputSpec) -> None:
    """Refuse an input that is too large to be recorded with."""
    lengths = [int(n or 1) for n in spec.shape if n != -1]
    if min(lengths, default=0) < 0 or prod(lengths) > LARGEST:
        raise InvalidArgument(
            f"the input {spec.name!r} has shape {list(spec.shape)}, above {LARGEST} entries"
        )


class _Operators(Layer):
    """A layer that computes the operators of a file in their order."""

    def __init__(self, file: File) -> None:
        super().__init__()
        self.ops = [op for op in file.ops if op.name not in ("pd_op.data", "pd_op.fetch")]
        data = [op for op in file.ops if op.name == "pd_op.data"]
        fetched = sorted((op for op in file.ops if op.name == "pd_op.fetch"), key=lambda op: op.get("col", 0))
        if not data or not fetched:
            raise InvalidArgument("the Program has no input or no output")
        self.specs = [InputSpec(op.get("shape"), op.get("dtype"), op.get("name")) for op in data]
        for spec in self.specs:
            _check_size(spec)
        self.given, self.results = [op.outputs[0] for op in data], [op.inputs[0] for op in fetched]
        self.held: list[tuple[Any, Tensor]] = []
        for parameter in file.parameters:
            buffer = file.buffers[parameter.name]
            made = Parameter(buffer, True) if parameter.trainable else Tensor(buffer)
            self.held.append((parameter, made))

    def forward(self, *inputs: Any) -> Any:
        """The result for the inputs, or a list of several."""
        values: dict[int, Any] = {0: None}
        values.update({parameter.value: held for parameter, held in self.held})
        values.update(zip(self.given, inputs, strict=True))
        for place, op in enumerate(self.ops):
            try:
                made = OPERATORS[op.name](op, *(values[i] for i in op.inputs))
            except Cannot as error:
                raise InvalidArgument(f"operator {place} ({op.name}): {error} is not read") from error
            except _FAILURES as error:
                reason = getattr(error, "reason", error)
                raise InvalidArgument(f"operator {place} ({op.name}): {reason}") from error
            listed = made if isinstance(made, tuple) else (made,)
            if len(listed) < len(op.outputs):
                raise InvalidArgument(
                    f"operator {place} ({op.name}): {len(op.outputs)} results from {len(listed)}"
                )
            values.update(zip(op.outputs, listed, strict=False))
        found = [tensor(values[i]) for i in self.results]
        return found[0] if len(found) == 1 else found
