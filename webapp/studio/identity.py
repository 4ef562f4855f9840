"""Who makes a request, and whose account this process runs under: the names of leases, jobs and marks.

In a personal Studio both are the user of this machine, who may do everything. Under JupyterHub each learner has a server;
its requests come from the Hub's users, with the Hub's groups. A class has two groups, `sampan-<class>-learners` and
`sampan-<class>-teachers`.
"""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Role = Literal["learner", "teacher", "admin"]
_GROUP = re.compile(r"sampan-[a-z0-9-]+-(learner|teacher)s")


@dataclass(frozen=True)
class User:
    """A user, with the roles that the Hub's groups give. A name of "" is nobody: not logged in."""

    name: str
    roles: frozenset[Role] = frozenset()
    groups: frozenset[str] = frozenset()

    @property
    def admin(self) -> bool:
        """Whether this user may see and stop all sessions of the server."""
        return "admin" in self.roles

    @property
    def teaches(self) -> bool:
        """Whether this user may open the pages of a teacher."""
        return not self.roles.isdisjoint(("teacher", "admin"))

    def teaches_in(self, class_name: str) -> bool:
        """Whether this user teaches that class, or administers the Hub."""
        return self.admin or group(class_name, "teacher") in self.groups


NOBODY = User("")


def under_hub() -> bool:
    """Whether JupyterHub started this process, or a server that it started."""
    return bool(os.environ.get("JUPYTERHUB_USER"))


def local() -> User:
    """The user of this process: the learner whose server it is under JupyterHub, else the user of this machine, who has
    every role."""
    if under_hub():
        return User(os.environ["JUPYTERHUB_USER"], frozenset({"learner"}))
    return User(getpass.getuser(), frozenset({"learner", "teacher", "admin"}))


def of_hub(model: Mapping[str, Any]) -> User:
    """The user that JupyterHub's REST API describes: `name`, `groups`, `admin`."""
    groups = frozenset(model.get("groups") or ())
    roles = {found[1] for group in groups if (found := _GROUP.fullmatch(group))}
    if model.get("admin"):
        roles.add("admin")
    return User(model["name"], frozenset(roles), groups)  # type: ignore[arg-type]  # _GROUP allows no other role


def of_request(current_user: Any) -> User:
    """The user of a request, from `current_user` of its handler: nobody if it is None."""
    if not current_user:
        return NOBODY
    model = getattr(current_user, "hub_user", None)
    return local() if model is None else of_hub(model)


def group(class_name: str, role: Literal["learner", "teacher"]) -> str:
    """The Hub's group of a class's learners or teachers."""
    return f"sampan-{class_name}-{role}s"
