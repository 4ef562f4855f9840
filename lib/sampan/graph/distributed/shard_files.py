"""The folder of a sharded graph.

`manifest.json` names the folders that count, each with the SHA-256 of its own `arrays.json`, which names its
arrays: plain `.npy` files, with their sizes and SHA-256. Both have a CRC-32 of themselves. A folder is
written under another name, then renamed, and never changed. Saving writes new folders of the shards that
changed and replaces the manifest last, so all shards are of the same moment; folders that no manifest names
are removed by the next save.
"""

import json
import os
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...serialization import replacing, sha256_of
from ...transport.calls import ShardError as ShardError

FORMAT = 1
MANIFEST, ARRAYS = "manifest.json", "arrays.json"


def _check(content: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(content).encode())


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    with replacing(path) as file:
        file.write(json.dumps({**content, "check": _check(content)}).encode())


def read_json(path: Path, what: str) -> dict[str, Any]:
    """Raises ShardError, which names `what`, for a file that is missing, damaged or of another format."""
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise ShardError(f"{what}: cannot read {path}: {os.strerror(error.errno or 0)}") from error
    except ValueError as error:
        raise ShardError(f"{what}: {path} is damaged: expected JSON") from error
    version = found.get("format") if isinstance(found, dict) else None
    if version != FORMAT:
        raise ShardError(f"{what}: {path}: expected format {FORMAT}, got {version!r}")
    if found.pop("check", None) != _check(found):
        raise ShardError(f"{what}: {path} is damaged: its CRC-32 is another")
    return found


def write_folder(
    root: Path, name: str, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]
) -> dict[str, str]:
    """Write arrays to the folder `name` under `root`, whole or not at all; returns what a manifest says of
    it.

    Raises TypeError for a dtype that a `.npy` file holds as a pickle, and OSError (a full disk).
    """
    temporary, target = root / f".{name}.{os.getpid()}.tmp", root / name
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        files = {}
        for number, (key, array) in enumerate(arrays.items()):
            if array.dtype.hasobject:
                raise TypeError(f"{name}: {key}: expected numbers, got dtype {array.dtype}")
            path = temporary / f"{number}.npy"
            with replacing(path) as file:
                np.save(file, array, allow_pickle=False)
            files[key] = {
                "file": path.name,
                "bytes": path.stat().st_size,
                "sha256": sha256_of(path),
                "shape": list(array.shape),
                "dtype": array.dtype.str,
            }
        write_json(temporary / ARRAYS, {"format": FORMAT, **facts, "arrays": files})
        shutil.rmtree(target, ignore_errors=True)  # of a save that never reached its manifest
        os.replace(temporary, target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return {"folder": name, "sha256": sha256_of(target / ARRAYS)}


def read_folder(
    root: Path, entry: Mapping[str, str], facts: Mapping[str, Any], verify: bool, what: str
) -> dict[str, np.ndarray]:
    """The arrays of a folder, mapped into memory; what a process writes to them stays its own.

    facts: what the folder must say of itself. verify: read each file once and compare its SHA-256; else only
    sizes, shapes and dtypes are compared. Raises ShardError, which names `what`.
    """
    folder = root / entry["folder"]
    found = read_json(folder / ARRAYS, what)
    for key, value in facts.items():
        if found.get(key) != value:
            raise ShardError(f"{what}: {folder}: expected {key} {value!r}, got {found.get(key)!r}")
    if sha256_of(folder / ARRAYS) != entry["sha256"]:
        raise ShardError(f"{what}: {folder / ARRAYS} is not the file that the manifest names")
    return {key: _mapped(folder, file, verify, what) for key, file in found["arrays"].items()}


def _mapped(folder: Path, entry: Mapping[str, Any], verify: bool, what: str) -> np.ndarray:
    path = folder / entry["file"]
    if not path.is_file():
        raise ShardError(f"{what}: {path} is missing")
    if path.stat().st_size != entry["bytes"]:
        raise ShardError(f"{what}: {path}: expected {entry['bytes']} bytes, got {path.stat().st_size}")
    if verify and sha256_of(path) != entry["sha256"]:
        raise ShardError(f"{what}: {path} is damaged: its SHA-256 is another")
    try:
        array = np.load(path, mmap_mode="c", allow_pickle=False)
    except ValueError as error:
        raise ShardError(f"{what}: {path} is damaged: {error}") from error
    if list(array.shape) != entry["shape"] or array.dtype.str != entry["dtype"]:
        raise ShardError(
            f"{what}: {path}: expected {entry['dtype']} {entry['shape']}, got {array.dtype.str} "
            f"{list(array.shape)}"
        )
    return array.view(np.ndarray)


def remove_unnamed(root: Path, named: set[str]) -> None:
    """Remove the folders of older saves."""
    for path in root.glob("shard-*"):
        if path.name not in named:
            shutil.rmtree(path, ignore_errors=True)
