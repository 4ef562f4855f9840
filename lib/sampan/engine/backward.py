"""Running the tape backwards: gradients of any order, modes and hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import torch

from . import fast, tape
from .apply import observer_of, observers, wrap
from .errors import with_name
from .tape import Node, check_unwritten
from .tensor import InvalidArgument, InvalidType, Tensor

# --- modes --------------------------------------------------------------------------------------------------
# The mode is torch's own flag: it belongs to the thread, and torch.no_grad() and ours mean the same.


class set_grad_enabled(torch.set_grad_enabled):
    """Context manager, decorator or plain call: record on the tape (True) or not (False)."""

    def __init__(self, mode: Any) -> None:
        if not hasattr(mode, "__bool__"):
            raise InvalidType(f"set_grad_enabled: mode: expected True or False, got {mode!r}")
        super().__init__(bool(mode))


class no_grad(torch.no_grad):
    """Context manager or decorator: nothing inside is recorded."""


class enable_grad(torch.enable_grad):
    """Context manager or decorator: recording is on inside, also within `no_grad`."""


def is_grad_enabled() -> bool:
    """Whether operators record in this thread."""
    return torch.is_grad_enabled()


# --- the walk -----------------------------------------------------------------------------------------------


def topological_order(roots: Sequence[Node]) -> list[Node]:
    """Every Node that `roots` were made from, each after all Nodes that consume its output.

    Parents are always older than their consumers, so the order of creation, reversed, is such an order.
    """
    seen = set(roots)
    found = list(roots)
    for node in found:
        for edge in node.edges:
            if type(edge) is Node and edge not in seen:
                seen.add(edge)
                found.append(edge)
    found.sort(key=attrgetter("sequence"), reverse=True)
    return found


def unbroadcast(gradient: Any, shape: Sequence[int]) -> Any:
    """Sum `gradient` over the axes along which an input of `shape` was broadcast.

    gradient: an array of the broadcast shape; returns one of `shape` (torch: sum_to_size). Broadcasting
    repeats an element, so its gradient is the sum over its copies.
    """
    extra = gradient.ndim - len(shape)
    axes = [
        *range(extra),
        *(extra + i for i, n in enumerate(shape) if n == 1 and gradient.shape[extra + i] != 1),
    ]
    if axes:
        gradient = gradient.sum(axis=axes, keepdim=True)
    return gradient.reshape(shape) if extra else gradient


def fit(gradient: Any, shape: Any, dtype: torch.dtype) -> Any:
    """`gradient` with the shape and dtype of the input it belongs to."""
    if gradient.shape != shape and list(gradient.shape) != list(shape):
        gradient = unbroadcast(gradient, shape)
    if gradient.dtype != dtype:
        if gradient.dtype.is_complex and not dtype.is_complex:
            gradient = gradient.real() if isinstance(gradient, Tensor) else gradient.real
        gradient = gradient.to(dtype)
    return gradient


def gradients_of(node: Node, gradient: Any, recorded: bool) -> tuple[Any, ...]:
    """The gradients of a Node's inputs; None for an input that needs none."""
    operator, edges = node.operator, node.edges
    kept: Any = _over_tensors(node) if recorded else node.kept
    conjugate = operator.holomorphic and gradient.is_complex()
    gradient = gradient.conj() if conjugate else gradient
    if operator.joint is not None:
        function, names = operator.joint
        result = function(gradient, *[kept[name] for name in names])
        result = result if type(result) is tuple else (result,)
    else:
        result = tuple(
            None if edge is None else function(gradient, *[kept[name] for name in names])
            for edge, (function, names) in zip(edges, operator.derivatives, strict=False)
        )
    if len(result) < len(edges) and any(edge is not None for edge in edges[len(result) :]):
        parameters = operator.parameters
        missing = parameters[len(result)] if len(result) < len(parameters) else str(len(result))
        raise NotImplementedError(f"{node.name} has no gradient for its argument {missing!r}")
    if conjugate:
        result = tuple(None if part is None else part.conj() for part in result)
    if recorded and operator.product:
        for part in result:
            if part is not None and part.node is not None:
                part.node.factors = edges
    if node.shapes is not None:
        return tuple(
            g if g is None or known is None else fit(g, *known)
            for g, known in zip(result, node.shapes, strict=False)
        )
    return result


def _vanishes(roots: Sequence[Any], key: Any) -> bool:
    """Whether gradients of products are all that leads from `roots` to `key`, which no edge does.

    The gradient of a product by one factor does not change with that factor. Paddle gives zeros for such a
    second derivative, and nothing (None or an error) for one of a sum.
    """
    seen, found = set(roots), list(roots)
    for node in found:
        if node is key:
            return True
        for edge in [*node.edges, *node.factors] if type(node) is Node else ():
            if edge not in seen:
                seen.add(edge)
                found.append(edge)
    return False


def _over_tensors(node: Node) -> dict[str, Any]:
    """What a Node keeps, with Tensors for its inputs and for `out`, so that a derivative of them is
    recorded."""
    kept = dict(node.kept or {})
    parameters = node.operator.parameters
    for name, content in kept.items():
        if name == "out":
            kept[name] = _tied(content, node)
        elif node.operator.variadic and name == parameters[0]:
            kept[name] = tuple(_tied(part, edge) for part, edge in zip(content, node.edges, strict=True))
        elif name in parameters and isinstance(content, torch.Tensor):
            kept[name] = _tied(content, node.edges[parameters.index(name)])
    return kept


def _tied(content: Any, made_by: Any) -> Any:
    """A Tensor over a buffer as it was when it was recorded, made by the Node (or leaf) that made it."""
    if isinstance(content, tuple):
        return tuple(_tied(part, made_by.output(place)) for place, part in enumerate(content))
    if isinstance(made_by, Tensor):
        return made_by
    if not isinstance(content, torch.Tensor):
        return content
    tied = Tensor(content, stop_gradient=made_by is None)
    tied.node = made_by
    return tied


# --- the run ------------------------------------------------------------------------------------------------


def run(
    roots: Sequence[tuple[Any, Any]],
    retain_graph: bool = False,
    create_graph: bool = False,
    targets: Sequence[Any] | None = None,
    blocked: frozenset[Any] | set[Any] = frozenset(),
) -> dict[Any, Any]:
    """Walk the tape backwards from `roots`, pairs of (Node or leaf, gradient); Nodes and leaves in `blocked`
    end it.

    Without `targets`, gradients end in the leaves' `.grad`. With them (Nodes or leaves) nothing is
    accumulated: the gradients of the targets are returned in a dict, and only what leads to them is computed.
    """
    collected: dict[Any, Any] = {}
    wanted = None if targets is None else set(targets)
    gradients: dict[Any, Any] = {}
    # Addresses of memory that is already a leaf's gradient or the caller's: no leaf may share it.
    owners: set[int] = set()
    for key, gradient in roots:
        owners.add((gradient.data if create_graph else gradient).data_ptr())
        into = gradients if type(key) is Node else collected
        if into is gradients or wanted is None or key in wanted:
            into[key] = gradient if key not in into else into[key] + gradient
    order = topological_order(list(gradients))
    observed = observer_of("backward") if observers else None
    usual = fast.ENABLED and wanted is None and not create_graph and observed is None
    leading: set[Any] = set() if wanted is None else _leading_to(order, wanted) - blocked
    sought = None if wanted is None else (leading | wanted) - blocked
    walk: Iterable[Node] = order
    if tape.leaves_report and wanted is None and not create_graph:
        walk = _handing_over(order, gradients, collected, owners)
    for node in walk:
        gradient = gradients.pop(node, None)
        if gradient is None:
            continue
        if usual and fast.step(node, gradient, gradients, collected, fit):
            if not retain_graph:
                node.kept = None
            continue
        if node.hooks is not None:
            gradient = _call_hooks(node.hooks, gradient, create_graph, owners)
        if wanted is not None:
            if node in wanted:
                collected[node] = gradient
            if node not in leading:  # the tape behind a target is not run, and not freed
                continue
        edges = node.edges
        if node.index is not None:
            place = gradients.setdefault(edges[0], [None] * len(edges[0].outputs))
            place[node.index] = gradient if place[node.index] is None else place[node.index] + gradient
            continue
        if node.kept is None:
            raise RuntimeError(
                f"backward: the tape behind {node.name} was freed by an earlier backward; "
                "pass retain_graph=True to the first one to go through it twice"
            )
        if tape.last_write > node.sequence:
            check_unwritten(node, order)
        if node.outputs is not None:
            gradient = _filled(node, gradient, create_graph)
        if observed is not None:
            parts = observed(node, gradient, partial(gradients_of, node, gradient, create_graph))
        else:
            parts = gradients_of(node, gradient, create_graph)
        if not retain_graph:
            node.kept = None
        for edge, part in zip(edges, parts, strict=False):
            if edge is None or part is None or (sought is not None and edge not in sought):
                continue
            into = gradients if type(edge) is Node else collected
            before = into.get(edge)
            into[edge] = part if before is None else before + part
    # Only after the walk: until then other Nodes may still read the memory of a leaf's gradient.
    if wanted is None:
        for leaf, gradient in collected.items():
            _hand_over(leaf, gradient, create_graph, owners)
    return collected


def _hand_over(leaf: Tensor, gradient: Any, recorded: bool, owners: set[int]) -> None:
    """Add a gradient to that of a leaf, and call its hooks. One of rows (`RowGradient`) adds itself."""
    if leaf._hooks is not None:
        gradient = _call_hooks(leaf._hooks, gradient, recorded, owners)
    before = leaf._grad
    if recorded:
        leaf._grad = gradient if before is None else leaf.grad + gradient
    elif not isinstance(gradient, torch.Tensor):
        leaf._grad = gradient.onto(before, owners)
    else:
        data = leaf.data
        if gradient.dtype is not data.dtype:
            gradient = fit(gradient, data.shape, data.dtype)
        if before is None:
            leaf._grad = wrap(_owned(gradient, owners))
            leaf._grad.stop_gradient = False  # as in Paddle, where a gradient is a leaf like its tensor
        else:
            held: Any = before if isinstance(before, Tensor) else leaf.grad
            held.data.add_(gradient)
    for hook in list(leaf._complete_hooks or ()):
        hook(leaf)


def _handing_over(
    order: Sequence[Node], gradients: dict[Any, Any], collected: dict[Any, Any], owners: set[int]
) -> Iterator[Node]:
    """The Nodes of `order`. After the last Node that leads to a leaf with a hook, the leaf gets its gradient.

    So the gradients of the last layers can be sent while those of the first are computed.
    """
    left: dict[Any, int] = {}
    for node in order:
        for edge in node.edges:
            if isinstance(edge, Tensor) and edge._complete_hooks:
                left[edge] = left.get(edge, 0) + 1
    for node in order:
        yield node
        for edge in node.edges:
            if edge not in left:
                continue
            left[edge] -= 1
            if left[edge] == 0 and edge in collected:
                gradient = collected.pop(edge)
                # A hook may write to its gradient, whose memory other pending gradients may share.
                for pending in (*gradients.values(), *collected.values()):
                    parts = pending if isinstance(pending, list) else [pending]  # a list: of several outputs
                    owners.update(
                        p.untyped_storage().data_ptr() for p in parts if isinstance(p, torch.Tensor)
                    )
                _hand_over(edge, gradient, False, owners)


def _leading_to(order: Sequence[Node], wanted: set[Any]) -> set[Any]:
    """Nodes of `order` from which a wanted one can be reached."""
    needed: set[Any] = set()
    for node in reversed(order):
        if any(edge in wanted or edge in needed for edge in node.edges):
            needed.add(node)
    return needed


def _filled(node: Node, gradients: list[Any], recorded: bool) -> tuple[Any, ...]:
    """The gradients of all outputs: zeros for those that the result does not depend on."""
    assert node.outputs is not None
    if not node.operator.fills:
        return tuple(gradients)
    filled = []
    for gradient, (shape, dtype, device) in zip(gradients, node.outputs, strict=True):
        if gradient is None:
            gradient = torch.zeros(shape, dtype=dtype, device=device)
            gradient = Tensor(gradient) if recorded else gradient
        filled.append(gradient)
    return tuple(filled)


def _owned(gradient: torch.Tensor, owners: set[int]) -> torch.Tensor:
    """`gradient` in memory that no other tensor shares: later backwards add to it in place."""
    address = gradient.data_ptr()
    if address in owners or not gradient.is_contiguous() or gradient.storage_offset():
        gradient = gradient.clone(memory_format=torch.contiguous_format)
        address = gradient.data_ptr()
    owners.add(address)
    return gradient


def _call_hooks(hooks: Sequence[Callable[..., Any]], gradient: Any, recorded: bool, owners: set[int]) -> Any:
    shown = gradient if recorded else _shown(gradient, owners)
    for hook in list(hooks):  # a hook that removes itself must not hide the next
        result = hook(shown)
        shown = shown if result is None else result
    return shown if recorded else shown._carried()


def _shown(gradient: Any, owners: set[int]) -> Tensor:
    """A gradient of the walk as a Tensor that a user may keep."""
    return wrap(_owned(gradient, owners)) if isinstance(gradient, torch.Tensor) else gradient.tensor()


_ones: dict[Any, torch.Tensor] = {}  # the gradient of a loss with respect to itself, never written to


def _ones_like(data: torch.Tensor) -> torch.Tensor:
    if data.dim():
        return torch.ones_like(data)
    kind = data.device, data.dtype
    if kind not in _ones:
        _ones[kind] = torch.ones(()).to(*kind)  # a plain buffer, also where the loss is a DTensor
    return _ones[kind]


def dense_part(value: Any) -> Any:
    """What the tape holds of a sparse tensor, its values; anything else itself."""
    tensor: Any = value
    return tensor.values() if isinstance(value, Tensor) and value.is_sparse() else value


def _roots(
    tensors: Sequence[Tensor], gradients: Any, recorded: bool, name: str, blocked: Any = ()
) -> list[tuple[Any, Any]]:
    """(Node or leaf, gradient) of each tensor that is on the tape and not `blocked`; ones where no gradient
    is given."""
    given = _listed(gradients) or [None] * len(tensors)
    if len(given) != len(tensors):
        raise InvalidArgument(f"{name}: expected {len(tensors)}, one per tensor, got {len(given)}")
    return [
        (tensor.node or tensor, _initial(tensor, dense_part(gradient), recorded, name))
        for tensor, gradient in zip(map(dense_part, tensors), given, strict=True)
        if not tensor.stop_gradient and (tensor.node or tensor) not in blocked
    ]


def _listed(tensors: Any) -> list[Any]:
    """A list of Tensors from a list, one Tensor or None."""
    return [] if tensors is None else [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _initial(tensor: Tensor, gradient: Tensor | None, recorded: bool, name: str) -> Any:
    """The gradient with which a walk starts at `tensor`: a Tensor if the walk is recorded, else a buffer."""
    if gradient is None:
        initial: Any = _ones_like(tensor.data)
        return Tensor(initial) if recorded else initial
    if not isinstance(gradient, Tensor):
        raise TypeError(f"{name}: expected a Tensor or None, got {type(gradient).__name__}")
    if gradient.data.shape == (1,) and not tensor.data.ndim:  # Paddle's form before 2.5
        gradient = gradient.reshape([])
    if gradient.data.shape != tensor.data.shape:
        raise InvalidArgument(
            f"{name}: expected shape {[*tensor.shape]}, that of the tensor, got {[*gradient.shape]}"
        )
    if gradient.data.dtype is not tensor.data.dtype:
        gradient = gradient.astype(tensor.data.dtype)
    return gradient if recorded else gradient.data


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool = False,
    *,
    dump_backward_graph_path: str | None = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of every leaf they depend on.

    grad_tensors: the gradient to start from for each tensor, of its shape; None means ones (as in Paddle,
    also when the tensor is not a scalar: the gradient of its sum).
    retain_graph: keep the tape for another backward.
    dump_backward_graph_path: is for Paddle's developers; `sampan.visual` draws the tape.
    Raises RuntimeError when the tape was freed, or when memory that it needs was overwritten.
    """
    if type(tensors) is Tensor and grad_tensors is None and not tensors.stop_gradient:  # the usual call
        run(((tensors.node or tensors, _ones_like(tensors.data)),), retain_graph)
        return
    given: Any = [grad_tensors] if isinstance(tensors, Tensor) else grad_tensors
    run(_roots(_listed(tensors), given, False, "grad_tensors"), retain_graph)


def _from_one(
    self: Tensor,
    grad_tensor: Tensor | None = None,
    retain_graph: bool = False,
    *,
    dump_backward_graph_path: Any = None,
) -> None:
    """Add the gradient of this tensor to the `.grad` of every leaf it depends on.

    grad_tensor: the gradient to start from, of this tensor's shape; ones when None.
    retain_graph: keep the tape, so that backward can go through it again.

    >>> x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    >>> (x * x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 4.0]
    """
    backward(self, grad_tensor, retain_graph)


setattr(Tensor, "backward", with_name("backward", _from_one))  # noqa: B010


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool = False,
    no_grad_vars: Tensor | Sequence[Tensor] | None = None,
    *,
    dump_backward_graph_path: str | None = None,
) -> list[Tensor | None]:
    """The gradients of the sum of `outputs` with respect to `inputs`, as a list; `.grad` is left alone.

    grad_outputs: gradients to start from, of the outputs' shapes; None means ones.
    retain_graph: the tape is kept either way, as by Paddle; it goes when the outputs do.
    create_graph: record the computation, so that gradients of gradients can be taken.
    allow_unused: return None for an input that the outputs do not depend on; else that is a ValueError.
    no_grad_vars: tensors that are taken as constants.

    >>> x = paddle.to_tensor(3.0, stop_gradient=False)
    >>> (first,) = paddle.grad(x**3, x, create_graph=True)
    >>> (second,) = paddle.grad(first, x)
    >>> first.item(), second.item()
    (27.0, 18.0)
    """
    if not only_inputs:
        raise InvalidArgument("only_inputs: only True is supported, got False")
    outputs, inputs = _listed(outputs), _listed(inputs)
    if not outputs or not inputs:
        raise InvalidArgument(f"grad: expected outputs and inputs, got {len(outputs)} and {len(inputs)}")
    targets, others = ([t.node or t for t in map(dense_part, ts)] for ts in (inputs, _listed(no_grad_vars)))
    blocked = set(others)
    roots = _roots(outputs, grad_outputs, create_graph, "grad_outputs", blocked)
    with set_grad_enabled(create_graph):
        found = run(roots, True, create_graph, targets, blocked)
    results: list[Tensor | None] = []
    # No result is the caller's memory, or that of another result.
    owners = {(g.data if create_graph else g).data_ptr() for _, g in roots}
    tensor: Any
    for position, (tensor, key) in enumerate(zip(inputs, targets, strict=True)):
        gradient = None if key in blocked else found.get(key)
        if gradient is None and key not in blocked:
            if _vanishes([made for made, _ in roots], key):
                zeros = torch.zeros_like(dense_part(tensor).data)
                gradient = Tensor(zeros) if create_graph else zeros
            elif not allow_unused:
                raise ValueError(
                    f"inputs[{position}] {tensor._brief()} is not part of what the outputs were computed "
                    "from; pass allow_unused=True to get None for it"
                )
        if gradient is None:
            results.append(None)
            continue
        if not isinstance(gradient, Tensor):
            gradient = _shown(gradient, owners)
        elif gradient.data.data_ptr() in owners:
            with enable_grad():
                gradient = gradient.clone()
        if create_graph and gradient.node is None:  # a constant, which can be derived by, as in Paddle
            gradient = wrap(gradient.data)
            gradient.stop_gradient = False
        results.append(tensor.like(gradient) if tensor.is_sparse() else gradient)
    return results
