"""The rows of a saved table that belong to one shard, whatever number of shards saved it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...embedding import DynamicEmbedding
from ...embedding.dynamic import MOST_COUNTED
from ...engine.errors import InvalidArgument
from ...kernels.cpu_embedding_shards import divided

DESCRIPTION, ROWS = "table.json", "rows"


def sources_of(root: Path, name: str, dim: int) -> list[Path]:
    """The folders of a table's shards under `root`, in their order.

    Raises FileNotFoundError where there is none, ValueError where some are missing or its rows are not of
    `dim`."""
    paths = sorted(root.glob(f"shard-*/{name}/{DESCRIPTION}"))
    if not paths:
        raise FileNotFoundError(
            f"{root / 'shard-*' / name / DESCRIPTION}: there is none, so no table was saved here"
        )
    found = [json.loads(path.read_text()) for path in paths]
    numbers, counts = [one["shard"] for one in found], {one["shards"] for one in found}
    if counts != {len(paths)} or numbers != list(range(len(paths))):
        raise InvalidArgument(
            f"{root}: {name!r}: expected all shards of one saved table, got shards {numbers} of "
            f"{sorted(counts)}"
        )
    if found[0]["settings"]["dim"] != dim:
        raise InvalidArgument(f"{root}: {name!r}: expected rows of {dim}, got {found[0]['settings']['dim']}")
    if found[0]["settings"]["cache_rows"]:
        raise InvalidArgument(
            f"{root}: {name!r}: a table with a cache is opened with its folder, and not loaded from another"
        )
    return [path.parent for path in paths]


def filled(make: Callable[[], Any], sources: list[Path], number: int, shards: int) -> Any:
    """A table made by `make`, with the rows of shard `number` of `shards` and the optimizer's state of them.

    The steps that an optimizer has counted are the largest number of any source. Look-ups are counted by each
    shard: how many ago a row was last seen is kept. Counts of ids that wait for their row are added up, as no
    two sources have counted the same id.
    """
    if len(sources) == shards:
        layer = make()
        layer.load(sources[number] / ROWS)
        return layer
    layer, parts = make(), []
    sketch = None if layer.sketch is None else layer.sketch.astype(np.int64)
    steps = 0
    for source in sources:
        old = make()
        old.load(source / ROWS)
        steps = max(steps, old.growth.steps)
        if sketch is not None:
            sketch += old.sketch
        parts.append(_rows_of(old, number, shards))
    moment = max(part["lookups"] for part in parts)
    ids, rows, seen = (np.concatenate([part[key] for part in parts]) for key in ("ids", "rows", "seen"))
    last = np.concatenate([part["last"] + moment - part["lookups"] for part in parts])
    layer.growth.grow(len(ids))
    layer.put(np.arange(len(ids)), ids, rows, seen, np.maximum(last, 1))
    layer.lookups = layer.growth.moment = layer.growth.stepped_at = moment
    layer.growth.steps = steps
    stated = [part for part in parts if part["states"]]
    if stated:
        names = stated[0]["states"].keys()
        states = {name: np.concatenate([part["states"][name] for part in stated]) for name in names}
        places = layer.rows_of(np.concatenate([part["stated"] for part in stated]))
        layer.growth.found = states, places
    if sketch is not None:
        layer.sketch[:] = np.minimum(sketch, MOST_COUNTED)
    return layer


def _rows_of(old: DynamicEmbedding, number: int, shards: int) -> dict[str, Any]:
    """What a loaded table has of the ids of one shard."""
    every = old.ids.data.numpy()
    live = np.flatnonzero(old.seen.data.numpy() > 0)
    order, bounds = divided(every[live], shards)
    mine = live[order[bounds[number] : bounds[number + 1]]]
    found = {"ids": every[mine], "rows": old.weight.data.numpy()[mine], "lookups": old.lookups}
    found |= {"seen": old.seen.data.numpy()[mine], "last": old.last.data.numpy()[mine], "states": {}}
    if old.growth.found is not None:
        states, places = old.growth.found
        kept = np.isin(places, mine)
        found["states"] = {name: values[kept] for name, values in states.items()}
        found["stated"] = every[places[kept]]
    return found
