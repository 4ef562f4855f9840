"""Which channels belong together: those that must be removed from all parameters at once.

Every element of every value of a recorded Program has a label, the channel that it belongs to. A convolution
or a linear layer gives its output new labels; what moves elements moves their labels, by running the same
call on them; what computes element by element makes the labels that meet one. So residual sums,
concatenations, flattened pictures and channels that are shuffled need no rule of their own. A label that
reaches a call without a rule, or the result of the network, is fixed: its channel stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ..engine.backward import no_grad
from ..engine.errors import InvalidArgument
from ..engine.tensor import Tensor
from ..jit.evaluation import run
from ..jit.program import Call, Program, Ref, mapped, refs
from ..jit.record import Outside, Recorder
from ..jit.spec import InputSpec
from ..jit.whole import evaluating
from ..nn.layer import Layer

__all__ = ["Channels", "inputs_of", "recorded"]

# Operators that move elements: labels are moved by the same call.
MOVES = frozenset(
    (
        *("reshape", "permute", "transpose", "swapaxes", "moveaxis", "flatten", "squeeze", "unsqueeze", "t"),
        *("concat", "concat_tensors", "stack", "split", "chunk", "unbind", "flip", "roll", "expand_view"),
        *("equal_views", "narrow", "slice", "__getitem__", "getitem", "assign", "view"),
    )
)
# Reductions over the pixels of a channel: the label of a channel is its own mean and maximum.
POOLS = frozenset(
    ("max_pool", "avg_pool", "adaptive_pool", "adaptive_max_pool", "mean", "max", "interpolate")
)
ELEMENTWISE = frozenset(
    (
        *(
            "add",
            "subtract",
            "multiply",
            "divide",
            "maximum",
            "minimum",
            "relu",
            "relu6",
            "leaky_relu",
            "elu",
        ),
        *("gelu", "silu", "swish", "mish", "sigmoid", "tanh", "hardswish", "hardsigmoid", "hardtanh"),
        *("exp", "sqrt", "abs", "square", "scale", "cast", "clip", "dropout", "selu", "celu", "neg", "pow"),
        "softplus",
    )
)
Place = tuple[int, int, int]  # the number of a parameter, its axis, the index there


def inputs_of(inputs: Any) -> list[Tensor]:
    """Random Tensors for a shape such as [1, 3, 32, 32], an InputSpec, or a list of them; Tensors stay."""
    if isinstance(inputs, (list, tuple)) and inputs and all(isinstance(n, int) for n in inputs):
        inputs = [InputSpec(inputs)]
    listed = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    generator, made = torch.Generator().manual_seed(0), []
    for one in listed:
        one = InputSpec(one) if isinstance(one, (list, tuple)) else one
        if isinstance(one, InputSpec):
            one = one.sample(dict.fromkeys(one.unknown, 2), generator)
        if not isinstance(one, Tensor):
            raise InvalidArgument(f"inputs: expected shapes, InputSpecs or Tensors, got {one!r:.60}")
        made.append(one)
    return made


def recorded(model: Layer, inputs: Sequence[Tensor]) -> tuple[Program, Outside]:
    """What a network computes in evaluation, and the parameters that it reads. InvalidArgument where values
    of Tensors decide about it."""
    outside = Outside()
    owned = [*model.parameters(), *model.buffers()]
    recorder = Recorder(list(inputs), outside, {id(t.data): t for t in owned})
    with evaluating(model), recorder.watching():
        result = model(*inputs)
    if recorder.refused or recorder.program.guards:
        why = recorder.refused or [f"{g.line}: {g.name} decides about it" for g in recorder.program.guards]
        raise InvalidArgument(f"model: what it computes depends on more than shapes: {why[0]}")
    recorder.program.result = mapped(result, lambda t: recorder.known(t.data) if isinstance(t, Tensor) else t)
    return recorder.program, outside


@dataclass
class Channels:
    """The channels of a network. outside: its parameters and buffers by number.

    places: the label of each place; made: the places where a filter or column makes a channel.
    products: multiplications and additions of each run, by the number of the weight.
    """

    outside: Outside
    places: dict[Place, int] = field(default_factory=dict)
    made: set[Place] = field(default_factory=set)
    products: dict[int, int] = field(default_factory=dict)
    _parent: list[int] = field(default_factory=lambda: [0])

    @classmethod
    def of(cls, model: Layer, inputs: Any) -> Channels:
        """The channels of a network for inputs as `inputs_of` takes them."""
        given = inputs_of(inputs)
        program, outside = recorded(model, given)
        found = cls(outside)
        found._follow(program, [t.data for t in given])
        return found

    def root(self, label: int) -> int:
        """The label that stands for all that were made one; 0: fixed."""
        while self._parent[label] != label:
            self._parent[label] = self._parent[self._parent[label]]
            label = self._parent[label]
        return label

    def along(self, parameter: int, axis: int) -> list[int]:
        """The labels of the entries of a parameter along an axis; 0: the entry stays."""
        size = self.outside.tensors[parameter].data.shape[axis]
        return [self.root(self.places.get((parameter, axis, i), 0)) for i in range(size)]

    def members(self) -> dict[int, list[Place]]:
        """The places of each channel, by its label; those of 0 stay."""
        found: dict[int, list[Place]] = {}
        for place, label in self.places.items():
            found.setdefault(self.root(label), []).append(place)
        return found

    # --- following a Program ---

    def _fresh(self, count: int) -> list[int]:
        first = len(self._parent)
        self._parent.extend(range(first, first + count))
        return list(range(first, first + count))

    def _join(self, one: int, other: int) -> None:
        low, high = sorted((self.root(one), self.root(other)))
        self._parent[high] = low

    def _fix(self, ref: Ref, labels: dict[Ref, torch.Tensor]) -> None:
        """The channels of a value stay."""
        if ref.kind == "p":
            for axis, size in enumerate(self.outside.tensors[ref.index].data.shape):
                self._tie(ref, axis, [0] * size)
            return
        for label in labels[ref].unique().long().tolist():
            self._join(label, 0)

    def _tie(self, ref: Any, axis: int, labels: Iterable[int], made: bool = False) -> None:
        """The entries of a parameter along an axis belong to these channels."""
        if not isinstance(ref, Ref):
            return
        for index, label in enumerate(labels):
            if ref.kind != "p":
                self._join(label, 0)
                continue
            place = (ref.index, axis, index)
            self._join(label, self.places.setdefault(place, label))
            if made:
                self.made.add(place)

    @no_grad()
    def _follow(self, program: Program, inputs: list[torch.Tensor]) -> None:
        values = {Ref("x", i): x for i, x in enumerate(inputs)}
        values |= {Ref("p", i): t.data for i, t in enumerate(self.outside.tensors)}
        values |= {Ref("k", i): b for i, b in enumerate(self.outside.buffers)}
        labels: dict[Ref, torch.Tensor] = {
            ref: torch.zeros(x.shape) for ref, x in values.items() if ref.kind != "p"
        }
        run(values, program.calls, inputs)
        for call in program.calls:
            outputs = list(refs(call.result))
            found = self._labelled(call, values, labels)
            if found is None:
                for ref in {*refs(call.args), *refs(call.settings)}:
                    self._fix(ref, labels)
                found = [torch.zeros(values[ref].shape) for ref in outputs]
            labels |= {r: v.to(torch.float64) for r, v in zip(outputs, found, strict=True)}
        for ref in refs(program.result):
            self._fix(ref, labels)

    def _labelled(self, call: Call, values: Any, labels: Any) -> list[torch.Tensor] | None:
        """The labels of what a call returns; None where it has no rule."""
        if call.writes:
            return None
        name, args = call.name, call.args
        if name == "convolve":
            return self._convolution(call, values, labels)
        if name in ("affine", "mm", "matmul") and isinstance(args[0], Ref) and args[0].kind != "p":
            return self._linear(call, values, labels)
        if name in ("normalize_batch", "normalize_layer"):
            x, axis = labels[args[0]], 1 if name == "normalize_batch" else _layer_axis(values, args)
            own = _per_channel(x, axis) if axis is not None else None
            if own is None:
                return None
            for ref in args[1:5]:
                self._tie(ref, 0, own)
            return [x]
        if any(ref.kind == "p" for ref in refs(call.args)) and name not in ELEMENTWISE:
            return None
        if name in MOVES or name in POOLS:
            moved = run({ref: labels[ref] for ref in refs((call.args, call.settings))}, [call], ())
            out = [moved[ref] for ref in refs(call.result)]
            whole = all(bool((o == o.round()).all()) for o in out)
            return out if whole and all(o.dtype.is_floating_point for o in out) else None
        return self._elementwise(call, values, labels) if name in ELEMENTWISE else None

    def _elementwise(self, call: Call, values: Any, labels: Any) -> list[torch.Tensor] | None:
        shape = values[call.result].shape
        found = []
        for ref in refs(call.args):
            own = labels.get(ref)
            if ref.kind == "p":
                own = self._parameter_labels(ref)
                if own is None:
                    return None
            if own.numel() > 1:
                found.append(own.broadcast_to(shape))
        if not found:
            return [torch.zeros(shape)]
        pairs = torch.stack([f.double().flatten() for f in found], 1).unique(dim=0)
        for first, *others in pairs.long().tolist():
            for other in others:
                self._join(first, other)
        return [found[0].clone()]

    def _parameter_labels(self, ref: Ref) -> torch.Tensor | None:
        """Labels of a parameter with one axis that is longer than 1."""
        shape = self.outside.tensors[ref.index].data.shape
        long = [axis for axis, size in enumerate(shape) if size > 1]
        if len(long) > 1:
            return None
        if not long:
            return torch.zeros(shape)
        own = self._fresh(shape[long[0]])
        self._tie(ref, long[0], own)
        return torch.tensor(own, dtype=torch.float64).reshape(shape)

    def _linear(self, call: Call, values: Any, labels: Any) -> list[torch.Tensor] | None:
        x, weight = call.args[:2]
        own = _per_channel(labels[x], -1)
        if not isinstance(weight, Ref) or weight.kind != "p" or values[weight].ndim != 2 or own is None:
            return None
        self._tie(weight, 0, own)
        made = self._fresh(values[weight].shape[1])
        self._tie(weight, 1, made, made=True)
        self._tie(call.args[2] if len(call.args) > 2 else None, 0, made)
        out = values[call.result]
        self._count(weight, out.numel() * values[weight].shape[0])
        return [torch.tensor(made, dtype=torch.float64).broadcast_to(out.shape)]

    def _convolution(self, call: Call, values: Any, labels: Any) -> list[torch.Tensor] | None:
        x, weight, bias, (*_, transposed, _, groups) = call.args
        own = _per_channel(labels[x], 1)
        if weight.kind != "p" or own is None or (transposed and groups > 1):
            return None
        out = values[call.result]
        into, outwards = (0, 1) if transposed else (1, 0)
        each, many = len(own) // groups, out.shape[1] // groups
        for i in range(each):
            for group in range(1, groups if each > 1 else 1):
                self._join(own[i], own[group * each + i])
        if groups == 1 or each > 1:
            self._tie(weight, into, own[:each])
        made = self._fresh(out.shape[1])
        for place, label in enumerate(made):
            if groups > 1:  # depthwise: a filter goes with its channel; else the groups stay alike
                self._join(label, own[place // many] if each == 1 else made[place % many])
        self._tie(weight, outwards, made, made=True)
        self._tie(bias, 0, made)
        self._count(weight, out.numel() * values[weight].numel() // values[weight].shape[outwards])
        shape = [1, -1] + [1] * (out.ndim - 2)
        return [torch.tensor(made, dtype=torch.float64).reshape(shape).broadcast_to(out.shape)]

    def _count(self, weight: Ref, products: int) -> None:
        self.products[weight.index] = self.products.get(weight.index, 0) + products


def _layer_axis(values: Any, args: Sequence[Any]) -> int | None:
    """The axis that a layer normalisation with one axis is over."""
    weight = args[1] if isinstance(args[1], Ref) else None
    return -1 if weight is not None and values[weight].ndim == 1 else None


def _per_channel(labels: torch.Tensor, axis: int) -> list[int] | None:
    """One label for each index of an axis; None where the entries of an index have several."""
    rows = labels.movedim(axis, 0).flatten(1) if labels.ndim > 1 else labels.reshape(-1, 1)
    if not rows.numel() or bool((rows != rows[:, :1]).any()):
        return None
    return [int(n) for n in rows[:, 0].tolist()]
