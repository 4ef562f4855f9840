"""Rows of a table in a Redis server, where programs that serve look them up while another trains (extra
`redis`).

A table `name` takes these keys: `name:meta`, a hash with dim, dtype and the version; `name:current`, the
generation in use; `name:<generation>:<id>`, a row's numbers, little-endian; `name:lock`, while a
program replaces the table.

A change is seen whole or not at all: `put` and `remove` are one transaction of the server, and so is every
`get`; `replace` writes a generation beside the one in use and then changes the one key that names it. So
answers of one call belong to one version.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..engine.tensor import Tensor
from ..kernels.cpu_embedding_watch import hashes
from .reading import Table, table_of
from .redis_connection import Connection, RowsUnavailable

DTYPES: dict[str, np.dtype] = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2")}
LOCK_SECONDS = 60  # after which a replacement that has stopped gives way; each batch begins them anew
TRIES = 20  # of a change that another program's comes between


class RedisRows:
    """Rows [dim] of int64 ids in a Redis server.

    url: "redis://host:6379/0", "rediss://…" or "unix:///path/to/socket". name: of the table; one server holds
    many. dtype: of what lies there, "float32" or "float16" (half the memory; about 3 decimal digits); rows
    come back as float32. batch: rows a command, so that none occupies the server for long. atomic: the most
    rows of one `put`, `remove` or `get`, as the server keeps what a transaction sends until it is whole.
    timeout: seconds to wait for an answer.

    Raises ValueError where the name is another table's (another dim or dtype), RowsUnavailable (a
    ConnectionError) when the server is away, ImportError without the client. Ask from several threads at once
    as you like.
    """

    def __init__(
        self,
        url: str,
        dim: int,
        *,
        name: str = "table",
        dtype: str = "float32",
        batch: int = 1024,
        atomic: int = 1 << 18,
        timeout: float = 5.0,
    ) -> None:
        if dim < 1 or batch < 1 or atomic < batch or not timeout > 0:
            raise ValueError(
                "dim, batch, atomic, timeout: expected 1 or more, atomic no less than batch, and some time, "
                "got"
                f" {dim}, {batch}, {atomic}, {timeout}"
            )
        if dtype not in DTYPES:
            raise ValueError(f"dtype: expected one of {', '.join(DTYPES)}, got {dtype!r}")
        if not name or any(c in name for c in ":*?[]\\ \n"):
            raise ValueError(f"name: expected one without spaces and : * ? [ ] \\, got {name!r}")
        self.dim, self.name, self.batch, self.atomic, self.timeout = dim, name, batch, atomic, timeout
        self._kind = DTYPES[dtype]
        self._meta, self._current, self._lock = f"{name}:meta", f"{name}:current", f"{name}:lock"
        self._connection = Connection(url, timeout)
        self._server, self._shown = self._connection.server, self._connection.shown
        self._asked = self._connection.asked
        self._generation = self._asked(lambda: self._begin(dtype))
        # Ids, ascending, what their rows hash to, and the version that the server had then.
        self._pushed: tuple[np.ndarray, np.ndarray, int] | None = None

    def _begin(self, dtype: str) -> int:
        """Enter the table where there is none; the generation in use."""
        pipe = self._server.pipeline(transaction=True)
        for key, value in (("dim", self.dim), ("dtype", dtype), ("version", 0), ("generations", 0)):
            pipe.hsetnx(self._meta, key, value)
        pipe.setnx(self._current, 0)
        pipe.hmget(self._meta, "dim", "dtype")
        pipe.get(self._current)
        *_, (known_dim, known_dtype), current = pipe.execute()
        if int(known_dim) != self.dim or known_dtype.decode() != dtype:
            raise ValueError(
                f"{self._shown} has a table {self.name!r} with rows of {int(known_dim)} "
                f"{known_dtype.decode()},"
                f" expected {self.dim} {dtype}; give another name, or clear() the old one"
            )
        return int(current)

    # --- rows by id ---

    def find(self, ids: Any) -> tuple[np.ndarray, np.ndarray]:
        """(rows float32 [n, dim], there bool [n]): zeros where the id has no row. All of one version. ids:
        int64 [n]."""
        asked = self._ids(ids, many=False)
        found = self._asked(lambda: self._fetch(asked))
        there = np.array([value is not None for value in found], bool)
        width = self.dim * self._kind.itemsize
        for number, value in enumerate(found):
            if value is not None and len(value) != width:
                raise ValueError(
                    f"{self._shown}: expected {width} bytes a row, got {len(value)} for the id "
                    f"{asked[number]}"
                )
        rows = np.zeros((len(asked), self.dim), np.float32)
        whole = b"".join(value for value in found if value is not None)
        rows[there] = np.frombuffer(whole, self._kind).reshape(-1, self.dim)
        return rows, there

    def get(self, ids: Any) -> np.ndarray:
        """Rows float32 [n, dim]; zeros for an id without one, as in a DynamicEmbedding that does not
        train."""
        return self.find(ids)[0]

    def _fetch(self, ids: np.ndarray) -> list[bytes | None]:
        while True:
            believed = self._generation  # another thread may learn of a newer one meanwhile
            pipe = self._server.pipeline(transaction=True)
            pipe.get(self._current)
            for part in self._parts(ids):
                pipe.mget([self._key(key, believed) for key in part.tolist()])
            current, *found = pipe.execute()
            self._generation = self._in_use(current)
            if int(current) == believed:
                return [value for part in found for value in part]

    def put(self, ids: Any, rows: Any) -> int:
        """Set the rows of these ids, all at once; returns the version they make. rows: [n, dim], finite.

        When the server is lost on the way, either all rows were taken or none; to put them again does no
        harm. Raises ValueError for more than `atomic` rows (`replace` has no bound), ids that come twice, and
        rows that do not fit, or are too large for float16.
        """
        known = self._ids(ids, many=False)
        values = self._bytes(rows, len(known))
        if len(np.unique(known)) != len(known):
            raise ValueError(f"ids: expected different ones, {len(known) - len(np.unique(known))} come again")
        return self._changed(known, values, known[:0])

    def remove(self, ids: Any) -> int:
        """Take the rows of these ids away, all at once; returns the version that makes. Ids without one are
        passed over."""
        known = self._ids(ids, many=False)
        return self._changed(known[:0], [], known)

    def _changed(self, ids: np.ndarray, values: list[bytes], gone: np.ndarray) -> int:
        """Set some rows and take others away, in one transaction on the generation in use."""

        def attempt() -> int:
            for _ in range(TRIES):
                with self._server.pipeline(transaction=True) as pipe:
                    try:
                        pipe.watch(self._current)
                        current = self._generation = self._in_use(pipe.get(self._current))
                        pipe.multi()
                        for start in range(0, len(ids), self.batch):
                            pipe.mset(self._entries(ids, values, start, current))
                        for part in self._parts(gone):
                            pipe.unlink(*(self._key(key, current) for key in part.tolist()))
                        pipe.hincrby(self._meta, "version", 1)
                        return int(pipe.execute()[-1])
                    except self._connection.errors.WatchError:  # the table was replaced in between
                        continue
            raise RowsUnavailable(f"{self._shown}: {self.name!r} is being replaced all the time")

        return self._asked(attempt)

    def _entries(self, ids: np.ndarray, values: list[bytes], start: int, generation: int) -> dict[str, bytes]:
        """One batch of keys and rows."""
        keys = (self._key(key, generation) for key in ids[start : start + self.batch].tolist())
        return dict(zip(keys, values[start : start + self.batch], strict=True))

    def _in_use(self, current: bytes | None) -> int:
        if current is None:
            raise ValueError(f"{self._shown}: the table {self.name!r} was cleared; open it anew")
        return int(current)

    @property
    def version(self) -> int:
        """Changes since the table was made."""
        return self._in_use(self._asked(lambda: self._server.hget(self._meta, "version")))

    # --- whole tables ---

    def replace(self, source: Any) -> int:
        """Let the table have the rows of `source` and no others; returns the version that makes.

        source: an embedding layer, an array or Tensor [n, dim], or an iterator of (ids, rows), one block
        after the other; each id once. However many there are: who looks rows up sees the old table until all
        are there, so the server needs memory for both. One program replaces at a time; ValueError when
        another does, or did so and was killed within the last minute. A replacement that was killed leaves
        the old table, and rows that the next one takes away.
        """
        blocks = self._blocks(source)
        self._in_use(self._asked(lambda: self._server.get(self._current)))
        token = secrets.token_hex(8)
        if not self._asked(lambda: self._server.set(self._lock, token, nx=True, ex=LOCK_SECONDS)):
            raise ValueError(f"{self._shown}: {self.name!r} is being replaced by another program")
        try:
            made = self._asked(lambda: self._server.hincrby(self._meta, "generations", 1))
            for ids, rows in blocks:
                known, values = self._ids(ids), self._bytes(rows, len(ids))
                for start in range(0, len(known), self.batch):
                    self._stage(self._entries(known, values, start, made))
            version = self._asked(lambda: self._switch(made, token))
        except BaseException:
            self._release(token)
            raise
        self._asked(self._sweep)
        self._release(token)
        return version

    def _stage(self, entries: dict[str, bytes]) -> None:
        pipe = self._server.pipeline(transaction=False)
        pipe.mset(entries)
        pipe.expire(self._lock, LOCK_SECONDS)
        self._asked(pipe.execute)

    def _switch(self, made: int, token: str) -> int:
        with self._server.pipeline(transaction=True) as pipe:
            pipe.watch(self._lock)
            holder = pipe.get(self._lock)
            if holder is None or holder.decode() != token:
                raise ValueError(
                    f"{self._shown}: another program began to replace {self.name!r}; the old table stays"
                )
            pipe.multi()
            pipe.set(self._current, made)
            pipe.hincrby(self._meta, "version", 1)
            try:
                version = int(pipe.execute()[-1])
            except self._connection.errors.WatchError as error:
                raise ValueError(f"{self._shown}: another program began to replace {self.name!r}") from error
        self._generation = made
        return version

    def _sweep(self) -> None:
        """Take away the rows of the generations before the one in use: the last table, and what was
        killed."""
        used, gone = self._generation, []
        for key in self._server.scan_iter(match=f"{self.name}:*:*", count=self.batch):
            if int(key.split(b":")[1]) < used:
                gone.append(key)
            if len(gone) >= self.batch:
                self._server.unlink(*gone)
                gone.clear()
        if gone:
            self._server.unlink(*gone)

    def _release(self, token: str) -> None:
        """Give the lock back, if it is ours; when the server is away, it runs out by itself."""
        try:
            if self._server.get(self._lock) == token.encode():
                self._server.delete(self._lock)
        except self._connection.errors.RedisError:
            return

    def clear(self) -> None:
        """Take the table away, its name too."""

        def run() -> None:
            self._server.unlink(self._current, self._meta)
            for key in self._server.scan_iter(match=f"{self.name}:*", count=self.batch):
                self._server.unlink(key)

        self._asked(run)
        self._pushed = None

    def __len__(self) -> int:
        """Rows there are; counted by walking over the server's keys."""
        current = self._in_use(self._asked(lambda: self._server.get(self._current)))
        pattern = f"{self.name}:{current}:*"
        # A walk may come by a key twice while the server's table of keys grows.
        return len(self._asked(lambda: set(self._server.scan_iter(match=pattern, count=self.batch))))

    # --- the home of a layer's rows ---

    def push(self, layer: Any) -> int:
        """Bring the server what changed in a table since the last push of this object; returns how many rows
        went.

        The first push, and one after another program's change, replaces the table. A later one reads all
        rows, compares their hashes (64 bits, at 16 bytes of memory a row here; one change in 2^32 is missed)
        and sends those that differ: so rows count too that an optimizer moved without a gradient. Ids that
        the layer has lost are taken away. More changes than `atomic` replace the table again.
        """
        table = table_of(layer, "layer")
        if table.dim != self.dim:
            raise ValueError(f"layer: expected rows of {self.dim}, got {table.dim}")
        ids, hashed = self._hashed(table)
        before, self._pushed = self._pushed, None  # unknown, should the server be lost now
        version = self.version
        if before is not None and before[2] != version:  # another program has changed the table
            before = None
        if before is None:
            changed, lost = ids, ids[:0]
        else:
            place = np.searchsorted(before[0], ids)
            known = place < len(before[0])
            known[known] = before[0][place[known]] == ids[known]
            same = known.copy()
            same[known] = before[1][place[known]] == hashed[known]
            changed, lost = ids[~same], np.setdiff1d(before[0], ids, assume_unique=True)
        if before is None or len(changed) + len(lost) > self.atomic:
            version = self.replace(table)
        elif len(changed) or len(lost):
            version = self._changed(changed, self._bytes(table.values(changed), len(changed)), lost)
        self._pushed = (ids, hashed, version)
        return len(changed)

    def pull(self, layer: Any, ids: Any) -> int:
        """Set the rows of these ids in a layer from the server; returns how many it had. A DynamicEmbedding
        gets the ids that are new to it; the rows of ids that the server lacks stay as they are."""
        table = table_of(layer, "layer")
        if table.dim != self.dim:
            raise ValueError(f"layer: expected rows of {self.dim}, got {table.dim}")
        asked = np.unique(self._ids(ids))
        below = table.count if table.numbered else getattr(layer, "num_embeddings", None)
        if below is not None and len(wrong := asked[(asked < 0) | (asked >= below)]):
            raise ValueError(f"ids: expected 0 to {below - 1}, got {int(wrong[0])}")
        taken = 0
        for start in range(0, len(asked), self.atomic):
            some = asked[start : start + self.atomic]
            rows, there = self.find(some)
            table.put(some[there], rows[there])
            taken += int(there.sum())
        return taken

    def _hashed(self, table: Table) -> tuple[np.ndarray, np.ndarray]:
        """(ids, ascending, a number of what each row is on the server)."""
        ids, found = np.empty(table.count, np.int64), np.empty(table.count, np.uint64)
        for start, stop in table.blocks():
            ids[start:stop] = table.ids(start, stop)
            found[start:stop] = hashes(self._rounded(table.read(start, stop)), np.arange(stop - start))
        if not table.numbered:
            order = np.argsort(ids)
            ids, found = ids[order], found[order]
        return ids, found

    # --- checks and words for errors ---

    def _key(self, number: int, generation: int) -> str:
        return f"{self.name}:{generation}:{number}"

    def _parts(self, ids: np.ndarray) -> Iterator[np.ndarray]:
        return (ids[start : start + self.batch] for start in range(0, len(ids), self.batch))

    def _ids(self, ids: Any, many: bool = True) -> np.ndarray:
        found = np.asarray(ids.numpy() if isinstance(ids, Tensor) else ids)
        if not found.size:
            return np.empty(0, np.int64)
        if found.ndim != 1 or found.dtype.kind not in "iu":
            raise TypeError(
                f"ids: expected integers [n], got shape {list(found.shape)} and dtype {found.dtype}"
            )
        if not many and len(found) > self.atomic:
            raise ValueError(f"ids: expected at most {self.atomic} at once (see `atomic`), got {len(found)}")
        return found.astype(np.int64)

    def _rounded(self, rows: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):  # too large values are reported below, by their place
            return np.ascontiguousarray(rows, self._kind)

    def _bytes(self, rows: Any, count: int) -> list[bytes]:
        given = np.asarray(rows.numpy() if isinstance(rows, Tensor) else rows)
        if given.shape != (count, self.dim) or given.dtype.kind not in "fiu":
            raise ValueError(
                f"rows: expected numbers [{count}, {self.dim}], got shape {list(given.shape)} and dtype "
                f"{given.dtype}"
            )
        kept = self._rounded(given)
        bad = np.flatnonzero(~np.isfinite(kept).all(1))
        if len(bad):
            raise ValueError(
                f"rows[{bad[0]}]: expected finite numbers that {self._kind.name} can hold, got others"
            )
        return [row.tobytes() for row in kept]

    def _blocks(self, source: Any) -> Iterable[tuple[np.ndarray, np.ndarray]]:
        if isinstance(source, Iterator):
            return source
        table = table_of(source)
        if table.dim != self.dim:
            raise ValueError(f"source: expected rows of {self.dim}, got {table.dim}")
        return ((table.ids(start, stop), table.read(start, stop)) for start, stop in table.blocks())

    def close(self) -> None:
        """Let the connections go."""
        self._server.close()

    def __enter__(self) -> RedisRows:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"RedisRows({self._shown!r}, {self.dim}, name={self.name!r}, dtype={self._kind.name!r})"
