"""A numba cache for a read-only system: it reads the compiled kernels beside the library's source and stores none.
Set by the environment of the learner's process (`bubble.py`)."""

from __future__ import annotations

from typing import Any

from numba.core import caching


class ReadOnly(caching.InTreeCacheLocator):
    def ensure_cache_path(self) -> None:
        """It need not be writable."""


def _keep_nothing(cache: Any, signature: Any, data: Any) -> None:
    """Kernels compiled for a learner are not cached on disk."""


caching.Cache.save_overload = _keep_nothing  # type: ignore[method-assign]  # stops writes of the cache
