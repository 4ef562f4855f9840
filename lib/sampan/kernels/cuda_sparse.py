"""The sparse kernels on a GPU: names and results of the CPU's loops, on torch buffers.

Each is a vendor's call or a few of torch's, which the CPU has too: there they are tested against the loops.
Sums that are made here are made in one order; how cuSPARSE orders those of its products is its own affair.
"""

import warnings
from typing import Any

import torch

Buffer = torch.Tensor
LARGEST_GRID = 50_000_000  # cells of 4 bytes; above it place numbers are found by bisection
AT_A_TIME = 1 << 24  # numbers that a product without a vendor's call holds

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch says once that its compressed rows are in beta
    torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1), check_invariants=False)


# --- structure ----------------------------------------------------------------------------------------------


def cuts(crows: Buffer, each: int = 0) -> Buffer:
    """The loops' parts of equal work. A vendor's call splits its work by itself."""
    return crows


def _places_of(starts: Buffer, count: int | None = None) -> Buffer:
    """The row of each place, where row k's places are starts[k] to starts[k + 1].

    count: how many places there are; without it the GPU is waited for.
    """
    rows = torch.arange(len(starts) - 1, device=starts.device)
    return rows.repeat_interleave(starts.diff().long(), output_size=count)


def _before(counts: Buffer) -> Buffer:
    """The sum of all counts before each, and of all: one more than there are counts."""
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _starts(numbers: Buffer, count: int) -> Buffer:
    """Where each of 0 to count - 1 begins in ascending numbers, and where the last ends."""
    bounds = torch.arange(count + 1, dtype=numbers.dtype, device=numbers.device)
    return torch.searchsorted(numbers, bounds).int()


def _width(*cols: Buffer) -> int:
    return max([int(c.max()) + 1 for c in cols if len(c)], default=1)


def _numbers(crows: Buffer, cols: Buffer, width: int) -> Buffer:
    """Each entry's position in the flattened matrix."""
    return _places_of(crows, len(cols)) * width + cols


def _found(numbers: Buffer, wanted: Buffer) -> Buffer:
    """Where each of `wanted` stands among ascending numbers, or -1."""
    if not len(numbers):
        return torch.full_like(wanted, -1)
    place = torch.searchsorted(numbers, wanted).clamp(max=len(numbers) - 1)
    return torch.where(numbers[place] == wanted, place, -1)


def rows_of(crows: Buffer, rows: Buffer) -> None:
    """The row of each entry."""
    rows.copy_(_places_of(crows, len(rows)))


def transpose(
    crows: Buffer, cols: Buffer, width: int, t_crows: Buffer, t_cols: Buffer, order: Buffer
) -> None:
    """The same entries by columns: t_cols are their rows, `order` says where each stood."""
    turned, found = cols.sort(stable=True)
    order.copy_(found)
    t_cols.copy_(_places_of(crows, len(cols))[found])
    t_crows.copy_(_starts(turned, width))


def ascending(rows: Buffer, cols: Buffer) -> bool:
    """Whether the entries ascend by row and column, without repeats."""
    down, along = rows.diff(), cols.diff()
    return bool(((down > 0) | ((down == 0) & (along > 0))).all())


def grouped(rows: Buffer, cols: Buffer, height: int) -> tuple[Buffer, Buffer, tuple[Buffer, Buffer]]:
    """(crows, cols, segments): the places of entries in any order, each once, by row and column."""
    width = _width(cols)
    numbers, order = (rows.long() * width + cols).sort(stable=True)
    numbers, counts = numbers.unique_consecutive(return_counts=True)
    crows = _starts(numbers // width, height)
    return crows, (numbers % width).int(), (_before(counts).int(), order.int())


def _sums(values: Buffer, starts: Buffer) -> Buffer:
    """The sums of values[starts[k] : starts[k + 1]] along the first axis."""
    if values.is_complex():
        return torch.view_as_complex(_sums(torch.view_as_real(values), starts))
    if values.is_floating_point():
        return torch.segment_reduce(values, "sum", offsets=starts.long(), axis=0, initial=0, unsafe=True)
    totals = torch.cat([values.new_zeros((1, *values.shape[1:])), values.cumsum(0)])
    return totals[starts.long()].diff(dim=0).to(values.dtype)


def segment_sums(segments: tuple[Buffer, Buffer], values: Buffer) -> Buffer:
    """For each place the sum of its entries' values. values: [entries, k]; returns [places, k]."""
    starts, order = segments
    return _sums(values[order.long()], starts)


def segment_spread(segments: tuple[Buffer, Buffer], g: Buffer) -> Buffer:
    """For each entry what its place has. g: [places, k]; returns [entries, k]."""
    starts, order = segments
    out = g.new_empty((len(order), g.shape[1]))
    out[order.long()] = g[_places_of(starts, len(order))]
    return out


def union(a_crows: Buffer, a_cols: Buffer, b_crows: Buffer, b_cols: Buffer) -> tuple[Buffer, ...]:
    """(crows, cols, from_a, from_b): the places of both matrices, and the entry of each there, or -1."""
    width = _width(a_cols, b_cols)
    a, b = _numbers(a_crows, a_cols, width), _numbers(b_crows, b_cols, width)
    numbers = torch.cat([a, b]).unique()
    crows = _starts(numbers // width, len(a_crows) - 1)
    return crows, (numbers % width).to(a_cols.dtype), _found(a, numbers).int(), _found(b, numbers).int()


def united(a: Buffer, b: Buffer, sign: int, from_a: Buffer, from_b: Buffer) -> Buffer:
    """a[from_a] + sign b[from_b], where -1 picks 0."""
    a, b = (torch.cat([v, v.new_zeros(1)]) for v in (a, b))  # -1 is the last
    return a[from_a.long()] + sign * b[from_b.long()]


# --- products -----------------------------------------------------------------------------------------------


def _csr(crows: Buffer, cols: Buffer, values: Buffer, width: int) -> Buffer:
    return torch.sparse_csr_tensor(crows, cols, values, (len(crows) - 1, width), check_invariants=False)


def spmm(cuts: Buffer, crows: Buffer, cols: Buffer, values: Buffer, x: Buffer, out: Buffer) -> None:
    """out[r] = the sum over row r's entries of value * x[col]. x: [columns, k], out: [rows, k]."""
    if not len(cols) or not out.numel():
        out.zero_()
    elif values.is_floating_point() or values.is_complex():
        out.copy_(_csr(crows, cols, values, len(x)) @ x)
    else:
        for part in torch.arange(x.shape[1], device=x.device).split(max(AT_A_TIME // len(cols), 1)):
            out[:, part] = _sums(values[:, None] * x[:, part][cols.long()], crows)


def sddmm(cuts: Buffer, crows: Buffer, cols: Buffer, x: Buffer, y: Buffer, out: Buffer) -> None:
    """out[e] = x[row of e] . y[col of e]: the product x y^T, at the entries alone. x: [rows, k], y: [columns,
    k]."""
    if not len(cols) or not x.shape[1]:
        out.zero_()
    elif x.is_floating_point():
        made = _csr(crows, cols, torch.zeros_like(out), len(y))
        out.copy_(torch.sparse.sampled_addmm(made, x, y.mT, beta=0.0).values())
    else:
        rows = _places_of(crows, len(cols))
        for part in torch.arange(len(cols), device=x.device).split(max(AT_A_TIME // x.shape[1], 1)):
            out[part] = (x[rows[part]] * y[cols[part].long()]).sum(1)


def _expanded(left: Any, right: Any) -> tuple[Buffer, Buffer]:
    """Every pair of an entry of the first matrix and one of the row of the second that it multiplies."""
    counts = right[0].diff()[left[1].long()].long()
    before = _before(counts)
    entries = _places_of(before)
    along = torch.arange(len(entries), device=counts.device) - before[entries]
    return entries, right[0].long()[left[1].long()][entries] + along


def spgemm_columns(left: Any, right: Any, width: int) -> tuple[Buffer, Buffer]:
    """(crows, cols): where the product of two matrices (crows, cols) has entries; `width`: columns of the
    second.

    Expand, sort, compress (Bell, Dalton and Olson, SIAM J. Sci. Comput. 34, 2012).
    """
    entries, others = _expanded(left, right)
    numbers = (_places_of(left[0], len(left[1]))[entries] * width + right[1][others]).unique()
    if len(numbers) >= 2**31:
        raise ValueError(f"matmul: expected a product of less than 2^31 entries, got {len(numbers)}")
    return _starts(numbers // max(width, 1), len(left[0]) - 1), (numbers % max(width, 1)).int()


def spgemm_values(left: Any, right: Any, width: int, at: Any) -> Buffer:
    """The values of the product of two matrices (crows, cols, values) at the places `at`: (crows, cols)."""
    entries, others = _expanded(left, right)
    numbers = _places_of(left[0], len(left[1]))[entries] * width + right[1][others]
    place, order = _found(_numbers(at[0], at[1], width), numbers).sort(stable=True)
    return _sums((left[2][entries] * right[2][others])[order], _starts(place, len(at[1])))


def spgemm_dots(left: Any, right: Any, width: int, at: Any) -> Buffer:
    """P Q^T at the places `at` alone; `width`: columns of both."""
    crows, cols, values = right
    t_crows, t_cols = crows.new_empty(width + 1), torch.empty_like(cols)
    order = torch.empty_like(cols, dtype=torch.int64)
    transpose(crows, cols, width, t_crows, t_cols, order)
    return spgemm_values(left, (t_crows, t_cols, values[order]), len(crows) - 1, at)


# --- softmax and attention ----------------------------------------------------------------------------------


def softmax(cuts: Buffer, crows: Buffer, values: Buffer, out: Buffer) -> None:
    """e^v / the sum of e^v over the entries of each row."""
    if len(values):
        rows, starts = _places_of(crows, len(values)), crows.long()
        top = torch.segment_reduce(values, "max", offsets=starts, unsafe=True)
        parts = (values - top[rows]).exp_()
        out.copy_(parts / _sums(parts, starts)[rows])


def softmax_back(cuts: Buffer, crows: Buffer, out: Buffer, g: Buffer, into: Buffer) -> None:
    """The gradient g taken back through the softmax `out`."""
    if len(out):
        into.copy_(out * (g - _sums(out * g, crows)[_places_of(crows, len(out))]))


def _head(x: Buffer, head: int, heads: int, length: int) -> Buffer:
    """The rows of one head of each mask, a view: [masks, length, width]."""
    return x.view(-1, heads, length, x.shape[1])[:, head]


def attend(
    rows: Any, q: Buffer, k: Buffer, v: Buffer, scale: float, length: int, weights: Buffer, out: Buffer
) -> None:
    """out = softmax(q k^T scale) v, and the weights. rows: (cuts, crows, cols) of the masks."""
    cuts, crows, cols = rows
    for head, found in enumerate(weights):
        a, b, c = (_head(x, head, len(weights), length).flatten(0, 1) for x in (q, k, v))
        scores, made = torch.empty_like(found), torch.empty_like(c)
        sddmm(cuts, crows, cols, a * scale, b, scores)
        softmax(cuts, crows, scores, found)
        spmm(cuts, crows, cols, found, c, made)
        into = _head(out, head, len(weights), length)
        into.copy_(made.view(into.shape))


def attend_back(
    rows: Any, turned: Any, given: Any, scale: float, length: int, weights: Buffer, gradients: Any
) -> None:
    """gradients (dq, dk, dv) of given (q, k, v, g). turned: (cuts, crows, cols, places) of the transposed
    masks."""
    (cuts, crows, cols), (t_cuts, t_crows, t_cols, places) = rows, turned
    for head, found in enumerate(weights):
        q, k, v, g = (_head(x, head, len(weights), length).flatten(0, 1) for x in given)
        slopes, inner = torch.empty_like(found), torch.empty_like(found)
        sddmm(cuts, crows, cols, g, v, inner)
        softmax_back(cuts, crows, found, inner, slopes)
        slopes *= scale
        slopes_turned, weights_turned = torch.empty_like(slopes), torch.empty_like(found)
        slopes_turned[places.long()], weights_turned[places.long()] = slopes, found
        made = [torch.empty_like(q) for _ in gradients]
        spmm(cuts, crows, cols, slopes, k, made[0])
        spmm(t_cuts, t_crows, t_cols, slopes_turned, q, made[1])
        spmm(t_cuts, t_crows, t_cols, weights_turned, g, made[2])
        for result, gradient in zip(made, gradients, strict=True):
            into = _head(gradient, head, len(weights), length)
            into.copy_(result.view(into.shape))


# --- convolution --------------------------------------------------------------------------------------------


def table(numbers: Buffer, cells: int) -> tuple[Buffer, Buffer]:
    """What finds the entry with each of these place numbers: a grid of all cells, or the numbers in order."""
    if cells <= LARGEST_GRID:
        grid = torch.full((max(cells, 1),), -1, dtype=torch.int32, device=numbers.device)
        grid[numbers] = torch.arange(len(numbers), dtype=torch.int32, device=numbers.device)
        return numbers.new_empty(0), grid
    sorted_numbers, order = numbers.sort()
    return sorted_numbers, order.int()


def distinct(numbers: Buffer, cells: int) -> Buffer:
    """Ascending, each once."""
    return numbers.unique()


def _inside(batch: Buffer, place: Buffer, sizes: Any) -> tuple[Buffer, Buffer]:
    """The numbers of places [3, n] in a grid `sizes`, and which of them are inside."""
    ok, number = torch.ones_like(batch, dtype=torch.bool), batch
    for p, size in zip(place, sizes.tolist(), strict=True):
        ok, number = ok & (p >= 0) & (p < size), number * size + p
    return number, ok


def _column(values: Any, like: Buffer) -> Buffer:
    return torch.as_tensor(values, device=like.device)[:, None]


def neighbours(places: Buffer, sizes: Any, offsets: Any, stride: Any, pad: Any, found: Any) -> Buffer:
    """[offsets, places], int32: the entry at place * stride - pad + offset, or -1. `found`: what `table`
    gave."""
    slots, entries = found
    start = places[1:] * _column(stride, places) - _column(pad, places)
    out = torch.empty((len(offsets), places.shape[1]), dtype=torch.int32, device=places.device)
    for row, offset in zip(out, offsets, strict=True):
        number, ok = _inside(places[0], start + _column(offset, places), sizes)
        if len(slots):
            place = _found(slots, number)
            number, ok = place.clamp(min=0), ok & (place >= 0)
        row.copy_(torch.where(ok, entries[torch.where(ok, number, 0)], -1))
    return out


def _write(into: Buffer, parts: list[Buffer]) -> int:
    made = torch.cat(parts)
    into[: len(made)] = made
    return len(made)


def reached(places: Buffer, sizes: Any, offsets: Any, stride: Any, pad: Any, into: Buffer) -> int:
    """The numbers of all places p of a grid `sizes` with p * stride - pad + offset among `places`; with
    repeats."""
    parts, step = [], _column(stride, places)
    for offset in offsets:
        start = places[1:] + _column(pad, places) - _column(offset, places)
        number, ok = _inside(places[0], start.div(step, rounding_mode="floor"), sizes)
        parts.append(number[ok & (start % step == 0).all(0)])
    return _write(into, parts)


def spread(places: Buffer, sizes: Any, offsets: Any, stride: Any, pad: Any, into: Buffer) -> int:
    """The numbers of all places place * stride - pad + offset inside a grid `sizes`; with repeats."""
    start = places[1:] * _column(stride, places) - _column(pad, places)
    pairs = (_inside(places[0], start + _column(offset, places), sizes) for offset in offsets)
    return _write(into, [number[ok] for number, ok in pairs])


def add_rows(out: Buffer, places: Buffer, values: Buffer) -> None:
    """out[places[i]] += values[i], where no place occurs twice."""
    out.index_add_(0, places, values)


def largest(near: Buffer, x: Buffer) -> tuple[Buffer, Buffer]:
    """The largest of each place's neighbours, channel by channel, and which entry it was; nan carries on."""
    out = x.new_zeros((near.shape[1], x.shape[1]))
    winner = torch.full(out.shape, -1, dtype=near.dtype, device=x.device)
    for entry in near:
        value = x[entry.clamp(min=0).long()]
        better = (entry >= 0)[:, None] & ((winner < 0) | (value > out) | value.isnan())
        out, winner = torch.where(better, value, out), torch.where(better, entry[:, None], winner)
    return out, winner
