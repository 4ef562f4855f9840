"""A growing table on disk: a folder with everything once, and what changed since, file by file.

`manifest.json` names the files that count, in order; it is replaced in one piece after they are on the disk.
A process that is killed in between leaves a file that no manifest names, which the next save removes. There
is one writer at a time; readers need not wait for it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..engine.tensor import Tensor
from ..kernels import cpu_embedding_hash as loops
from ..serialization import NoSuchFile, load, replacing, save

if TYPE_CHECKING:
    from .dynamic import DynamicEmbedding

FORMAT = 3
READ = (2, 3)  # 2 had no counts of the ids that wait for their row: they begin again
MANIFEST = "manifest.json"
MOST_FILES = 20  # then everything is written once more, so that loading stays quick
STATE = "state."  # before the names of an optimizer's state


class Saved(NamedTuple):
    """The newest file of a table, and the first look-up whose rows may have changed since."""

    folder: str
    file: str
    since: int


def write(layer: DynamicEmbedding, folder: str | Path, whole: bool = False) -> Path:
    """Write the rows that may have changed since the last `write` to this folder, or all of them; returns the
    new file.

    With each row go its place in the table, so that an optimizer's `state_dict` of the same moment fits
    again, and the state that the optimizer has of it; with all of them, the counts of ids that wait for a
    row. All are written where the folder is new or holds another table, where it has MOST_FILES files, after
    the step of a rule that moves rows without a gradient (the exact one of Adam or Momentum), and after
    the values of all were set. Raises OSError, and leaves what was there, when the disk is full.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        known: list[str] = _manifest(folder)["files"] if (folder / MANIFEST).exists() else []
        files, since, last, growth = [], 0, layer.saved, layer.growth
        # After another writer everything is written again.
        mine = last is not None and last.folder == str(folder) and known[-1:] == [last.file]
        if last is not None and mine and not (whole or growth.moved_all) and len(known) < MOST_FILES:
            files, since = known, last.since
        rows = layer.rows_seen_since(since)
        growth.settle()
        content = {
            "places": rows,
            "ids": layer.ids.data[rows],
            "rows": layer.weight.data[rows],
            "seen": layer.seen.data[rows],
            "last": layer.last.data[rows],
            "removed": np.concatenate([np.empty(0, np.int64), *layer.removed])
            if files
            else np.empty(0, np.int64),
            **{STATE + name: values[rows] for name, values in growth.states.items()},
        }
        counts = None if layer.sketch is None else layer.sketch.ravel()
        if counts is not None:
            changed = np.flatnonzero(counts != layer.sketch_saved if files else counts)
            content |= {"counters": changed, "counts": counts[changed].view(np.int16)}
        number = max((int(path.stem.split("-")[1]) for path in folder.glob("rows-*.safetensors")), default=0)
        name = f"rows-{number + 1:06}.safetensors"
        save({key: Tensor(value) for key, value in content.items()}, folder / name)
        files = [*files, name]
        facts = {
            "format": FORMAT,
            "embedding_dim": layer.embedding_dim,
            "lookups": layer.lookups,
            "steps": growth.steps,
            "files": files,
            "notes": layer.notes,
        }
        with replacing(folder / MANIFEST) as file:
            file.write(json.dumps(facts).encode())
        layer.saved = Saved(str(folder), name, growth.stepped_at + 1)
        layer.removed.clear()
        layer.sketch_saved = None if counts is None else counts.copy()
        growth.moved_all = False
        for path in folder.glob("rows-*.safetensors"):
            if path.name not in files:
                path.unlink()
    return folder / name


def read(layer: DynamicEmbedding, folder: str | Path) -> None:
    """Fill an empty table from a folder. Raises FileNotFoundError, ValueError for another table's folder or a
    file that was cut or changed, and MemoryError for more rows than the capacity; then the table stays empty.

    The state that an optimizer had of the rows is taken over by the first one that steps them, if it has the
    same."""
    folder = Path(folder)
    if len(layer):
        raise ValueError(f"load: expected an empty table, got one with {len(layer)} rows")
    facts = _manifest(folder)
    while True:
        if facts["embedding_dim"] != layer.embedding_dim:
            raise ValueError(
                f"{folder}: expected rows of {layer.embedding_dim}, got {facts['embedding_dim']}"
            )
        try:
            parts = [_part(folder / name, layer.embedding_dim) for name in facts["files"]]
            break
        except NoSuchFile:  # a writer has put all into one file meanwhile
            before, facts = facts, _manifest(folder)
            if facts == before:
                raise
    layer.growth.grow(max([int(part["places"].max(initial=-1)) + 1 for part in parts], default=0))
    if layer.sketch is not None:
        counts = layer.sketch.ravel()
        counts[:] = 0
        for part in parts:
            if "counters" in part:
                counts[part["counters"]] = part["counts"].view(np.uint16)
        layer.sketch_saved = counts.copy()
    names = [key for key in parts[-1] if key.startswith(STATE)] if parts else []
    states = {name.removeprefix(STATE): np.empty(layer.weight.shape, parts[-1][name].dtype) for name in names}
    have = np.zeros(len(layer.weight), bool)
    for part in parts:
        layer.free(part["removed"])
        layer.put(*(part[key] for key in ("places", "ids", "rows", "seen", "last")))
        have[part["places"]] = stated = bool(names) and all(name in part for name in names)
        for name in names if stated else ():
            states[name.removeprefix(STATE)][part["places"]] = part[name]
    rows = np.flatnonzero(have)
    layer.growth.found = ({name: values[rows] for name, values in states.items()}, rows) if names else None
    layer.growth.steps = int(facts["steps"])
    layer.lookups = layer.growth.moment = layer.growth.stepped_at = int(facts["lookups"])
    layer.notes = facts.get("notes", {})
    layer.saved = Saved(str(folder), facts["files"][-1], layer.lookups + 1)


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One writer at a time; what a dead one left half written goes."""
    with open(folder / ".lock", "wb") as lock:
        with contextlib.suppress(ImportError):  # Windows has none
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)  # the system opens it when its holder dies
        for path in folder.glob(".*.tmp"):
            path.unlink()
        yield


def _part(path: Path, width: int) -> dict[str, np.ndarray]:
    """What a file holds, whole and of one length."""
    part = load(path)
    try:
        found = {key: value.numpy() for key, value in part.items()}
        count = len(found["places"])
        wide = (key for key in found if key == "rows" or key.startswith(STATE))
        right = all(found[key].shape == (count,) for key in ("ids", "seen", "last"))
        right = right and all(found[key].shape == (count, width) for key in wide) and "rows" in found
        right = right and all(found[key].min(initial=0) >= 0 for key in ("places", "removed"))
        if "counters" in found:
            at, most = found["counters"], loops.SKETCH_ROWS * loops.SKETCH_WIDTH
            right = right and found["counts"].dtype == np.int16 and found["counts"].shape == at.shape
            right = right and at.min(initial=0) >= 0 and at.max(initial=0) < most
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: expected rows of a table, got something else ({error})") from error
    if not right:
        raise ValueError(
            f"{path}: expected {count} rows of {width}, got { ({k: v.shape for k, v in found.items()}) }"
        )
    return found


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.exists():
        raise NoSuchFile(f"{path}: there is none, so nothing was saved here")
    try:
        facts: dict[str, Any] = json.loads(path.read_text())
        known = facts["format"] in READ and all(isinstance(name, str) for name in facts["files"])
        known = known and all(isinstance(facts[key], int) for key in ("embedding_dim", "lookups", "steps"))
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: expected the manifest of a table, got something else ({error})") from error
    if not known or any(Path(name).name != name for name in facts["files"]):
        raise ValueError(
            f"{path}: expected format {' or '.join(map(str, READ))} and names of files beside it, got {facts}"
        )
    return facts
