"""PyLayer: an entry of the tape whose forward and backward a user writes."""

import weakref
from typing import Any

import torch

from . import backward as walk
from .apply import describe, wrap_outputs
from .operator import Operator, recorded_by_hand
from .tape import Node, refuse_overwritten
from .tensor import InvalidType, Tensor

_saving: list[tuple[Any, Any]] = []  # the hooks of the saved_tensors_hooks that are open


class saved_tensors_hooks:
    """Context manager: what a PyLayer saves inside goes through `pack_hook`, and through `unpack_hook` when
    it is read. Operators keep buffers, which no hook sees."""

    def __init__(self, pack_hook: Any, unpack_hook: Any) -> None:
        self._hooks = (pack_hook, unpack_hook)

    def __enter__(self) -> None:
        _saving.append(self._hooks)

    def __exit__(self, *error: object) -> None:
        _saving.remove(self._hooks)


class PyLayerContext:
    """Carries what `forward` saves for `backward`."""

    def __init__(self) -> None:
        self._saved: tuple[Any, ...] = ()
        self._unpack: Any = None
        self._results: dict[int, int] = {}  # of a saved result: its place there, its place among the results
        self._node: Any = None  # weakly: the Node that keeps this context
        self._not_differentiable: tuple[Tensor, ...] = ()
        self.materialize_grads = self.consistent = True

    def save_for_backward(self, *tensors: Any) -> None:
        pack, self._unpack = _saving[-1] if _saving else (None, None)
        self._saved = tuple(map(pack, tensors)) if pack else tensors

    def saved_tensor(self) -> tuple[Any, ...]:
        """What `save_for_backward` was given; results come back tied to the tape, so that they have
        derivatives."""
        if self._unpack:
            return tuple(map(self._unpack, self._saved))
        node = None if self._node is None else self._node()
        if node is None:
            return self._saved
        for saved in self._saved:
            if isinstance(saved, Tensor):
                refuse_overwritten(walk.dense_part(saved).data, node, "a saved tensor")
        tied = list(self._saved)
        for place, index in self._results.items():
            tied[place] = Tensor(tied[place].data, stop_gradient=False)
            tied[place].node = node if node.outputs is None else node.output(index)
        return tuple(tied)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return self.saved_tensor()

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Outputs that get no gradient."""
        self._not_differentiable = tensors

    def mark_not_inplace(self, *tensors: Tensor) -> None:
        """Nothing to do: outputs never take the place of inputs."""

    def set_materialize_grads(self, value: bool) -> None:
        """Whether a missing output gradient arrives as zeros (True) or as None."""
        if not isinstance(value, bool):
            raise InvalidType(f"set_materialize_grads: value: expected a bool, got {describe(value)}")
        self.materialize_grads = value

    def set_grad_in_dtype_consistent(self, flag: bool) -> None:
        """Whether a gradient is cast to the dtype of the output that it belongs to (True) or comes as it was
        made."""
        self.consistent = flag


class PyLayer:
    """Subclass it with static methods `forward(ctx, *args)` and `backward(ctx, *grads)`; call
    `Sub.apply(...)`.

    backward gets one gradient per Tensor output and returns one per Tensor input of forward (None where there
    is none). It is written with Sampan's operators, so that gradients of gradients work too.

    >>> class Double(paddle.autograd.PyLayer):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         return gradient * 2
    >>> x = paddle.to_tensor([1.0], stop_gradient=False)
    >>> Double.apply(x).backward()
    >>> x.grad.tolist()
    [2.0]
    """

    @staticmethod
    def forward(ctx: PyLayerContext, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("PyLayer.forward: write it in the subclass")

    @staticmethod
    def backward(ctx: PyLayerContext, *args: Any) -> Any:
        raise NotImplementedError("PyLayer.backward: write it in the subclass")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        context = PyLayerContext()
        with walk.no_grad():
            result = cls.forward(context, *args, **kwargs)
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        if not any(isinstance(o, Tensor) for o in outputs):
            returned = describe(result)
            raise InvalidType(
                f"{cls.__name__}.forward: expected to return at least one Tensor, got {returned}"
            )
        inputs = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
        if not walk.is_grad_enabled() or all(walk.dense_part(t).stop_gradient for t in inputs):
            return result
        _record(_Backward(cls, context, inputs, outputs), inputs, outputs)
        return type(result)(outputs) if isinstance(result, (tuple, list)) else outputs[0]


class _Backward:
    """What a Node keeps of a PyLayer's call: the gradients of its inputs, by its `backward`.

    It holds what forward saved, and no other input or output.
    """

    def __init__(self, kind: Any, context: Any, inputs: list[Tensor], outputs: list[Any]) -> None:
        self.kind, self.context = kind, context
        self.sparse = [t.is_sparse() for t in inputs]
        # Of each Tensor among the outputs: its place, and what a gradient of zeros is made from.
        self.shapes = {
            i: (o.data.shape, o.data.dtype, o.data.device)
            for i, o in enumerate(outputs)
            if isinstance(o, Tensor)
        }
        constant = {id(t) for t in context._not_differentiable}
        self.places = [
            i
            for i, (_, dtype, _) in self.shapes.items()
            if id(outputs[i]) not in constant and (dtype.is_floating_point or dtype.is_complex)
        ]

    def __call__(self, gradients: Any) -> tuple[Any, ...]:
        arrived = gradients if type(gradients) is tuple else (gradients,)
        recorded = any(isinstance(g, Tensor) for g in arrived)
        given = self._of_all_outputs(dict(zip(self.places, arrived, strict=True)))
        with walk.set_grad_enabled(recorded):
            found = self.kind.backward(self.context, *given)
        found = found if isinstance(found, (tuple, list)) else (found,)
        self._check(found)
        found = tuple(map(walk.dense_part, found))
        return found if recorded else tuple(None if g is None else g.data for g in found)

    def _of_all_outputs(self, arrived: dict[int, Any]) -> list[Any]:
        """A gradient for each Tensor that forward returned, as its `backward` expects them."""
        given: list[Any] = []
        for place, (shape, dtype, device) in self.shapes.items():
            gradient = arrived.get(place)
            if gradient is None and self.context.materialize_grads:
                gradient = torch.zeros(shape, dtype=dtype, device=device)
            elif gradient is not None and self.context.consistent and gradient.dtype != dtype:
                gradient = gradient.to(dtype)
            # A copy: backward may write into it, and the walk may read the same memory elsewhere.
            given.append(
                Tensor(gradient.clone(memory_format=torch.contiguous_format))
                if isinstance(gradient, torch.Tensor)
                else gradient
            )
        return given

    def _check(self, found: Any) -> None:
        """Refuse what is not one gradient for each input."""
        name, count = f"{self.kind.__name__}.backward", len(self.sparse)
        odd = [describe(g) for g in found if g is not None and not isinstance(g, Tensor)]
        if odd:
            raise InvalidType(f"{name}: expected Tensors and None to be returned, got {', '.join(odd)}")
        if len(found) != count:
            wanted = f"{count} gradients, one per Tensor given to forward"
            raise ValueError(f"{name}: expected {wanted}, got {len(found)}")
        if any(g is not None and s and not g.is_sparse() for g, s in zip(found, self.sparse, strict=True)):
            raise InvalidType(f"{name}: expected a sparse gradient for a sparse input, got a dense one")


def _record(call: _Backward, inputs: list[Tensor], outputs: list[Any]) -> None:
    """Make a Node for a call, and put Tensors that it made in the places of the outputs."""
    tensors, context, places = [walk.dense_part(t) for t in inputs], call.context, call.places
    edges = [None if t.stop_gradient else (t.node or t) for t in tensors]
    node = Node(_operator_for(call.kind), edges, {"saved": call})
    context._node = weakref.ref(node)
    of = {id(outputs[place]): index for index, place in enumerate(places)}
    context._results = {i: of[id(saved)] for i, saved in enumerate(context._saved) if id(saved) in of}
    buffers = [outputs[i].data.view_as(outputs[i].data) for i in places]
    if len(places) > 1:
        made = wrap_outputs(node, buffers)
    else:
        made = tuple(Tensor(b, stop_gradient=False) for b in buffers)
        for tensor in made:
            tensor.node = node
    for place, tensor in zip(places, made, strict=True):
        outputs[place] = tensor


Function = PyLayer  # torch's name
_operators: dict[type, Operator] = {}


def _operator_for(cls: type) -> Operator:
    """The Operator of a PyLayer's Nodes: its name appears in drawings of the tape and in errors."""
    if cls not in _operators:
        _operators[cls] = recorded_by_hand(cls.__name__)
    return _operators[cls]
