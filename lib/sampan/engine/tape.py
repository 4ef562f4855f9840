"""The tape's entries: one Node per recorded call of an operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from .operator import Operator

next_sequence = count(1).__next__


class Node:
    """A recorded call. `edges` leads to what made each input: a Node, a leaf Tensor, or None.

    kept: what the operator's derivatives read, by name (see operator.py); None once an earlier backward has
    freed it. sequence grows with every call, so parents are always older than the nodes that use them.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "edges",
        "hooks",
        "kept",
        "operator",
        "outputs",
        "sequence",
        "shapes",
    )

    operator: Operator
    edges: list[Any]
    kept: dict[str, Any] | None
    sequence: int
    hooks: list[Callable[..., Any]] | None
    shapes: list[Any] | None  # (shape, dtype) of each input, for operators that broadcast
    outputs: list[Any] | None  # (shape, dtype, device) of each output, where there are several
    # Rarely set, so that a Node without them costs nothing.
    # For the gradient of a product: what made the product's inputs (see `backward.grad`).
    factors: Sequence[Any] = ()
    # On the Node of one of several outputs: which one of its only edge's outputs it is.
    index: int | None = None
    # When a view of its result was overwritten on the tape; 0 for never (see `write_through`).
    view_written: int = 0

    def __init__(self, operator: Operator, edges: list[Any], kept: dict[str, Any] | None) -> None:
        self.operator = operator
        self.edges = edges
        self.kept = kept
        self.sequence = next_sequence()
        self.hooks = self.shapes = self.outputs = None

    @property
    def parents(self) -> tuple[Node | None, ...]:
        """The Node that made each input, or None for data and leaves."""
        return tuple(edge if type(edge) is Node else None for edge in self.edges)

    @property
    def name(self) -> str:
        return self.operator.name if self.index is None else f"{self.operator.name}[{self.index}]"

    def __repr__(self) -> str:
        return f"<Node {self.sequence} {self.name}>"

    def output(self, index: int) -> Node:
        """The Node of output `index`: it hands its gradient to that place among this Node's."""
        node = Node(self.operator, [self], None)
        node.index = index
        return node


# Whether any leaf has a hook for its complete gradient; see `backward.run`.
leaves_report = False


# In-place changes. A write stamps the memory with the tape's clock; a Node that is older than the stamp on a
# buffer which its derivatives read would use overwritten memory. This costs nothing until the first write.
# The memory also counts the writes of operators. Both are read and written here alone.
last_write = 0


def written(buffer: torch.Tensor, counted: bool = False) -> None:
    """Note that `buffer`'s memory, and so that of every view of it, has just been changed in place.

    counted: by an operator. Paddle's `inplace_version` leaves out steps of optimizers.
    """
    global last_write
    memory: Any = buffer.untyped_storage()
    memory.written = last_write = next_sequence()
    if counted:
        memory.writes = getattr(memory, "writes", 0) + 1


def version(buffer: torch.Tensor) -> int:
    """How often an operator has changed `buffer`'s memory in place."""
    return getattr(buffer.untyped_storage(), "writes", 0)


def replaced(before: torch.Tensor, after: torch.Tensor) -> None:
    """Note that `after` replaces `before`: one version more, though nothing was overwritten."""
    memory: Any = after.untyped_storage()
    memory.writes = version(before) + 1


def refuse_overwritten(buffer: torch.Tensor, node: Node, what: str) -> None:
    """RuntimeError if `buffer`, which `node` keeps as `what`, was modified by an in-place operation since it
    was recorded (torch: the check of `_version`)."""
    if getattr(buffer.untyped_storage(), "written", 0) > node.sequence:
        raise RuntimeError(
            f"backward: {node.name} needs {what} {list(buffer.shape)} as it was, but an in-place operation "
            "has overwritten it since; use the out-of-place form, or clone() before writing"
        )


def kept_by(node: Node) -> Iterator[tuple[str, torch.Tensor]]:
    """The buffers that a Node keeps for its derivatives, and their names."""
    for name, content in (node.kept or {}).items():
        for kept in _buffers(content):
            yield name, kept


def _buffers(content: Any) -> Iterator[torch.Tensor]:
    if isinstance(content, torch.Tensor):
        yield content
    elif isinstance(content, (list, tuple)):
        for part in content:
            yield from _buffers(part)


_CALLED = {"out": "its result", "saved": "what it saved,"}


def check_unwritten(node: Node, order: Sequence[Node]) -> None:
    """Refuse a backward through a Node whose memory was changed after it was recorded.

    Either memory that it keeps, or its result, through a view of it (see `write_through`). `order` is
    the walk in which the Node was reached.
    """
    for name, kept in kept_by(node):
        refuse_overwritten(kept, node, _CALLED.get(name, repr(name)))
    if not node.view_written:
        return
    for later in order:
        if later.sequence > node.view_written and any(base_of(edge) is node for edge in later.edges):
            raise RuntimeError(
                f"backward: {later.name} used the result of {node.name} after a view of it had been "
                "overwritten on the tape, which only the view knows of; use the out-of-place form, or index "
                "assignment"
            )


def base_of(edge: Any) -> Any:
    """What made the memory that a chain of views shows: a Node, a leaf Tensor, or None for data."""
    while isinstance(edge, Node) and edge.operator.view:
        edge = edge.edges[0]
    return edge


def write_through(view: Node) -> None:
    """Note that the result of `view` is about to be overwritten on the tape.

    This changes its base too, but only the view's own Tensor moves on along the tape. A later use of the base
    would get gradients that ignore the change: backward refuses it.
    """
    base = base_of(view)
    if isinstance(base, Node) and base is not view:
        base.view_written = next_sequence()
