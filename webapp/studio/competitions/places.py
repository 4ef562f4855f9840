"""A place of the machine for each notebook that is scored: a lease, after waiting in the queue like all others."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from studio import identity
from studio.compute import machine
from studio.compute.lease import Ask, Lease, Refused
from studio.compute.sql import SqlStore

from .competition import MOST_SECONDS

ASK_AGAIN_S = 1.0
LEASE_S = MOST_SECONDS + 300.0  # the start of the sandbox, and the metric
TITLE = "competitions"
log = logging.getLogger(__name__)


class Places:
    """For threads that score. `leases` opens their store, at the first notebook; `ended` is set when they are to stop
    waiting."""

    def __init__(self, leases: Callable[[], SqlStore], ended: threading.Event | None = None) -> None:
        self._open, self._ended = leases, ended or threading.Event()
        self._turn = threading.Lock()
        self._opened: SqlStore | None = None

    @property
    def _leases(self) -> SqlStore:
        with self._turn:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def close(self) -> None:
        """Closes the store."""
        if self._opened is not None:
            self._opened.close()

    @contextmanager
    def place(self) -> Iterator[bool]:
        """True: this process has a place until the end of the block. False: the machine refuses one, or `ended` is set."""
        lease = self._taken()
        try:
            yield lease is not None
        finally:
            if lease is not None:
                self._leases.release(lease.id)

    def _taken(self) -> Lease | None:
        ask = Ask(identity.local().name, "grading", TITLE, seconds=LEASE_S)
        holder = machine.holder(os.getpid())
        ticket = None
        try:
            while not isinstance(got := self._leases.take(ask, ticket, holder), Lease):
                ticket = got.ticket
                if self._ended.wait(ASK_AGAIN_S):
                    self._leases.leave(ticket)
                    return None
        except Refused as refusal:  # what waits is scored when the machine is set up for it
            log.error("no place for a notebook: %s", refusal.sentence)
            return None
        return got
