"""Tables with a cache of rows, and monitored tables, compared with the whole table in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import sampan
from benchmarks.side_by_side import Row, Step
from sampan import embedding, nn
from sampan.kernels import cpu_embedding_hash

from .steps import RULES
from .tables import MILLION, WIDTH, batches, gradient, ours, size, stepping, tensors


def full_table() -> nn.Embedding:
    """Every row that HybridEmbedding or DynamicEmbedding would draw with seed 0."""
    layer = nn.Embedding(MILLION, WIDTH, weight_attr=nn.initializer.Constant(0.0))
    numbers = np.arange(MILLION)
    cpu_embedding_hash.drawn(numbers.view(np.uint64), numbers, 0, "normal", 0.01, layer.weight.data.numpy())
    return layer


def hybrids() -> Iterator[Row]:
    many = 40  # batches: enough that rows are evicted before they are used again
    cases: list[tuple[str, str, dict[str, Any], bool]] = [
        ("SGD", "in memory", {}, True),
        ("Adagrad", "in memory", {}, True),
        ("Adagrad", "in memory, without prefetch", {}, False),
        ("Adagrad", "in a memory-mapped file", {"path": ""}, True),
        ("Adagrad", "in memory, float16", {"store": "float16"}, True),
        ("Adagrad", "in memory, int8", {"store": "int8"}, True),
    ]
    for rule, where, settings, ahead in cases:
        kept: dict[
            str, Any
        ] = {}  # what outlives `programs`: the layer for the note, and the folder of its file

        def programs(
            rule: str = rule,
            settings: dict[str, Any] = settings,
            ahead: bool = ahead,
            kept: dict[str, Any] = kept,
        ) -> dict[str, Step]:
            folder = tempfile.TemporaryDirectory()
            place = {"path": Path(folder.name)} if "path" in settings else settings
            layer, full = embedding.HybridEmbedding(MILLION, WIDTH, MILLION // 5, **place), full_table()
            mine, other = (RULES[rule].sampan(one.parameters()) for one in (layer, full))
            zeros = sampan.zeros([100_000, WIDTH])
            for begin in range(0, MILLION, 100_000):  # every row has been created and evicted
                layer(sampan.arange(begin, begin + 100_000)).backward(zeros)
                mine.step()
                mine.clear_grad(False)
            kept.update(layer=layer, before=layer.statistics(), folder=folder)
            (mine_ids, _), (full_ids, _) = tensors(MILLION, many), tensors(MILLION, many)
            g = sampan.to_tensor(gradient())
            some = np.unique(batches(MILLION, many)[:2])[:2000]
            coming = mine_ids()

            def step() -> Any:
                nonlocal coming
                present, coming = coming, mine_ids()
                out = layer(present)
                if ahead:
                    layer.prefetch(coming)
                out.backward(g)
                mine.step()
                mine.clear_grad(False)
                return lambda: layer.rows(some)

            whole = stepping(full, other, full_ids, MILLION, shown=False)

            def step_full() -> Any:
                whole()
                return lambda: full.weight.data.numpy()[some]

            return {"sampan": step, "the full table": step_full}

        def note(kept: dict[str, Any] = kept) -> str:
            after, before = kept["layer"].statistics(), kept["before"]
            hits, misses = (after[key] - before[key] for key in ("hits", "misses"))
            return f"{hits / (hits + misses):.0%} of ids cached"

        name = f"HybridEmbedding, 20 % of {size(MILLION)} cached, {rule}, {where}"
        yield Row(name, 0.9, programs, note=note)
        kept.clear()


def dynamics() -> Iterator[Row]:
    def programs() -> dict[str, Step]:
        layer, full = embedding.DynamicEmbedding(10**8, WIDTH), full_table()
        for batch in batches(MILLION):
            layer(sampan.to_tensor(batch))
        mine, other = (RULES["Adagrad"].sampan(one.parameters()) for one in (layer, full))
        (mine_ids, _), (full_ids, _) = tensors(MILLION), tensors(MILLION)
        some = np.unique(batches(MILLION)[:2])[:2000]
        step = stepping(layer, mine, mine_ids, MILLION, shown=False)
        whole = stepping(full, other, full_ids, MILLION, shown=False)

        def run() -> Any:
            step()
            return lambda: layer.weight.data.numpy()[layer.rows_of(some)]

        def run_full() -> Any:
            whole()
            return lambda: full.weight.data.numpy()[some]

        return {"sampan": run, "nn.Embedding": run_full}

    yield Row(f"DynamicEmbedding out of 1e8 ids, Adagrad, beside {size(MILLION)}", 0.8, programs)


def monitored() -> Iterator[Row]:
    def programs() -> dict[str, Step]:
        layer, plain = ours(MILLION), ours(MILLION)
        mine, other = (RULES["Adagrad"].sampan(one.parameters()) for one in (layer, plain))
        (mine_ids, _), (plain_ids, _) = tensors(MILLION), tensors(MILLION)
        embedding.monitor(layer).__enter__()  # for as long as the layer lives
        return {
            "sampan": stepping(layer, mine, mine_ids, MILLION),
            "without the monitor": stepping(plain, other, plain_ids, MILLION),
        }

    yield Row(f"a monitored Adagrad step, {size(MILLION)}", 0.9, programs)
