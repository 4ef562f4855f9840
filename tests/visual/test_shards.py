"""The pictures of rows that travel to shards, and of their loads."""

import numpy as np
import pytest

from sampan import visual
from sampan.distributed.parameter_server import client

IDS = [7, 3, 7, 7, 12, 3]


def test_each_id_is_sent_once_to_the_shard_that_has_it():
    made = visual.shards(IDS, 2, "pull", ("b", "u", "s"))
    *lines, batch, rows, shards = made.data
    assert [text.strip() for text in batch.text] == [str(one) for one in IDS]
    assert [text.strip() for text in rows.text] == ["3", "7", "12"]
    assert [text.strip() for text in shards.text] == ["s 0", "s 1"]
    there = [line for line in lines if line.x == (0, 1)]
    onward = [line for line in lines if line.x == (1, 2)]
    assert len(there) == len(IDS) and len(onward) == 3
    height = dict(zip(["3", "7", "12"], rows.y, strict=True))
    assert [line.y[1] for line in there] == [height[str(one)] for one in IDS]
    order, bounds = client.divided(np.array([3, 7, 12]), 2)
    owner = {place: shard for shard in range(2) for place in order[bounds[shard] : bounds[shard + 1]]}
    for line in onward:
        place = [height[name] for name in ("3", "7", "12")].index(line.y[0])
        assert line.y[1] == shards.y[owner[place]] and line.line.color == shards.marker.color[owner[place]]


def test_loads_are_bars_with_the_largest_over_the_mean():
    made = visual.loads({"one": [2, 2], "other": [0, 6]}, "loads", ("s", "max / mean"))
    assert [trace.name for trace in made.data] == ["one: max / mean 1.00", "other: max / mean 2.00"]
    assert [list(trace.y) for trace in made.data] == [[2, 2], [0, 6]]


@pytest.mark.parametrize("ids", [[], [[1, 2]], list(range(33))])
def test_ids_without_room(ids):
    with pytest.raises(ValueError, match=r"shards: ids: expected 1 to 32 ids in one dimension, got \["):
        visual.shards(ids, 2)


@pytest.mark.parametrize("table", [{}, {"a": [1, 2], "b": [1]}, {"a": [0, 0]}])
def test_counts_that_cannot_be_compared(table):
    with pytest.raises(ValueError, match="loads: table: expected counts"):
        visual.loads(table)
