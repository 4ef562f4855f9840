"""Loops over tables of which a batch touches some rows: which rows those are, their sums, an optimizer's
step.

A batch names row ids[i] for each of its occurrences i. The gradient of an occurrence is never stored: it is
scale[i] * rows[which[i]] (`scale` may be empty: 1; `which` too: i). Occurrences are added up as they came,
which reads the rows one after the other and finds most sums in the caches, since few ids make up most of a
batch; then each row of the table is read and written once. The hardware cannot predict where a row lies,
so it is prefetched a few rows ahead.
"""

import threading
from functools import cache
from typing import Any

import numpy as np
import torch
from numba import get_num_threads, njit, prange

from .arena import LENT_FROM, lent
from .cpu_optimizer import RULES
from .cpu_sparse_dense import row_sum
from .cpu_sparse_machine import prefetch
from .fused import loop_of
from .loops import Loop

PARALLEL_FROM = 50_000  # occurrences times columns; below it starting threads costs more than it saves
PARTS = 64  # what threads take in turn
LARGEST_SLOTS = 1 << 25  # rows with a slot of 4 bytes each; above it the ids are sorted instead

AHEAD = 12  # rows
SLOTS_AHEAD = 32

# What a batch names: the id of each occurrence (flat int64, -1 for no row), the number of rows of the table,
# and whether no id repeats and none is outside.
Named = tuple[np.ndarray, int, bool]


@njit(inline="always")
def columns_ahead(array, row, begin, end):
    """Prefetch some columns of a row, 64 bytes at a time."""
    for j in range(begin, end, 64 // array.itemsize):
        prefetch(array, row * array.shape[1] + j)


@njit(inline="always")
def row_ahead(array, row):
    """Prefetch a row."""
    columns_ahead(array, row, 0, array.shape[1])


@njit(cache=True)
def _placed(ids, rows, slots, distinct, place):
    count, last, outside = 0, ids.size - 1, False
    for i in range(ids.size):
        prefetch(slots, max(ids[min(i + SLOTS_AHEAD, last)], 0))
        r = ids[i]  # read once: what is used is what was checked
        if r < 0 or r >= rows:
            outside |= r != -1
            place[i] = -1
            continue
        k = slots[r]
        if k < 0:
            k = count
            slots[r], distinct[k] = k, r
            count += 1
        place[i] = k
    for k in range(count):
        slots[distinct[k]] = -1  # as it was, for the next batch
    return -1 if outside else count


@njit(cache=True)
def _placed_sorted(ids, rows, order, distinct, place):
    outside = False
    for j in range(order.size):  # equal ids came together: each one's place is its first occurrence
        i = order[j]
        place[i] = place[order[j - 1]] if j and ids[i] == ids[order[j - 1]] else i
    count = 0
    for i in range(ids.size):
        first, r = place[i], ids[i]
        if r < 0 or r >= rows:
            outside |= r != -1
            place[i] = -1
        elif first < i:
            place[i] = place[first]
        else:
            place[i], distinct[count] = count, r
            count += 1
    return -1 if outside else count


_own = threading.local()


def _slots(count: int) -> np.ndarray:
    """At least `count` slots, all -1; kept for the next call, because filling them costs more than using
    them."""
    slots: np.ndarray | None = getattr(_own, "slots", None)
    if slots is None or slots.size < count:
        slots = _own.slots = np.full(count, -1, np.int32)
    return slots


def distinct(ids: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Which rows of a table with `count` rows the `ids` (flat int64) name: (distinct ids in the order in
    which they first came, for each occurrence its place among them or -1). An id of -1 names no row.

    Raises ValueError for ids outside: their memory was overwritten since the look-up.
    """
    found, place = np.empty(ids.size, np.int64), np.empty(ids.size, np.int32)
    if count <= LARGEST_SLOTS:
        several = _placed(ids, count, _slots(count), found, place)
    else:
        several = _placed_sorted(ids, count, np.argsort(ids, kind="stable"), found, place)
    if several < 0:
        raise ValueError(
            f"ids: expected 0 to {count - 1} as in the look-up, got {ids.min()} to {ids.max()}: they were "
            "overwritten since"
        )
    return found[:several], place


@njit(inline="always")
def _add_row(total, row, scale, i):
    """total += scale[i] row, or row where there is no scale."""
    if scale.size:
        factor = scale[i]
        for j in range(total.size):
            total[j] += factor * row[j]
    else:
        for j in range(total.size):
            total[j] += row[j]


def _sums(place, which, scale, rows, lane, parts, out):
    width = out.shape[1]
    lanes = (width + lane - 1) // lane
    for part in prange(parts):
        begin, end = lanes * part // parts * lane, min(lanes * (part + 1) // parts * lane, width)
        count, last = 0, place.size - 1
        for i in range(place.size):
            columns_ahead(out, max(place[min(i + AHEAD, last)], 0), begin, end)
            k = place[i]
            if k < 0:
                continue
            total, row = out[k, begin:end], rows[which[i] if which.size else i, begin:end]
            if k == count:  # its first occurrence
                count += 1
                total[:] = 0
            _add_row(total, row, scale, i)


_sums_loop = Loop(_sums, PARALLEL_FROM, "row_sums")


def sums(
    named: Named, which: np.ndarray, scale: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(distinct ids [n], [n, d]: their rows' gradients added up in the order in which they came)."""
    ids, count, unique = named
    if unique:
        return ids, rows
    found, place = distinct(ids, count)
    width = rows.shape[1]
    out = lent((found.size, width), torch.float64 if rows.dtype == np.float64 else torch.float32).numpy()
    # Threads take columns: they share the work evenly, and no sum depends on how many there are. 1 KB at
    # least: of less, each core fetches lines beside its own that the other writes, and two take up to twice
    # the time of one (measured).
    lane = 1024 // rows.itemsize
    parts = max(1, min(-(-width // lane), get_num_threads()))
    _sums_loop(place, which, scale, rows, lane, parts, out, size=place.size * width)
    return found, out


# --- look-up ------------------------------------------------------------------------------------------------


def _rows_read(table, ids, wrong, out):
    for part in prange(PARTS):
        end = ids.size * (part + 1) // PARTS
        for i in range(ids.size * part // PARTS, end):
            row_ahead(table, ids[min(i + AHEAD, end - 1)])
            r = ids[i]  # read once: what is used is what was checked
            if r < 0 or r >= table.shape[0]:
                wrong[part] = True
                continue
            to, row = out[i], table[r]
            for j in range(to.size):
                to[j] = row[j]


_rows_read_loop = Loop(_rows_read, PARALLEL_FROM, "rows_read")
_READ = (torch.float32, torch.float64)


def all_inside(ids: torch.Tensor, count: int) -> bool:
    """Whether every id is one of 0 to count - 1."""
    if not ids.numel():
        return True
    low, high = ids.aminmax()
    return bool((low >= 0) & (high < count))


def rows_read(table: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """[*ids.shape, d]: torch.embedding, which raises for an id outside; large results lie in memory that is
    lent."""
    size = ids.numel() * table.shape[-1]
    plain = table.dtype in _READ and ids.dtype is torch.int64 and not table.is_cuda and table.is_contiguous()
    if size * table.itemsize < LENT_FROM or not plain or table.ndim != 2:
        return torch.embedding(table, ids)
    out, wrong = lent((*ids.shape, table.shape[1]), table.dtype), np.zeros(PARTS, np.bool_)
    flat = out.view(-1, table.shape[1]).numpy()
    _rows_read_loop(table.numpy(), ids.reshape(-1).numpy(), wrong, flat, size=size)
    return torch.embedding(table, ids) if wrong.any() else out


def rows_found(table: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """As `rows_read`; an id may be -1, whose row is zeros."""
    absent = ids == -1
    if not len(table) and bool(absent.all()):
        return table.new_zeros((*ids.shape, table.shape[1]))
    if not bool(absent.any()):
        return rows_read(table, ids)
    out = rows_read(table, ids.masked_fill(absent, 0))
    out.view(-1, table.shape[1]).index_fill_(0, absent.flatten().nonzero().flatten(), 0)
    return out


# --- bags ---------------------------------------------------------------------------------------------------


def _bag_sums(table, ids, starts, scale, out):
    for b in prange(out.shape[0]):
        row_sum(out[b], scale, ids, table, starts[b], starts[b + 1])


def _bag_tops(table, ids, starts, out, winner):
    for b in prange(out.shape[0]):
        top, won = out[b], winner[b]
        top[:], won[:] = 0, -1
        for i in range(starts[b], starts[b + 1]):
            row = table[ids[i]]
            for j in range(top.size):
                if i == starts[b] or row[j] > top[j] or row[j] != row[j]:
                    top[j], won[j] = row[j], i


def _dots(table, ids, which, g, out):
    for i in prange(out.size):
        row, other, total = table[ids[i]], g[which[i]], out.dtype.type(0)
        for j in range(row.size):
            total += row[j] * other[j]
        out[i] = total


_bag_sums_loop = Loop(_bag_sums, PARALLEL_FROM, "bag_sums")
_bag_tops_loop = Loop(_bag_tops, PARALLEL_FROM, "bag_tops")
_dots_loop = Loop(_dots, PARALLEL_FROM, "bag_dots", fastmath={"reassoc", "contract"})


def bag_sums(table: np.ndarray, ids: np.ndarray, starts: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """[bags, d]: the sum of scale[i] * table[ids[i]] over the occurrences from starts[b] to starts[b + 1]."""
    out = np.empty((starts.size - 1, table.shape[1]), table.dtype)
    scale = scale if scale.size else np.ones(ids.size, table.dtype)
    _bag_sums_loop(table, ids, starts, scale, out, size=ids.size * table.shape[1])
    return out


def bag_tops(table: np.ndarray, ids: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """([bags, d] the largest of each bag's rows, column by column, 0 for an empty bag; which occurrence it
    was, or -1)."""
    out = np.empty((starts.size - 1, table.shape[1]), table.dtype)
    winner = np.empty(out.shape, np.int64)
    _bag_tops_loop(table, ids, starts, out, winner, size=ids.size * table.shape[1])
    return out, winner


def dots(table: np.ndarray, ids: np.ndarray, which: np.ndarray, g: np.ndarray) -> np.ndarray:
    """[occurrences]: table[ids[i]] . g[which[i]]."""
    out = np.empty(ids.size, table.dtype)
    _dots_loop(table, ids, which, g, out, size=ids.size * table.shape[1])
    return out


# --- an optimizer's step ------------------------------------------------------------------------------------

_HEADER = """# generated from the rule {name}, over the rows that a batch touched
import numpy as np
from numba import njit, prange
from numpy import maximum, minimum, sign, sqrt
from sampan.kernels.cpu_embedding import row_ahead


@njit
def where(condition, x, y):
    return x if condition else y


"""


@cache
def _step(name: str, everywhere: bool) -> Loop:
    """The loop of a rule of `RULES` over the rows `places`, whose gradients are `sums`.

    Everywhere: over all rows of the table; `places` has for each its place in `sums`, or -1: gradient 0.
    """
    names, numbers, lines = RULES[name]
    arrays = [a for a in names.split() if a != "g"]
    changed = {line.split(" = ")[0] for line in lines}
    upper = [a.upper() for a in arrays]
    arguments = ["places", "sums", *upper, *numbers.split()]
    if everywhere:  # rows come one after the other
        pick = ["r, k = n, places[n]", "total = nothing if k < 0 else sums[k]"]
    else:
        soon = [f"row_ahead({a}, places[s])" for a in upper]
        pick = [f"s = min(n + {AHEAD}, places.size - 1)", *soon, "r, total = places[n], sums[n]"]
    inner = [
        *pick,
        *(f"{a}_row = {a.upper()}[r]" for a in arrays),
        "for j in range(total.size):",
        "    g = total[j]",
        *(f"    {a} = {a}_row[j]" for a in arrays),
        *(f"    {line}" for line in lines),
        *(f"    {a}_row[j] = {a}" for a in arrays if a in changed),
    ]
    text = _HEADER.format(name=name) + f"def loop({', '.join(arguments)}):\n"
    text += f"    parts = min(places.size, {PARTS})\n    for part in prange(parts):\n"
    if everywhere:
        text += "        nothing = np.zeros(sums.shape[1], sums.dtype)\n"
    text += "        for n in range(places.size * part // parts, places.size * (part + 1) // parts):\n"
    text += "".join(f"            {line}\n" for line in inner)
    shown = f"{name}_rows" + ("_everywhere" if everywhere else "")
    return loop_of(text, f"rows_{name}", PARALLEL_FROM, shown)


def step(
    named: Named,
    which: np.ndarray,
    scale: np.ndarray,
    rows: np.ndarray,
    name: str,
    arrays: Any,
    numbers: Any,
    everywhere: bool,
) -> None:
    """Apply the rule `name` of `RULES` to the rows that a batch names; `everywhere`: to the others too, with
    gradient 0.

    arrays: the table and its state, each [count, d].
    """
    places, g = sums(named, which, scale, rows)
    if everywhere:
        found, places = places, np.full(len(arrays[0]), -1, np.int32)
        places[found] = np.arange(found.size, dtype=np.int32)
    typed = map(rows.dtype.type, numbers)
    _step(name, everywhere)(places, g, *arrays, *typed, size=places.size * rows.shape[1])
