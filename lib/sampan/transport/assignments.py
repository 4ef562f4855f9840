"""Which actor of a Ray cluster has which shard: entries that all clients see and that are written once.

They lie in the key-value store of the cluster's head (`ray.experimental.internal_kv`), which can write a key
only where it is missing. So clients that see the end of an actor at the same time agree on the next one.
"""

from __future__ import annotations

import importlib
from typing import Any

NAMESPACE = "sampan"


def ray_module() -> Any:
    """The module `ray`. Raises ImportError without the extra."""
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ImportError(
            "shards in a cluster need Ray, which the extra cluster has: pip install 'sampan[cluster]'"
        ) from error


class Assignments:
    """name: of the actors that several clients share. An entry is (what, turn): the name of an actor; what: a
    shard's number, or another word. The last turn counts."""

    def __init__(self, name: str) -> None:
        ray_module()
        self.name = name
        self._store = importlib.import_module("ray.experimental.internal_kv")
        self._namespace = f"{NAMESPACE}-{name}"

    def assign(self, what: str, turn: int, actor: str) -> str:
        """Write an entry where it is missing; the name that it has then."""
        key = f"{what}/{turn:08}"
        if not self._store._internal_kv_put(key, actor, overwrite=False, namespace=self._namespace):
            return actor
        return self._read(key)

    def last(self, what: str) -> tuple[int, str]:
        """(turn, name) of the last entry; (-1, "") where there is none."""
        keys = self._keys(f"{what}/")
        return (int(keys[-1].rpartition("/")[2]), self._read(keys[-1])) if keys else (-1, "")

    def of_shards(self) -> set[str]:
        """The names that shards have had."""
        return {self._read(key) for key in self._keys("") if key.partition("/")[0].isdigit()}

    def all(self) -> set[str]:
        """All names."""
        return {self._read(key) for key in self._keys("")}

    def clear(self) -> None:
        """Remove all entries."""
        for key in self._keys(""):
            self._store._internal_kv_del(key, namespace=self._namespace)

    def _keys(self, prefix: str) -> list[str]:
        found = self._store._internal_kv_list(prefix, namespace=self._namespace)
        return sorted(key.decode() for key in found)

    def _read(self, key: str) -> str:
        """ "" where another client has just removed it."""
        return (self._store._internal_kv_get(key, namespace=self._namespace) or b"").decode()
