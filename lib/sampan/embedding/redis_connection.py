"""A Redis server's client, and words for what goes wrong with it (extra `redis`)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import urlsplit

T = TypeVar("T")


class RowsUnavailable(ConnectionError):
    """The server does not answer, or not in time."""


class Connection:
    """`server`: the client of a Redis server; `errors`: the classes of its exceptions; `shown`: the address
    as errors may show it. Nothing is sent before the first question.

    timeout: seconds to wait for an answer. Raises ValueError for an address of another kind, ImportError
    without the client.
    """

    def __init__(self, url: str, timeout: float) -> None:
        redis = _client()
        self.shown, self.timeout, self.errors = _without_password(url), timeout, redis.exceptions
        # One more attempt, at once: a connection that was idle may have been closed since. No change here is
        # harmed by that.
        retry = redis.retry.Retry(redis.backoff.NoBackoff(), 1)
        times = {"socket_timeout": timeout, "socket_connect_timeout": timeout}
        try:
            self.server = redis.Redis.from_url(url, retry=retry, **times)
        except ValueError as error:
            raise ValueError(f"url: expected redis://, rediss:// or unix://, got {self.shown!r}") from error

    def asked(self, call: Callable[[], T]) -> T:
        """What `call`, which talks with the server, returns.

        Raises RowsUnavailable when the server is away or too slow, PermissionError for a wrong user or
        password, MemoryError when its memory is full, OSError for a command that it refuses.
        """
        try:
            return call()
        except self.errors.AuthenticationError as error:
            raise PermissionError(
                f"{self.shown}: the server wants another user or password: {error}"
            ) from error
        except self.errors.TimeoutError as error:
            raise RowsUnavailable(
                f"{self.shown}: no answer within {self.timeout} s; is the server busy, or the timeout too "
                "short?"
            ) from error
        except self.errors.ConnectionError as error:
            raise RowsUnavailable(
                f"{self.shown}: no connection; is the server running (redis-server), and the address right? "
                f"{error}"
            ) from error
        except self.errors.ResponseError as error:
            said = str(error)[-200:]  # before it there may be all that was sent
            if "OOM" in str(error) or isinstance(error, getattr(self.errors, "OutOfMemoryError", ())):
                raise MemoryError(
                    f"{self.shown}: the server's memory is full (its maxmemory): {said}"
                ) from error
            raise OSError(f"{self.shown}: the server refused a command: {said}") from error


def _client() -> Any:
    try:
        for part in ("backoff", "retry"):
            import_module(f"redis.{part}")
        return import_module("redis")
    except ImportError as error:
        raise ImportError("rows in a Redis server need its client: pip install sampan[redis]") from error


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return parts._replace(netloc=f"…@{parts.netloc.rpartition('@')[2]}", query="").geturl()
