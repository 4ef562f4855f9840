"""What the machine can do and Numba has no name for."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

_INT32, _BYTES = ir.IntType(32), ir.IntType(8).as_pointer()


def trailing_zeros(word: int) -> int:
    """The number of the lowest bit that is set; of 0, 64."""
    return (word & -word).bit_length() - 1 if word else 64


@intrinsic
def _trailing_zeros(typing, word):
    return types.int64(types.int64), lambda context, b, signature, args: b.cttz(
        args[0], ir.Constant(ir.IntType(1), 0)
    )


@overload(trailing_zeros)
def _overload_trailing_zeros(word):
    return lambda word: _trailing_zeros(word)


def prefetch(array: Any, place: int) -> None:
    """Ask for the line of memory that holds array[place]; nothing where the compiler is off."""


def emit_prefetch(b: ir.IRBuilder, pointer: ir.Value) -> None:
    """Code that asks for the line at `pointer`, to read and to keep."""
    kind = ir.FunctionType(ir.VoidType(), (_BYTES, _INT32, _INT32, _INT32))
    call = cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0")
    b.call(call, [b.bitcast(pointer, _BYTES), *(ir.Constant(_INT32, n) for n in (0, 3, 1))])


@intrinsic
def _prefetch(typing, array, place):
    def emit(context, b, signature, args):
        data = context.make_array(signature.args[0])(context, b, args[0]).data
        emit_prefetch(b, b.gep(data, [args[1]]))
        return context.get_dummy_value()

    return types.void(array, types.int64), emit


@overload(prefetch)
def _overload_prefetch(array, place):
    return lambda array, place: _prefetch(array, place)
