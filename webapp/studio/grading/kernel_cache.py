"""Compiled kernels where nothing can be written: numba reads those that lie beside the library's source, and keeps
none. Named to numba by the environment of the learner's process (`bubble.py`)."""

from __future__ import annotations

from typing import Any

from numba.core import caching


class ReadOnly(caching.InTreeCacheLocator):
    def ensure_cache_path(self) -> None:
        """It need not be writable."""


def _keep_nothing(cache: Any, signature: Any, data: Any) -> None:
    """What is compiled for a learner lives as long as the learner's process."""


caching.Cache.save_overload = _keep_nothing  # type: ignore[method-assign]
