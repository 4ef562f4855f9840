"""The store of leases at a class's service, for learners' servers: each call is one HTTP request with the learner's token of
the Hub. The service's side is `hub/leases.py`, which answers for that learner alone.
"""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from dataclasses import asdict
from functools import cached_property
from typing import Any

from studio.i18n import t

from . import machine as machines
from .lease import Ask, Holder, Impossible, Kind, Lease, OverQuota, Place, Refused, Ticket, Use
from .machine import Machine

TIMEOUT_S = 15.0
AGAIN_S = (
    0.2,
    0.5,
    1.0,
    2.0,
    3.0,
)  # pauses before further attempts: a service that was killed is back in seconds
_REFUSALS = {kind.__name__: kind for kind in (OverQuota, Impossible)}
_ERRORS = {"LookupError": LookupError, "ValueError": ValueError}


class Away(Refused, ConnectionError):
    """The service does not answer."""


class HttpStore:
    """`lease.Store` at a service. `address` ends with a slash, `token` is the Hub's for this learner.

    Its leases are this learner's: the owner of a request is the name that the Hub gives for the token. Of the leases and
    requests of others it shows the device and the times only. Raises `Away` if the service does not answer.
    """

    def __init__(self, address: str, token: str) -> None:
        self._address = f"{address}api/leases/"
        self._headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
        # No proxy: the service is on this machine.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    @cached_property
    def machine(self) -> Machine:
        """The service is on the same machine, with the same settings."""
        return machines.this_machine()

    def take(self, ask: Ask, ticket: str | None = None, holder: Holder | None = None) -> Lease | Place:
        told = self._call("take", ask=asdict(ask), ticket=ticket, holder=holder and asdict(holder))
        return Place(**told["place"]) if "place" in told else lease_of(told["lease"])

    def bind(self, lease: str, holder: Holder, by: Holder | None = None) -> None:
        asks = by or machines.holder(os.getpid())
        self._call("bind", lease=lease, holder=asdict(holder), by=asdict(asks))

    def release(self, lease: str) -> None:
        self._call("release", lease=lease)

    def leave(self, ticket: str) -> None:
        self._call("leave", ticket=ticket)

    def extend(self, lease: str, seconds: float) -> Lease:
        return lease_of(self._call("extend", lease=lease, seconds=seconds)["lease"])

    def leases(self, owner: str | None = None) -> list[Lease]:
        return [lease_of(one) for one in self._call("leases", owner=owner)["leases"]]

    def queue(self, owner: str | None = None) -> list[Ticket]:
        found = self._call("queue", owner=owner)["queue"]
        return [Ticket(**{**one, "ask": Ask(**one["ask"])}) for one in found]

    def uses(self, since: float, owner: str | None = None) -> list[Use]:
        found = self._call("uses", since=since, owner=owner)["uses"]
        return [Use(**{**one, "ask": Ask(**one["ask"])}) for one in found]

    def used(self, owner: str, since: float, kind: Kind = "cpu") -> float:
        return float(self._call("used", owner=owner, since=since, kind=kind)["seconds"])

    def left(self, owner: str, kind: Kind = "cpu") -> float | None:
        seconds = self._call("left", owner=owner, kind=kind)["seconds"]
        return None if seconds is None else float(seconds)

    def close(self) -> None:
        """It holds nothing open."""

    def _call(self, name: str, **values: Any) -> dict[str, Any]:
        body = json.dumps(values).encode()
        request = urllib.request.Request(self._address + name, body, self._headers, method="POST")
        for pause in (*AGAIN_S, None):
            try:
                with self._opener.open(request, timeout=TIMEOUT_S) as reply:
                    told: dict[str, Any] = json.load(reply)
                break
            except urllib.error.HTTPError as error:
                raise Away(
                    *away()
                ) from error  # it answers, but not as our service: told to the learner alike
            except (OSError, ValueError) as error:
                if pause is None:
                    raise Away(*away()) from error
                time.sleep(pause)
        if "refused" in told:
            raise _REFUSALS[told["refused"]](*told["words"])
        if "error" in told:
            raise _ERRORS[told["error"]](told["words"])
        return told


def away() -> tuple[str, str]:
    return t("compute.away", "en"), t("compute.away", "zh")


def lease_of(told: dict[str, Any]) -> Lease:
    holder = told["holder"] and Holder(**told["holder"])
    others = tuple(told.get("others", ()))
    return Lease(**{**told, "ask": Ask(**told["ask"]), "holder": holder, "others": others})
