"""The leases of a class at its service: learners' servers share the machine through these calls (`compute/remote.py`).

The owner of a request is always the name that the Hub gives for the token. A learner binds, gives back and extends own
leases only, and only processes of the learner's account can hold one. What others have is shown without names and titles.
"""

from __future__ import annotations

import asyncio
import json
import os
import pwd
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, get_args

from tornado import web

from studio.compute.lease import Ask, Holder, Kind, Lease, Refused
from studio.compute.sql import SqlStore

from .calls import Call
from .desk import ServiceDesk

SOMEBODY = "·"  # the owner of what another learner has
MOST_BODY = 16 << 10
Values = dict[str, Any]


class Leases(Call):
    """POST /leases/NAME, where NAME is a method of `Store` and the body has its arguments as JSON."""

    @web.authenticated
    async def post(self, name: str) -> None:
        answer = ANSWERS[name]
        try:
            values = json.loads(self.request.body) if len(self.request.body) <= MOST_BODY else None
            if not isinstance(values, dict):
                raise ValueError("expected an object")
            self.finish(await asyncio.to_thread(answer, self, values))
        except Refused as refusal:
            self.finish({"refused": type(refusal).__name__, "words": [refusal.sentence, refusal.sentence_zh]})
        except LookupError as error:
            self.finish({"error": "LookupError", "words": str(error)})
        except (ValueError, TypeError) as error:
            self.finish({"error": "ValueError", "words": str(error)})

    @property
    def store(self) -> SqlStore:
        return self.desk.store

    def mine(self, lease: Any) -> str:
        """The id of a lease of this learner. LookupError if there is none: one of another learner is no different."""
        if self.store.owner(str(lease)) != self.user.name:
            raise LookupError(f"there is no lease {lease!r} of {self.user.name}")
        return str(lease)

    def ticket(self, ticket: Any) -> str:
        """A ticket that is not another's: of this learner, or of nobody any more."""
        if self.store.owner(str(ticket)) not in (None, self.user.name):
            raise LookupError(f"there is no ticket {ticket!r} of {self.user.name}")
        return str(ticket)

    def holder(self, told: Values) -> Holder:
        """A process of the learner's account. ValueError for any other."""
        found = Holder(int(told["pid"]), float(told["started"]))
        try:
            owner = os.stat(f"/proc/{found.pid}").st_uid
        except FileNotFoundError:
            raise LookupError(f"there is no process {found.pid}") from None
        if owner != uid_of(self.user.name):
            raise ValueError(f"process {found.pid} does not belong to {self.user.name}")
        return found


def _take(call: Leases, told: Values) -> Values:
    ask = Ask(**{**told["ask"], "owner": call.user.name})
    if ask.purpose == "grading":
        raise ValueError("purpose: only the class's service grades")
    ticket = None if told["ticket"] is None else call.ticket(told["ticket"])
    found = call.store.take(ask, ticket, told["holder"] and call.holder(told["holder"]))
    return {"lease" if isinstance(found, Lease) else "place": asdict(found)}


def _bind(call: Leases, told: Values) -> Values:
    call.store.bind(call.mine(told["lease"]), call.holder(told["holder"]), call.holder(told["by"]))
    return {}


def _release(call: Leases, told: Values) -> Values:
    if call.store.owner(str(told["lease"])) == call.user.name:
        call.store.release(str(told["lease"]))
    return {}


def _leave(call: Leases, told: Values) -> Values:
    call.store.leave(call.ticket(told["ticket"]))
    return {}


def _extend(call: Leases, told: Values) -> Values:
    return {"lease": asdict(call.store.extend(call.mine(told["lease"]), float(told["seconds"])))}


def _leases(call: Leases, told: Values) -> Values:
    found = call.store.leases(told["owner"])
    shown = [
        one if _visible(call, one.ask) else replace(one, id=SOMEBODY, ask=_hidden(one.ask), holder=None)
        for one in found
    ]
    return {"leases": [asdict(one) for one in shown]}


def _queue(call: Leases, told: Values) -> Values:
    found = call.store.queue(told["owner"])
    shown = [
        one if _visible(call, one.ask) else replace(one, id=SOMEBODY, ask=_hidden(one.ask)) for one in found
    ]
    return {"queue": [asdict(one) for one in shown]}


def _visible(call: Leases, ask: Ask) -> bool:
    return call.teaches or ask.owner == call.user.name


def _hidden(ask: Ask) -> Ask:
    return replace(ask, owner=SOMEBODY, title="")


def _uses(call: Leases, told: Values) -> Values:
    owner = told["owner"] if call.teaches else call.user.name
    return {"uses": [asdict(one) for one in call.store.uses(float(told["since"]), owner)]}


def _used(call: Leases, told: Values) -> Values:
    return {"seconds": call.store.used(call.user.name, float(told["since"]), _kind(told))}


def _left(call: Leases, told: Values) -> Values:
    return {"seconds": call.store.left(call.user.name, _kind(told))}


def _kind(told: Values) -> Any:
    if told["kind"] not in get_args(Kind):
        raise ValueError(f"kind: expected cpu or gpu, got {told['kind']!r}")
    return told["kind"]


ANSWERS: dict[str, Callable[[Leases, Values], Values]] = {
    "take": _take,
    "bind": _bind,
    "release": _release,
    "leave": _leave,
    "extend": _extend,
    "leases": _leases,
    "queue": _queue,
    "uses": _uses,
    "used": _used,
    "left": _left,
}


def uid_of(name: str) -> int:
    """The account of this machine under which a learner's server runs. In a trial all run under the service's own."""
    trial = os.environ.get("SAMPAN_CLASS_ACCOUNTS") == "trial"
    return os.getuid() if trial else pwd.getpwnam(name).pw_uid


def routes(desk: ServiceDesk) -> list[tuple[Any, ...]]:
    return [(f"/leases/(?P<name>{'|'.join(ANSWERS)})", Leases, {"desk": desk})]
