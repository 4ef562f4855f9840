"""The tape's entries. One Node stands for one recorded call of an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from types import FunctionType
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch

if TYPE_CHECKING:
    from .operator import Operator
    from .tensor import Tensor

next_sequence = count(1).__next__


class Node:
    """A recorded call. `edges` leads to what made each input: a Node, a leaf Tensor, or None.

    sequence grows with every call, so parents are always older than the nodes that use them.
    """

    __slots__ = (
        "__weakref__", "edges", "factors", "hooks", "index", "inputs", "operator", "outputs", "pullback", "sequence",
        "settings", "shapes",
    )  # fmt: skip

    operator: Operator
    pullback: Any
    edges: list[Any]
    inputs: tuple[Any, ...] | None
    settings: dict[str, Any]
    sequence: int
    hooks: list[Callable[..., Any]] | None
    shapes: list[Any] | None  # (shape, dtype) of each input, for operators that broadcast
    outputs: list[Any] | None  # (shape, dtype, device) of each output, where there are several
    factors: list[Any]  # unset but for the gradient of a product: what made its inputs (see `autograd.grad`)
    index: int | None  # set on the Node of one of several outputs: which one of its only edge's outputs it is

    @property
    def parents(self) -> tuple[Node | None, ...]:
        """The Node that made each input, or None for data and leaves."""
        return tuple(edge if type(edge) is Node else None for edge in self.edges)

    @property
    def name(self) -> str:
        return self.operator.name if self.index is None else f"{self.operator.name}[{self.index}]"

    def __repr__(self) -> str:
        return f"<Node {self.sequence} {self.name}>"

    def wrap_outputs(self, values: Sequence[torch.Tensor]) -> tuple[Tensor, ...]:
        """Tensors for an operator with several outputs; those that are not floating stay outside the tape."""
        from .tensor import Tensor

        self.outputs = [(v.shape, v.dtype, v.device) for v in values]
        tensors = []
        for index, value in enumerate(values):
            tensor = Tensor(value)
            if value.is_floating_point() or value.is_complex():
                tensor.stop_gradient = False
                tensor.node = self.output(index)
            tensors.append(tensor)
        return tuple(tensors)

    def output(self, index: int) -> Node:
        """The Node of output `index`: it hands its gradient to that place among this Node's."""
        node = Node()
        node.operator, node.index, node.edges = self.operator, index, [self]
        node.pullback = node.inputs = node.hooks = node.shapes = node.outputs = None
        node.settings, node.sequence = self.settings, next_sequence()
        return node


# In-place changes. A write stamps the memory with the tape's clock; a Node that is older than the stamp on a
# buffer which its pullback keeps would read overwritten memory. Nothing is paid until a write happens.
last_write = 0


def written(buffer: torch.Tensor) -> None:
    """Note that `buffer`'s memory, and so that of every view of it, has just been changed in place."""
    global last_write
    last_write = next_sequence()
    buffer.untyped_storage().written = last_write  # type: ignore[attr-defined]


def was_written(buffer: torch.Tensor, sequence: int) -> bool:
    """Whether `buffer`'s memory was changed in place after the moment `sequence`."""
    return getattr(buffer.untyped_storage(), "written", 0) > sequence


def kept_by(node: Node) -> Iterator[tuple[str, torch.Tensor]]:
    """The buffers that a Node's pullback keeps, captured or bound as defaults, and their names."""
    single = type(node.pullback) is not tuple
    for function, edge in [(node.pullback, node)] if single else zip(node.pullback, node.edges, strict=False):
        if edge is None or not isinstance(function, FunctionType):
            continue  # no gradient is asked for: it will not run
        code, cells, defaults = function.__code__, function.__closure__ or (), function.__defaults__ or ()
        arguments = code.co_varnames[: code.co_argcount]
        bound = zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True)
        captured = ((n, c.cell_contents) for n, c in zip(code.co_freevars, cells, strict=True))
        for name, content in (*captured, *bound):
            for kept in content if isinstance(content, (list, tuple)) else (content,):
                if isinstance(kept, torch.Tensor):
                    yield name, kept


def check_unwritten(node: Node, order: Sequence[Node]) -> None:
    """Refuse a backward through a Node whose memory was changed after it was recorded.

    Either memory that its pullback keeps, or its result, through a view of it (see `write_through`). `order` is
    the walk in which the Node was reached.
    """
    for name, kept in kept_by(node):
        if was_written(kept, node.sequence):
            raise RuntimeError(
                f"backward: {node.name} needs {'its result' if name == 'out' else repr(name)} "
                f"{list(kept.shape)} as it was, but an in-place operation has overwritten it since; "
                "use the out-of-place form, or clone() before writing"
            )
    moment = _through_view.get(node)
    if moment is None:
        return
    for later in order:
        if later.sequence > moment and any(base_of(edge) is node for edge in later.edges):
            raise RuntimeError(
                f"backward: {later.name} used the result of {node.name} after a view of it had been overwritten "
                "on the tape, which only the view knows of; use the out-of-place form, or index assignment"
            )


# An in-place change of a view changes its base too, but only the view's own Tensor moves on along the tape. Whoever
# uses the base afterwards would get gradients as if nothing had happened: such a use is refused in backward.
_through_view: WeakKeyDictionary[Node, int] = WeakKeyDictionary()


def base_of(edge: Any) -> Any:
    """What made the memory that a chain of views shows: a Node, a leaf Tensor, or None for data."""
    while isinstance(edge, Node) and edge.operator.view:
        edge = edge.edges[0]
    return edge


def write_through(view: Node) -> None:
    """Note that the result of `view` is about to be overwritten on the tape."""
    base = base_of(view)
    if isinstance(base, Node) and base is not view:
        _through_view[base] = next_sequence()
