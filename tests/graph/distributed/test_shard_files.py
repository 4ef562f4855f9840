import contextlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from sampan.graph import Graph
from sampan.graph.distributed import ShardedGraph, ShardError
from tests.graph.distributed.whole import GRAPH


def damaged(folder: Path, how: str) -> None:
    shard = folder / "shard-0001-0"
    if how == "missing":
        shutil.rmtree(shard)
    elif how == "no file":
        (shard / "1.npy").unlink()
    elif how == "cut":
        os.truncate(shard / "1.npy", 100)
    elif how == "bit":
        data = bytearray((shard / "1.npy").read_bytes())
        data[-1] ^= 1
        (shard / "1.npy").write_bytes(data)
    elif how == "another":
        shutil.rmtree(shard)
        shutil.copytree(folder.parent / "other" / shard.name, shard)
    elif how == "swapped":
        shutil.rmtree(shard)
        shutil.copytree(folder / "shard-0000-0", shard)
    elif how == "version":
        facts = json.loads((shard / "arrays.json").read_text())
        (shard / "arrays.json").write_text(json.dumps({**facts, "format": 99}))
    elif how == "facts":
        (shard / "arrays.json").write_text((shard / "arrays.json").read_text() + " ")
    else:
        (shard / "arrays.json").write_text("{")


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("missing", "cannot read .*No such file"),
        ("no file", "1.npy is missing"),
        ("cut", "expected 6... bytes, got 100|expected 5... bytes, got 100"),
        ("bit", "SHA-256 is another"),
        ("another", "expected graph '.*', got"),
        ("swapped", "expected shard 1, got 0"),
        ("version", "expected format 1, got 99"),
        ("facts", "not the file that the manifest names"),
        ("json", "expected JSON"),
    ],
)
def test_a_damaged_shard_is_named(tmp_path: Path, how: str, text: str) -> None:
    ShardedGraph.partition(GRAPH, 2, tmp_path / "other")
    ShardedGraph.partition(GRAPH, 2, tmp_path / "g")
    damaged(tmp_path / "g", how)
    with pytest.raises(ShardError, match=f"shard 1: .*({text})"):
        ShardedGraph.open(tmp_path / "g")


def test_a_dtype_that_files_hold_as_pickles_is_refused(tmp_path: Path) -> None:
    names = Graph([(0, 1)], 2, node_feat={"name": np.array(["a", None], object)})
    with pytest.raises(TypeError, match="node:name: expected numbers, got dtype object"):
        ShardedGraph.partition(names, 1, tmp_path / "g")
    assert not list(tmp_path.iterdir())


def test_every_flipped_bit_of_a_description_is_told(tmp_path: Path) -> None:
    ShardedGraph.partition(GRAPH, 2, tmp_path / "g").close()
    path = tmp_path / "g" / "manifest.json"
    content = path.read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 7
        with contextlib.suppress(ValueError):
            if json.loads(damaged) == json.loads(content):
                continue  # the last digit of a number, beyond the precision of float64
        path.write_bytes(damaged)
        with pytest.raises(ShardError):
            ShardedGraph.open(tmp_path / "g", verify=False)
    path.write_bytes(content)
    ShardedGraph.open(tmp_path / "g").close()
