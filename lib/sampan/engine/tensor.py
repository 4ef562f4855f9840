"""The Tensor: a torch buffer, whether it requires a gradient, and the Node that made it.

The methods that are not operators are defined here. Every operator becomes a method by its declaration (see
operator.py), and Python's own operators call them (see ops/signs.py); the generated `tensor_methods.pyi`
lists them all.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..dtype import DTYPES, DataType, Place, Size, as_device, as_dtype, name_of
from . import printing, tape
from .conversion import UNKNOWN_TO_NUMPY, buffer_from, from_numbers
from .conversion import to_numpy as to_numpy
from .errors import InvalidArgument as InvalidArgument
from .errors import InvalidType as InvalidType
from .tape import Node

if TYPE_CHECKING:
    from .tensor_methods import Methods
else:
    Methods = object

_names = iter(range(1 << 62))


class Count(int):
    """How many values a tensor has; called, its lengths."""

    lengths: Size

    def __call__(self, dim: int | None = None) -> Any:
        """The lengths, or the one along an axis."""
        return self.lengths if dim is None else self.lengths[dim]


class Tensor(Methods):
    """An array with a place on the tape.

    data: the torch tensor that owns the memory (CPU or CUDA); its own autograd is never on.
    stop_gradient: True for data, False for parameters and what is computed from them.
    node: the tape entry that made it; None for leaves.
    """

    # Also a dictionary, made when a program gives a tensor an attribute of its own (`weight.fast = None`).
    __slots__ = ("__dict__", "__weakref__", "_grad", "_hooks", "_name", "data", "node", "stop_gradient")
    __array_priority__ = 100  # so that `ndarray + Tensor` comes to Tensor.__radd__

    data: torch.Tensor
    node: Node | None
    stop_gradient: bool
    _cleared: bool = False  # whether `grad` is zeros while `_grad` is None: they are made when read
    _complete_hooks: list[Any] | None = None  # see register_post_accumulate_grad_hook
    persistable: bool = False  # Paddle's label of what belongs to a model's state

    def __init__(self, data: Any = (), stop_gradient: Any = True, *, place: Any = None) -> None:
        if not isinstance(stop_gradient, bool):  # Paddle's second argument is the place
            place, stop_gradient = stop_gradient, True
        if place is not None:
            data = buffer_from(data, place=place)
        elif isinstance(data, Tensor):
            data = data.data
        elif not isinstance(data, torch.Tensor):
            data = buffer_from(data)
        self.data = data.detach() if data.requires_grad else data
        self.stop_gradient = stop_gradient
        self.node = None
        self._grad: Any = None
        self._hooks: list[Any] | None = None
        self._name: str | None = None

    # --- what it is ---

    @property
    def shape(self) -> Size:
        """The lengths of the axes."""
        return Size(self.data.shape)

    @property
    def dtype(self) -> DataType:
        """The element type, such as `float32`."""
        return DTYPES[self.data.dtype]

    @property
    def place(self) -> Place:
        """The device of the memory."""
        return Place(self.data.device)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.data.ndim

    @property
    def size(self) -> Count:
        """The number of elements."""
        count = Count(self.data.numel())
        count.lengths = self.shape
        return count

    @property
    def strides(self) -> list[int]:
        """Steps, in elements, from one entry to the next along each axis."""
        return list(self.data.stride())

    @property
    def is_leaf(self) -> bool:
        """Whether no operator made this tensor."""
        return self.node is None

    @property
    def grad_fn(self) -> Node | None:
        """The tape entry that made this tensor."""
        return self.node

    @property
    def name(self) -> str:
        """A unique name, such as "generated_tensor_0"; made at first use."""
        if self._name is None:
            self._name = f"generated_tensor_{next(_names)}"
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        self._name = value

    @property
    def inplace_version(self) -> int:
        """How often its memory has been written in place."""
        return tape.version(self.data)

    def dim(self) -> int:
        """The number of axes, as an int."""
        return self.data.ndim

    def rank(self) -> Tensor:
        """The number of axes, as an int32 Tensor of shape []."""
        return Tensor(torch.tensor(self.data.ndim, dtype=torch.int32))

    def numel(self, name: str | None = None) -> Tensor:
        """The number of elements, as an int64 Tensor of shape []."""
        return Tensor(torch.tensor(self.data.numel()))

    def element_size(self) -> int:
        """Bytes per element."""
        return self.data.element_size()

    def is_contiguous(self) -> bool:
        """Whether the elements are contiguous in memory in row-major order."""
        return self.data.is_contiguous()

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self.data.data_ptr()

    def get_strides(self) -> list[int]:
        """`strides` as a method."""
        return self.strides

    def __len__(self) -> int:
        if self.data.ndim == 0:
            raise InvalidType("len() of a 0-d tensor")
        return self.data.shape[0]

    # --- gradients ---

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward left here; None before the first, zeros after clear_gradient()."""
        if self._grad is None and self._cleared:
            self._grad = Tensor(torch.zeros_like(self.data), stop_gradient=False)
        elif self._grad is not None and not isinstance(self._grad, Tensor):
            self._grad = self._grad.tensor()
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise TypeError(f"grad: expected a Tensor or None, got {type(value).__name__}")
        if value is not None and value.shape != self.shape:  # of rows too, which stay rows
            raise ValueError(f"grad: expected shape {[*self.shape]}, got {[*value.shape]}")
        # A copy: the next backward adds to it in place. Rows (row_sparse) are not copied: it makes new ones.
        self._grad = Tensor(value.data.clone(), value.stop_gradient) if type(value) is Tensor else value
        self._cleared = False

    def _carried(self) -> Any:
        """The buffer with which backward continues when a hook returns this Tensor."""
        return self.data

    def gradient(self) -> np.ndarray | None:
        """The gradient as a NumPy array, or None."""
        return None if self.grad is None else self.grad.numpy()

    def clear_gradient(self, set_to_zero: bool = True) -> None:
        """Zero the gradient, or forget it (set_to_zero=False). The zeros are allocated only when read."""
        self._cleared = set_to_zero and (self._cleared or self._grad is not None)
        self._grad = None

    clear_grad = clear_gradient

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> HookHandle:
        """Call `hook(gradient)` when backward reaches this tensor; what it returns replaces the gradient."""
        if self.stop_gradient:
            raise RuntimeError(f"register_hook: {self._brief()} has stop_gradient=True and gets no gradient")
        owner, attribute = (self, "_hooks") if self.node is None else (self.node, "hooks")
        hooks = getattr(owner, attribute)
        if hooks is None:
            hooks = []
            setattr(owner, attribute, hooks)
        hooks.append(hook)
        return HookHandle(hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> HookHandle:
        """Call `hook(tensor)` as soon as backward has added all of this leaf's gradient to its `.grad`.

        It is called during the walk, before the gradients of earlier layers are computed, so that gradients
        can be sent to other processes meanwhile. Of a backward with `create_graph` it is called at its
        end. torch's name for it.
        """
        if self.node is not None or self.stop_gradient:
            name = "register_post_accumulate_grad_hook"
            raise RuntimeError(f"{name}: expected a leaf with stop_gradient=False, got {self._brief()}")
        if self._complete_hooks is None:
            self._complete_hooks = []
        self._complete_hooks.append(hook)
        tape.leaves_report = True
        return HookHandle(self._complete_hooks, hook)

    def retain_grads(self) -> None:
        """Keep the gradient of a tensor that is not a leaf in its `.grad`.

        It is the gradient of what the tensor is now, also when the tensor is changed in place afterwards, as
        in Paddle.
        """
        if self.node is not None:
            owner = weakref.ref(self)  # weakly: its Node must not keep a tensor alive

            def keep(gradient: Tensor) -> None:
                tensor = owner()
                if tensor is not None:
                    tensor._grad = gradient

            self.register_hook(keep)

    def detach(self) -> Tensor:
        """The same memory, outside the tape."""
        return Tensor(self.data)

    def detach_(self) -> Tensor:
        """Cut this tensor from the tape in place: it becomes a leaf with stop_gradient=True. Returns self."""
        self.node, self.stop_gradient = None, True
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `stop_gradient` to `not requires_grad`. Returns self."""
        self.stop_gradient = not requires_grad
        return self

    @property
    def requires_grad(self) -> bool:
        """torch's name for `not stop_gradient`."""
        return not self.stop_gradient

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.stop_gradient = not value

    # --- leaving and changing representation ---

    def numpy(self, blocking: bool = True) -> np.ndarray:
        """A copy of the values as a NumPy array; `x.data.numpy()` and DLPack share its memory.

        NumPy has no bfloat16: as in Paddle its bits come as uint16, which `to_tensor` takes for bfloat16
        again.
        """
        return to_numpy(self.data).copy()

    def item(self, *args: int) -> Any:
        """The single value, or the one at a flat index or at one index per axis."""
        if len(args) == 1:
            return self.flatten()[args[0]].item()
        data = self[args].data if args else self.data
        if data.numel() != 1:
            raise InvalidArgument(f"item: expected a tensor with one value, got shape {[*self.shape]}")
        return data.item()

    def tolist(self) -> Any:
        """The values as nested lists of Python numbers; a number for shape []."""
        return self.data.tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError(
                "__array__: copy=False: the array of a Tensor is always a copy; take x.data.numpy()"
            )
        return np.array(to_numpy(self.data), dtype=dtype)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch when one of its functions is given a Tensor of this library: a single integer is
        read, as a size or an index; any other Tensor is refused, as its place on the tape would be lost."""
        name = getattr(function, "__name__", str(function))
        try:
            if name.removeprefix("__").removesuffix("__") in _SIGNS:
                raise TypeError("an operator between a buffer and a Tensor is a method of the Tensor")
            return function(*_as_numbers(args), **{k: _as_numbers(v) for k, v in (kwargs or {}).items()})
        except TypeError as error:
            wanted = "expected a torch.Tensor, got a sampan Tensor; its `.data` is one"
            raise InvalidType(f"torch.{name}: {wanted}") from error

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        return self.data.__dlpack__(stream=stream, **options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        return self.data.__dlpack_device__()

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __index__(self) -> int:
        if self.data.is_floating_point() or self.data.is_complex():
            raise TypeError(f"only an integer tensor is an index, got {name_of(self.dtype)}")
        return int(self.item())

    def __bool__(self) -> bool:
        if self.data.numel() != 1:
            raise InvalidArgument(
                f"the truth value of a tensor of shape {[*self.shape]} is ambiguous: use any() or all()"
            )
        return bool(self.data)

    def __iter__(self) -> Iterator[Tensor]:
        if self.data.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return (self[i] for i in range(self.data.shape[0]))

    __hash__ = object.__hash__  # by identity: the walk backwards keeps gradients by leaf

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if self.node is not None:
            raise RuntimeError("deepcopy: only leaf tensors can be copied; detach() first")
        copied = type(self)(self.data.clone(), stop_gradient=self.stop_gradient)
        memo[id(self)] = copied
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return _from_numpy, (type(self), to_numpy(self.data), name_of(self.dtype), self.stop_gradient)

    def astype(self, dtype: Any) -> Tensor:
        """A copy in another dtype, recorded on the tape between floating dtypes; the tensor itself where it
        has it."""
        kind = as_dtype(dtype)
        return self if kind is self.data.dtype else self.cast(kind)

    def to(self, *args: Any, device: Any = None, dtype: Any = None, blocking: bool | None = None) -> Tensor:
        """Convert by dtype, place, or another tensor's both: `to("float64")`, `to("gpu:0")`, `to(other)`.

        A copy if a dtype is given; the tensor itself if place and dtype are already as asked.
        """
        for arg in args:
            if isinstance(arg, Tensor):
                device, dtype = arg.place, None if arg.data.dtype is self.data.dtype else arg.dtype
            elif isinstance(arg, Place) or (
                isinstance(arg, str) and arg.split(":")[0] in ("cpu", "gpu", "cuda")
            ):
                device = arg
            elif arg is not None and not isinstance(arg, bool):
                dtype = arg
        result = self
        if dtype is not None:
            result = result.cast(dtype)
        if device is not None and as_device(device) != self.data.device:
            result = result._on_device(as_device(device))
        return result

    def cpu(self) -> Tensor:
        """This tensor if it is on the CPU, else a copy there; gradients flow through it."""
        return self.to("cpu")

    def cuda(self, device_id: int | None = None, blocking: bool = True) -> Tensor:
        """This tensor if it is on GPU `device_id` (0 for None), else a copy there.

        Gradients flow through it. blocking is ignored."""
        return self.to(f"gpu:{device_id or 0}")

    def clone(self) -> Tensor:
        """A copy; gradients flow through it."""
        return self._assign()

    def contiguous(self) -> Tensor:
        """This tensor if it is contiguous, else a contiguous copy; gradients flow through it."""
        return self if self.data.is_contiguous() else self._assign()

    def _move(self, device: Any, dtype: Any) -> None:
        """Take another place, and another dtype if it is floating; None changes nothing."""
        self.data = self.data.to(device=device, dtype=dtype if self.data.is_floating_point() else None)

    @property
    def T(self) -> Tensor:
        """The axes in reverse order."""
        return self.permute(list(range(self.ndim))[::-1])

    @property
    def mT(self) -> Tensor:
        """The last two axes exchanged."""
        if self.ndim < 2:
            raise ValueError(f"mT: expected at least 2 axes, got shape {[*self.shape]}")
        return self.swapaxes(-2, -1)

    # --- changing in place ---

    def _write(self, value: Tensor) -> Tensor:
        """Take the value of `value` and its Node: the last step of every in-place operator."""
        data = self.data
        if value.data.shape != data.shape:
            raise InvalidArgument(f"the result has shape {[*value.shape]}, the tensor has {[*self.shape]}")
        if not torch.can_cast(value.data.dtype, data.dtype):
            raise InvalidType(f"a result of {name_of(value.dtype)} does not fit into {self._brief()}")
        self._check_writable(value.node is not None)
        if value.node is not None and value.data.dtype is not data.dtype:
            value = value.astype(data.dtype)
        if value.data is not data:
            data.copy_(value.data)
        self._mark_written()
        if torch.is_grad_enabled():
            self.node, self.stop_gradient = value.node, value.stop_gradient
        return self

    def _check_writable(self, recorded: bool) -> None:
        """Refuse an in-place change that the tape could not follow. recorded: it is about to go on the
        tape."""
        self._check_no_leaf(self if self.node is None else tape.base_of(self.node))
        if not recorded or not torch.is_grad_enabled():
            return
        if self.node is not None:
            tape.write_through(self.node)
        elif self.data.untyped_storage().nbytes() > self.data.numel() * self.data.element_size():
            raise InvalidArgument(
                f"{self._brief()} shows part of another tensor's memory, which would not know of "
                "the gradient; assign to that tensor by index (x[i, j] = ...), or clone() first"
            )

    def _check_no_leaf(self, source: Any) -> None:
        if isinstance(source, Tensor) and not source.stop_gradient and torch.is_grad_enabled():
            what = "is" if source is self else "is a view of"
            raise InvalidArgument(
                f"{self._brief()} {what} a leaf that wants a gradient, and cannot be overwritten "
                "on the tape; use no_grad() to change its value"
            )

    def _mark_written(self) -> None:
        tape.written(self.data, counted=True)

    def set_value(self, value: Any) -> None:
        """Overwrite the values, keeping shape, dtype and place. Raises ValueError for another shape."""
        source = value.data if isinstance(value, Tensor) else from_numbers(value)
        if source.shape != self.data.shape:
            raise InvalidArgument(f"set_value: expected shape {[*self.shape]}, got {list(source.shape)}")
        if not torch.can_cast(source.dtype, self.data.dtype):
            raise InvalidType(f"expected {name_of(self.dtype)}, got {name_of(source.dtype)}")
        self.data.copy_(source)
        self._mark_written()

    def fill_(self, value: float) -> Tensor:
        """Overwrite every element with `value`. Returns self."""
        return self._write(self._before()._full_like(value))

    def zero_(self) -> Tensor:
        """Overwrite every element with 0. Returns self."""
        return self.fill_(0)

    def __pos__(self) -> Tensor:
        """Returns self."""
        return self

    get_tensor = __pos__  # Paddle: the underlying DenseTensor

    def _before(self) -> Tensor:
        """A Tensor of the present value and Node: the input of an operator whose result is written back."""
        before = Tensor(self.data, self.stop_gradient)
        before.node = self.node
        return before

    # --- printing ---

    def _brief(self) -> str:
        name = "" if self._name is None else f" {self._name!r}"
        return f"{type(self).__name__}{name} {name_of(self.dtype)}{[*self.shape]}"

    def __repr__(self) -> str:
        shown = self.data.to(torch.float32) if self.data.dtype in UNKNOWN_TO_NUMPY else self.data
        body = printing.layout(shown.cpu().resolve_conj().resolve_neg().numpy(), 7)
        return (
            f"Tensor(shape={list(self.shape)}, dtype={name_of(self.dtype)}, place={self.place}, "
            f"stop_gradient={self.stop_gradient},\n       {body})"
        )

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.ndim == 0 else object.__format__(self, spec)


# torch's names of Python's operators: torch refuses them, so that Python calls the Tensor's own methods.
_SIGNS = frozenset(
    # One string is shorter than a list of names.
    "add sub rsub mul div true_divide truediv floordiv floor_divide pow rpow mod remainder "  # noqa: SIM905
    "matmul and or xor lshift rshift rtruediv rdiv rfloordiv rmod rmatmul radd rmul eq ne lt le gt ge "
    "bitwise_and "
    "bitwise_or bitwise_xor".split()
)


class HookHandle:
    """Removes a hook: `handle.remove()`."""

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks, self._hook = hooks, hook

    def remove(self) -> bool:
        """True if the hook was still registered."""
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)
            return True
        return False


def is_tensor(x: Any) -> bool:
    """Whether `x` is a Tensor, dense or sparse."""
    return isinstance(x, Tensor)


def _from_numpy(kind: type[Tensor], array: np.ndarray, dtype: str, stop_gradient: bool) -> Tensor:
    return kind(torch.from_numpy(array).view(as_dtype(dtype)), stop_gradient=stop_gradient)


def to_tensor(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Tensor:
    """A Tensor with a copy of `data`: numbers, nested lists, NumPy arrays, torch tensors, Tensors.

    dtype: floats, also in lists, become the default dtype, ints int64, bools bool; arrays and Tensors keep
    theirs, but an array of uint16 holds the bits of bfloat16, as `numpy` gives them.
    place: `cpu`, `gpu:N` or a Place; the current one when None.
    Raises TypeError or ValueError when `data` is ragged or holds something that is not a number.

    >>> x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    >>> x.shape, str(x.dtype)
    (paddle.Size([2, 2]), 'paddle.float32')
    """
    source = data.data if isinstance(data, Tensor) else data
    return Tensor(buffer_from(source, dtype, place), stop_gradient)


def _as_numbers(given: Any) -> Any:
    """Arguments with an int in place of each integer Tensor of one entry. TypeError for any other Tensor."""
    if isinstance(given, Tensor):
        if given.data.numel() != 1:
            raise TypeError("a Tensor of several entries is not a number")
        return given.__index__()
    return type(given)([_as_numbers(g) for g in given]) if type(given) in (list, tuple) else given
