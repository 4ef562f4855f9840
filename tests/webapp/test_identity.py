"""Who makes a request: the user of this machine, or the Hub's, with the roles of the Hub's groups."""

from __future__ import annotations

import getpass
from types import SimpleNamespace

import pytest

from studio import identity
from studio.identity import NOBODY, User


def test_the_user_of_a_personal_studio_has_every_role(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    me = identity.local()
    assert me.name == getpass.getuser() and me.admin and me.teaches
    assert (
        identity.of_request(SimpleNamespace(username="anonymous")) == me
    )  # what a token's bearer is in Jupyter


def test_a_server_of_the_hub_belongs_to_a_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTERHUB_USER", "ada")
    assert identity.local() == User("ada", frozenset({"learner"}))
    # Without the Hub's word nobody gets more than that, not even on the teacher's own server.
    assert not identity.of_request(SimpleNamespace(username="root")).teaches


def test_before_the_login_there_is_nobody() -> None:
    assert identity.of_request(None) is NOBODY
    assert not NOBODY.admin and not NOBODY.teaches


@pytest.mark.parametrize(
    ("groups", "admin", "roles"),
    [
        ([], False, set()),
        (["sampan-7b-learners"], False, {"learner"}),
        (["sampan-7b-teachers", "choir"], False, {"teacher"}),
        (["sampan-7b-teachers", "sampan-8a-learners"], False, {"teacher", "learner"}),
        ([], True, {"admin"}),
        (["teachers", "sampan-teachers", "sampan-7b-teachers-of-fun", "x-sampan-7b-teachers"], False, set()),
    ],
)
def test_roles_come_from_the_groups_of_the_hub(groups: list[str], admin: bool, roles: set[str]) -> None:
    visitor = SimpleNamespace(hub_user={"name": "ada", "groups": groups, "admin": admin})
    user = identity.of_request(visitor)
    assert user == User("ada", frozenset(roles), frozenset(groups))  # type: ignore[arg-type]  # a table of cases
    assert user.teaches == bool({"teacher", "admin"} & roles)
    assert user.admin == admin


def test_the_groups_of_a_class_give_the_roles() -> None:
    for role in ("learner", "teacher"):
        model = {"name": "ada", "groups": [identity.group("7b", role)]}  # type: ignore[arg-type]  # a table of cases
        assert identity.of_hub(model).roles == {role}
