"""Columns of a row in registers: how a loop over many rows keeps what it adds to, in LLVM's own terms.

Numba cannot know that the row a loop sums into overlaps no other array, so it reads and writes that row once
for every row it adds. A loop that is built of these blocks holds its columns in registers instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from .cpu_sparse_machine import emit_prefetch

VECTOR = 64  # bytes: one register with AVX-512, two with AVX2
BLOCKS = (4, 2, 1)  # vectors

_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_FUSED = ("contract",)  # a product and its sum may be rounded once
# The terms of one sum come in any order; which it is depends on the number of columns alone.
_ANY_ORDER = (*_FUSED, "reassoc")


def arrays(context: Any, builder: ir.IRBuilder, kinds: Any, values: Any) -> list[Any]:
    """Numba's arrays, with `data` and `shape`, of an intrinsic's first arguments: as many as there are
    values."""
    return [
        context.make_array(kind)(context, builder, value) for kind, value in zip(kinds, values, strict=False)
    ]


def row_of(builder: ir.IRBuilder, matrix: Any, numbers: Any, place: ir.Value) -> ir.Value:
    """Where row numbers[place] of a contiguous matrix begins. numbers: int32 or int64; place: int64."""
    number = builder.load(builder.gep(numbers.data, [place]))
    wide = builder.sext(number, _INT64) if number.type.width < 64 else number
    return builder.gep(matrix.data, [builder.mul(wide, builder.extract_value(matrix.shape, 1))])


class RegisterBlock:
    """`count` vectors of a row from `column` on, in the registers that hold them while the loop over other
    rows runs.

    builder: where the code goes. kind: float32 or float64, that of the numbers. The row is contiguous and
    need not be aligned. A `mask`, where there is one, leaves out the lanes behind the row's end.
    """

    def __init__(self, builder: ir.IRBuilder, kind: types.Float) -> None:
        self.b, self.size = builder, kind.bitwidth // 8
        self.lanes = VECTOR // self.size
        self.real = ir.FloatType() if self.size == 4 else ir.DoubleType()
        self.vector = ir.VectorType(self.real, self.lanes)
        self.zero = ir.Constant(self.vector, [0.0] * self.lanes)
        self.suffix = f"v{self.lanes}f{8 * self.size}"
        self.column: Any = None
        self.count, self.mask = 0, None

    def over(self, columns: ir.Value) -> Iterator["RegisterBlock"]:
        """This block at each place where it stands, as code is written for blocks of 4, 2 and 1 vectors, and
        the rest.

        columns: int64, the numbers of a row. What the caller builds in the loop's body is built for each.
        """
        b = self.b
        place = cgutils.alloca_once_value(b, ir.Constant(_INT64, 0))
        for count in BLOCKS:
            width = ir.Constant(_INT64, count * self.lanes)
            with self.loop_while(
                lambda width=width: b.icmp_signed("<=", b.add(b.load(place), width), columns)
            ):
                self.column, self.count, self.mask = b.load(place), count, None
                yield self
                b.store(b.add(self.column, width), place)
        self.column, self.count = b.load(place), 1
        rest = b.trunc(b.sub(columns, self.column), _INT32)
        with b.if_then(b.icmp_signed(">", rest, ir.Constant(_INT32, 0))):
            numbers = ir.Constant(ir.VectorType(_INT32, self.lanes), list(range(self.lanes)))
            self.mask = b.icmp_signed("<", numbers, self.splat(rest))
            yield self

    @contextmanager
    def loop_while(self, test: Any) -> Iterator[None]:
        """Code inside is run as long as what `test()` builds, an int1, is true."""
        head, body, after = (self.b.append_basic_block(name) for name in ("head", "body", "after"))
        self.b.branch(head)
        self.b.position_at_end(head)
        self.b.cbranch(test(), body, after)
        self.b.position_at_end(body)
        yield
        self.b.branch(head)
        self.b.position_at_end(after)

    def splat(self, value: ir.Value) -> ir.Value:
        """A vector with `value` in every lane."""
        kind = ir.VectorType(value.type, self.lanes)
        first = self.b.insert_element(ir.Constant(kind, ir.Undefined), value, ir.Constant(_INT32, 0))
        every = ir.Constant(ir.VectorType(_INT32, self.lanes), [0] * self.lanes)
        return self.b.shuffle_vector(first, ir.Constant(kind, ir.Undefined), every)

    def pointers(self, data: ir.Value) -> list[ir.Value]:
        """Where this block's vectors are in the row that starts at `data`."""
        b = self.b
        at = b.gep(data, [self.column])
        lanes = [ir.Constant(_INT64, k * self.lanes) for k in range(self.count)]
        return [b.bitcast(b.gep(at, [k]), self.vector.as_pointer()) for k in lanes]

    def read(self, data: ir.Value) -> list[ir.Value]:
        """This block's vectors of the row that starts at `data`; 0 in the lanes behind its end."""
        found = []
        for pointer in self.pointers(data):
            if self.mask is None:
                found.append(self.b.load(pointer, align=self.size))
            else:
                call = self._intrinsic(
                    "masked.load", self.vector, pointer.type, _INT32, self.mask.type, self.vector
                )
                found.append(
                    self.b.call(call, [pointer, ir.Constant(_INT32, self.size), self.mask, self.zero])
                )
        return found

    def write(self, data: ir.Value, values: list[ir.Value]) -> None:
        """Store `values`, one vector each, in the row that starts at `data`."""
        for pointer, value in zip(self.pointers(data), values, strict=True):
            if self.mask is None:
                self.b.store(value, pointer, align=self.size)
            else:
                call = self._intrinsic(
                    "masked.store", ir.VoidType(), self.vector, pointer.type, _INT32, self.mask.type
                )
                self.b.call(call, [value, pointer, ir.Constant(_INT32, self.size), self.mask])

    def prefetch(self, data: ir.Value) -> None:
        """Ask for the memory of this block's vectors of the row that starts at `data`."""
        for pointer in self.pointers(data):
            emit_prefetch(self.b, pointer)

    def multiply_add(self, x: ir.Value, y: ir.Value, z: ir.Value) -> ir.Value:
        """x y + z, rounded once where the machine can."""
        return self.b.fadd(self.b.fmul(x, y, flags=_FUSED), z, flags=_FUSED)

    def add_dot(self, out: Any, place: ir.Value, xs: list[ir.Value], ys: list[ir.Value]) -> None:
        """out[place] = the sum of x y over all lanes at a row's first block, += at those that follow."""
        b, total = self.b, self.zero
        for x, y in zip(xs, ys, strict=True):
            total = self.multiply_add(x, y, total)
        call = self._intrinsic("vector.reduce.fadd", self.real, self.real, self.vector)
        summed = b.call(call, [ir.Constant(self.real, 0.0), total], fastmath=_ANY_ORDER)
        first = b.icmp_signed("==", self.column, ir.Constant(_INT64, 0))
        pointer = b.gep(out.data, [place])
        b.store(b.fadd(b.select(first, ir.Constant(self.real, 0.0), b.load(pointer)), summed), pointer)

    def _intrinsic(self, name: str, result: ir.Type, *given: ir.Type) -> ir.Function:
        full = f"llvm.{name}.{self.suffix}" + (".p0" if name.startswith("masked") else "")
        return cgutils.get_or_insert_function(self.b.module, ir.FunctionType(result, given), full)
