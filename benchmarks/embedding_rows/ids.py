"""Unbounded ids, compared with Python and pandas: a hash table, an LRU cache of rows, the longest stall while a table grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numba
import numpy as np

import sampan
from benchmarks.side_by_side import Row, Step, library
from sampan import embedding
from sampan.embedding.hybrid import Backed
from sampan.embedding.ids import IdTable

from .tables import MILLION, WIDTH, size, skewed


@numba.njit
def numbered(keys: np.ndarray, numbers: np.ndarray, ids: np.ndarray, known: int, out: np.ndarray) -> int:
    """An open-addressing hash table of fixed size: the number of each id; returns the number of distinct ids."""
    last = keys.size - 1
    for i in range(ids.size):
        place = ((np.uint64(ids[i]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(32)) & np.uint64(last)
        while keys[place] != -1 and keys[place] != ids[i]:
            place = (place + np.uint64(1)) & np.uint64(last)
        if keys[place] == -1:
            keys[place], numbers[place], known = ids[i], known, known + 1
        out[i] = numbers[place]
    return known


def hashes() -> Iterator[Row]:
    """The number of each id, in order of first occurrence."""
    pandas = library("pandas")
    for kind in ("uniform", "Zipf 1.05"):

        def programs(kind: str = kind) -> dict[str, Step]:
            if kind == "uniform":
                asked = np.random.default_rng(3).integers(0, 10**8, (40, 100_000))
            else:
                asked = skewed(10**8, 4_000_000, 3).reshape(40, -1)

            def ours() -> Any:
                table = IdTable(10**7)
                found = [table.give(batch)[0] for batch in asked]
                return lambda: np.concatenate(found)

            def by_dict() -> Any:
                known: dict[int, int] = {}
                found = [[known.setdefault(i, len(known)) for i in batch] for batch in asked.tolist()]
                return lambda: np.concatenate(found)

            def by_plain_table() -> Any:
                slots = 2 ** int(np.ceil(np.log2(2 * len(different))))  # at most half full at the end
                keys, numbers, known = np.full(slots, -1), np.empty(slots, np.int64), 0
                found = np.empty_like(asked)
                for batch, out in zip(asked, found, strict=True):
                    known = numbered(keys, numbers, batch, known, out)
                return lambda: found.ravel()

            different = np.unique(asked)
            made: dict[str, Step] = {"sampan": ours, "dict": by_dict, "plain table": by_plain_table}
            if pandas:
                factorizer = library("pandas._libs.hashtable").Int64Factorizer

                def by_factorizer() -> Any:
                    table = factorizer(100_000)
                    found = [table.factorize(batch) for batch in asked]
                    return lambda: np.concatenate(found)

                made["pandas, batch by batch"] = by_factorizer
                made["pandas, all at once"] = lambda: pandas.factorize(asked.ravel())[0]
            return made

        name = f"hash of 40 batches of 100k ids out of 1e8, {kind}"
        yield Row(name, 4.0, programs, floor=("plain table", 1.0))


def caches() -> Iterator[Row]:
    """The slot of each id's row in a cache that evicts the least recently used row."""
    lru = library("lru")

    def programs() -> dict[str, Step]:
        asked, most = skewed(MILLION, 50 * 16_000, 4).reshape(50, -1), 100_000

        def ours() -> Any:
            cache = Backed(MILLION, most, 1, None, "float32", lambda rows, places, out: None)
            found = [cache.ask(batch)[0] for batch in asked]
            return lambda: np.concatenate(found)

        def by_lru_dict() -> Any:
            cache, found = lru.LRU(most), []
            for batch in asked.tolist():
                for i in batch:
                    place = cache.get(i)
                    if place is None:
                        place = len(cache) if len(cache) < most else cache.popitem()[1]
                        cache[i] = place
                    found.append(place)
            return lambda: found

        def by_dict() -> Any:  # a dict keeps insertion order
            places: dict[int, int] = {}
            found = []
            for batch in asked.tolist():
                for i in batch:
                    place = places.pop(i, None)
                    if place is None:
                        place = len(places) if len(places) < most else places.pop(next(iter(places)))
                    places[i] = place
                    found.append(place)
            return lambda: found

        return {"sampan": ours, **({"lru-dict": by_lru_dict} if lru else {"dict": by_dict})}

    yield Row("LRU of 100k rows, 50 x 16k ids, Zipf 1.05", 13.0, programs)


def stalls() -> Iterator[Row]:
    """The longest of 1,000 calls, each with 10,000 new ids."""
    pandas = library("pandas")

    def programs() -> dict[str, Step]:
        asked = np.random.default_rng(5).permutation(10 * MILLION).reshape(1000, -1)

        def longest(call: Callable[[np.ndarray], Any]) -> float:
            worst = 0.0
            for batch in asked:
                began = time.perf_counter()
                call(batch)
                worst = max(worst, time.perf_counter() - began)
            return worst

        def ours() -> float:
            layer = embedding.DynamicEmbedding(10**8, WIDTH, initializer=("constant", 0.0))
            with sampan.no_grad():
                return longest(lambda batch: layer(sampan.to_tensor(batch)))

        def by_dict() -> float:
            known: dict[int, int] = {}

            def add(batch: np.ndarray) -> None:
                for i in batch.tolist():
                    known.setdefault(i, len(known))

            return longest(add)

        made: dict[str, Step] = {"sampan": ours, "50 ms": lambda: 0.05, "dict, ids alone": by_dict}
        if pandas:
            factorizer = library("pandas._libs.hashtable").Int64Factorizer
            made["pandas, ids alone"] = lambda: longest(factorizer(100_000).factorize)
        return made

    name = f"longest stall while a table grows to {size(10 * MILLION)}"
    yield Row(name, 1.0, programs, once=True, timed=True)
