"""Loops of word vectors: skip-gram with negative sampling over sentences of word numbers, with or without
subwords.

Every word of a sentence is in turn the input; each word i within its window is a target, beside `negative`
words drawn once for place i: all inputs that have i as a target share them (Ji et al. 2016, "Parallelizing
Word2Vec in Shared and Distributed Memory"), so that their rows are still in the L1 cache when they are needed
again. The number of negatives of a pair (input, target) does not change; pairs with one target share them. An
input's vector h takes its step after all of its window, some 6 targets and 30 negatives; their rows take
theirs one after the other.

The cost of one row against h, at width d: a dot product, then h's gradient and the row's step together, 6 d
operations on 8 d bytes read and 4 d written, all of which lie in L1 or L2. h and its gradient stay in
registers meanwhile. The rows of the places before the input, and of those behind it, are two runs of one list
that is made once a sentence.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from .cpu_embedding import row_ahead
from .cpu_embedding_hash import mixed
from .cpu_register_block import RegisterBlock, arrays, row_of
from .exponential import exp

LANES = 16  # a row's width is a multiple: whole registers, and no rest
LEAST_RATE = 1e-4  # of the first learning rate: where its way down ends, as in word2vec.c
LOSS_EVERY = 64  # inputs: of one in so many the loss is told, which costs a logarithm a row
# Vectors of 64 bytes that are worked on at once: h and its gradient, in 32 registers, or 16 of half the size.
VECTORS = 8 if llvmlite.binding.get_host_cpu_features().get("avx512f") else 3

_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_INT64 = ir.IntType(64)


def dots(out, h, which, table, start, stop):
    """out[e] = h . table[which[e]] for e from start to stop. The width is a multiple of LANES."""
    for e in range(start, stop):
        out[e] = h @ table[which[e]]


def pull(gradient, h, factors, which, table, start, stop):
    """gradient += factors[e] table[which[e]] and table[which[e]] += factors[e] h, for one e after the
    other."""
    for e in range(start, stop):
        gradient += factors[e] * table[which[e]]
        table[which[e]] += factors[e] * h


class _Columns(RegisterBlock):
    """Blocks of VECTORS vectors, and one of what is left: a row of 112 numbers is one block of 7."""

    def over(self, columns: ir.Value) -> Iterator[RegisterBlock]:
        b = self.b
        place = cgutils.alloca_once_value(b, ir.Constant(_INT64, 0))
        width = ir.Constant(_INT64, VECTORS * self.lanes)
        with self.loop_while(lambda: b.icmp_signed("<=", b.add(b.load(place), width), columns)):
            self.column, self.count = b.load(place), VECTORS
            yield self
            b.store(b.add(self.column, width), place)
        rest = b.sub(columns, b.load(place))
        for count in range(1, VECTORS):
            with b.if_then(b.icmp_signed("==", rest, ir.Constant(_INT64, count * self.lanes))):
                self.column, self.count = b.load(place), count
                yield self


@intrinsic
def _dots(typing, out, h, which, table, start, stop):
    def emit(context, b, signature, args):
        out, h, which, table = arrays(context, b, signature.args, args[:4])
        for block in _Columns(b, signature.args[0].dtype).over(b.extract_value(h.shape, 0)):
            kept = block.read(h.data)
            with cgutils.for_range_slice(b, *args[4:], ir.Constant(_INT64, 1)) as (e, _):
                block.add_dot(out, e, kept, block.read(row_of(b, table, which, e)))
        return context.get_dummy_value()

    return types.void(out, h, which, table, types.int64, types.int64), emit


@intrinsic
def _pull(typing, gradient, h, factors, which, table, start, stop):
    def emit(context, b, signature, args):
        gradient, h, factors, which, table = arrays(context, b, signature.args, args[:5])
        for block in _Columns(b, signature.args[0].dtype).over(b.extract_value(h.shape, 0)):
            kept = block.read(h.data)
            sums = [cgutils.alloca_once(b, block.vector) for _ in range(block.count)]
            for s, before in zip(sums, block.read(gradient.data), strict=True):
                b.store(before, s)
            with cgutils.for_range_slice(b, *args[5:], ir.Constant(_INT64, 1)) as (e, _):
                factor = block.splat(b.load(b.gep(factors.data, [e])))
                row = row_of(b, table, which, e)
                rows = block.read(row)
                for s, theirs in zip(sums, rows, strict=True):
                    b.store(block.multiply_add(factor, theirs, b.load(s)), s)
                stepped = [
                    block.multiply_add(factor, mine, theirs) for mine, theirs in zip(kept, rows, strict=True)
                ]
                block.write(row, stepped)
            block.write(gradient.data, [b.load(s) for s in sums])
        return context.get_dummy_value()

    return types.void(gradient, h, factors, which, table, types.int64, types.int64), emit


@overload(dots)
def _overload_dots(out, h, which, table, start, stop):
    return lambda out, h, which, table, start, stop: _dots(out, h, which, table, start, stop)


@overload(pull)
def _overload_pull(gradient, h, factors, which, table, start, stop):
    return lambda gradient, h, factors, which, table, start, stop: _pull(
        gradient, h, factors, which, table, start, stop
    )


def blank_rows(count: int, dim: int) -> np.ndarray:
    """Zeros float32 [count, dim or a little more]: a width that the loops take, and each row at the beginning
    of a line of the cache."""
    width = -(-dim // LANES) * LANES
    memory = np.zeros(count * width + LANES, np.float32)
    skipped = -memory.ctypes.data % 64 // 4
    return memory[skipped : skipped + count * width].reshape(count, width)


# --- what is drawn ------------------------------------------------------------------------------------------


@njit(cache=True)
def alias_table(weights):
    """uint64 [n], to draw numbers below n in proportion to their weights by one look (Walker 1974; Vose
    1991).

    A number i is drawn of all alike; it stays i where 32 random bits are below the upper half of entry i,
    else it is the lower half.
    """
    count = weights.size
    share = weights * (count / weights.sum())
    table = np.empty(count, np.uint64)
    small, large = np.empty(count, np.int64), np.empty(count, np.int64)
    smalls = larges = 0
    for i in range(count):
        table[i] = np.uint64(i)  # where nothing else is entered: i, whatever the bits
        if share[i] < 1:
            small[smalls] = i
            smalls += 1
        else:
            large[larges] = i
            larges += 1
    while smalls and larges:
        less, more = small[smalls - 1], large[larges - 1]
        smalls -= 1
        table[less] = (np.uint64(share[less] * 4294967296.0) << _HALF) | np.uint64(more)
        share[more] -= 1 - share[less]
        if share[more] < 1:
            larges -= 1
            small[smalls] = more
            smalls += 1
    return table


@njit(cache=True, inline="always")
def draw_words(key, table, out):
    """Fill `out`, int32, with numbers by an alias table. key: uint64, another one for other numbers."""
    count = np.uint64(table.size)
    for k in range(out.size):
        bits = mixed(key + np.uint64(k))
        at = ((bits >> _HALF) * count) >> _HALF
        entry = table[at]
        out[k] = np.int32(at if (bits & _LOW) < (entry >> _HALF) else entry & _LOW)


@njit(cache=True, inline="always")
def keep_words(key, words, keep, out):
    """Copy to `out` the words that stay, word w with the chance keep[w] / 2^32; returns how many."""
    count = 0
    for i in range(words.size):
        out[count] = words[i]
        count += np.int64((mixed(key + np.uint64(i)) & _LOW) < keep[words[i]])
    return count


# --- training -----------------------------------------------------------------------------------------------


@njit(cache=True, inline="always")
def _mean(h, table, members):
    """h = the mean of some rows."""
    h[:] = 0
    for m in members:
        row = table[m]
        for c in range(h.size):
            h[c] += row[c]
    share = h.dtype.type(1) / h.dtype.type(members.size)
    for c in range(h.size):
        h[c] *= share


@njit(cache=True, inline="always")
def _add(row, gradient):
    for c in range(row.size):
        row[c] += gradient[c]


@njit(cache=True, nogil=True, error_model="numpy")
def _part(
    words,
    starts,
    first,
    last,
    keep,
    alias,
    group,
    members,
    inputs,
    outputs,
    window,
    negative,
    rate,
    before,
    total,
    seed,
    tally,
):
    """Train on the sentences from `first` to below `last`; adds the loss and the number of pairs it is of to
    `tally`."""
    longest = 0
    for s in range(first, last):
        longest = max(longest, starts[s + 1] - starts[s])
    one, each = inputs.dtype.type(1), 1 + negative
    kept, reach = np.empty(longest, np.int32), np.empty(longest, np.int64)
    # Of each place its target and its negatives: the row, what h . row is to tell, and 0 where a negative is
    # the target.
    which = np.empty(longest * each, np.int32)
    labels, counted = np.empty(longest * each, inputs.dtype), np.empty(longest * each, inputs.dtype)
    scores, factors = np.zeros(longest * each, inputs.dtype), np.empty(longest * each, inputs.dtype)
    mean, gradient = np.empty(inputs.shape[1], inputs.dtype), np.empty(inputs.shape[1], inputs.dtype)
    for s in range(first, last):
        # By the sentence, not by what was drawn before: the same numbers however the work is cut.
        key = mixed(seed ^ mixed(np.uint64(s)))
        length = keep_words(key, words[starts[s] : starts[s + 1]], keep, kept)
        key = mixed(key)
        for i in range(length):
            bits = mixed(key + np.uint64(i))
            reach[i] = window - np.int64(((bits >> _HALF) * np.uint64(window)) >> _HALF)
            at = i * each
            rows, truth, weight = which[at : at + each], labels[at : at + each], counted[at : at + each]
            draw_words(bits, alias, rows[1:])
            rows[0] = kept[i]
            for k in range(each):
                truth[k] = k == 0
                weight[k] = k == 0 or rows[k] != kept[i]
        step = inputs.dtype.type(rate * max(1.0 - (before + starts[s]) / total, LEAST_RATE))
        for j in range(length):
            soon = j + window + 1
            if soon < length:
                for e in range(soon * each, (soon + 1) * each):
                    row_ahead(outputs, np.int64(which[e]))
            w, coming = kept[j], kept[min(j + 2, length - 1)]
            its = members[:0]
            if group.size:
                for m in members[group[coming] : group[coming + 1]]:
                    row_ahead(inputs, np.int64(m))
                its = members[group[w] : group[w + 1]]
                _mean(mean, inputs, its)
                h = mean
            else:
                row_ahead(inputs, np.int64(coming))
                h = inputs[w]
            start, stop = max(j - reach[j], 0) * each, min(j + reach[j] + 1, length) * each
            own, after = j * each, (j + 1) * each
            dots(scores, h, which, outputs, start, own)
            dots(scores, h, which, outputs, after, stop)
            found, factor = scores[start:stop], factors[start:stop]
            truth, weight = labels[start:stop], counted[start:stop]
            for e in range(found.size):  # the place's own score is an old one, and its factor is not used
                factor[e] = (truth[e] - one / (one + exp(-found[e]))) * weight[e] * step
            gradient[:] = 0
            pull(gradient, h, factors, which, outputs, start, own)
            pull(gradient, h, factors, which, outputs, after, stop)
            if group.size:
                for m in its:  # the whole gradient to each, as fastText does, not its share
                    _add(inputs[m], gradient)
            else:
                _add(h, gradient)
            if (starts[s] + j) % LOSS_EVERY == 0:
                for e in range(start, stop):
                    if (e < own or e >= after) and counted[e] > 0:
                        wrong = np.float64(-scores[e] if labels[e] > 0 else scores[e])
                        tally[0] += max(wrong, 0.0) + np.log1p(np.exp(-abs(wrong)))
                        tally[1] += np.float64(labels[e])


def skip_gram(
    words: np.ndarray,
    starts: np.ndarray,
    first: int,
    last: int,
    keep: np.ndarray,
    alias: np.ndarray,
    groups: tuple[np.ndarray, np.ndarray],
    inputs: np.ndarray,
    outputs: np.ndarray,
    *,
    window: int,
    negative: int,
    rate: float,
    before: int,
    total: int,
    seed: int,
    threads: int = 1,
) -> tuple[float, float]:
    """Train `inputs` and `outputs`, each [rows, width], on the sentences from `first` to below `last`.

    words: int32, sentence s from starts[s] to below starts[s + 1]. keep: uint64, see `keep_words`; alias: see
    `alias_table`. groups: (starts int64, members int32), the rows of `inputs` whose mean is a word's vector;
    both empty: its own row. The learning rate falls from `rate` in proportion to (before + words so far) /
    total.

    threads: 1 gives the same numbers each time; more work on the tables without waiting for one another (Niu
    et al. 2011, "Hogwild!"), so a step is lost now and then. They are the interpreter's own threads, which
    the loop leaves free, so that training beside other work does not wait. Returns (sum of the loss,
    pairs), of some of the inputs.
    """
    tallies = np.zeros((threads, 2))
    goals = np.linspace(starts[first], starts[last], threads + 1)[1:-1]  # equal numbers of words
    cuts = [first, *(np.searchsorted(starts[first : last + 1], goals) + first), last]
    arrays = (keep, alias, *groups, inputs, outputs)
    rest = (window, negative, float(rate), int(before), int(total), np.uint64(seed))

    def work(p: int) -> None:
        _part(words, starts, int(cuts[p]), int(cuts[p + 1]), *arrays, *rest, tallies[p])

    if threads == 1:
        work(0)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))
    return float(tallies[:, 0].sum()), float(tallies[:, 1].sum())


def warm_up() -> None:
    """Compile the loops, or load them from the cache."""
    none, rows = np.empty(0, np.int32), np.zeros((1, LANES), np.float32)
    arrays = (
        np.ones(1, np.uint64),
        alias_table(np.ones(1)),
        (np.empty(0, np.int64), none),
        rows,
        rows.copy(),
    )
    settings = dict(window=1, negative=1, rate=0.1, before=0, total=1, seed=0)
    # The dict mixes int and float.
    skip_gram(none, np.zeros(1, np.int64), 0, 0, *arrays, **settings)  # type: ignore[arg-type]
