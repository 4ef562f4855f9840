"""After a change of the roster the Hub's database has only what the roster says."""

from __future__ import annotations

from pathlib import Path

import pytest

orm = pytest.importorskip("jupyterhub.orm", reason="needs the extra `hub`")

from studio.hub.reconcile import reconcile  # noqa: E402  it imports jupyterhub
from studio.hub.roster import Person  # noqa: E402


def test_who_left_is_gone_and_who_stopped_teaching_does_not_teach(tmp_path: Path) -> None:
    database = tmp_path / "jupyterhub.sqlite"
    assert reconcile(database, "7b", []) == [] and not database.exists()
    db = orm.new_session_factory(f"sqlite:///{database}")()
    users = {name: orm.User(name=name) for name in ("ada", "bob", "tia", "max", "eve")}
    admin, member = orm.Role(name="admin"), orm.Role(name="user")
    for name, user in users.items():
        user.admin = name in ("max", "tia")
        user.roles = [member, admin] if user.admin else [member]
    groups = {
        "sampan-7b-teachers": ("tia", "bob"),
        "sampan-7b-learners": ("ada", "eve"),
        "choir": ("ada", "eve"),
    }
    db.add(orm.OAuthClient(identifier="jupyterhub"))  # tokens that a person asks for belong to it
    db.add_all(
        [*users.values(), *(orm.Group(name=g, users=[users[n] for n in m]) for g, m in groups.items())]
    )
    db.commit()
    tokens = {name: users[name].new_api_token() for name in ("ada", "eve")}
    assert orm.APIToken.find(db, tokens["eve"]) is not None
    engine = db.get_bind()
    db.close()
    engine.dispose()

    # Eve has left, Bob learns again, Tia only teaches.
    people = [Person("ada"), Person("bob"), Person("tia", role="teacher"), Person("max", role="admin")]
    assert reconcile(database, "7b", people) == ["eve"]
    db = orm.new_session_factory(f"sqlite:///{database}")()
    try:
        assert {user.name: user.admin for user in db.query(orm.User)} == {
            **{"ada": False, "bob": False, "tia": False, "max": True}
        }
        assert {user.name for user in db.query(orm.User) if admin.name in [r.name for r in user.roles]} == {
            "max"
        }
        found = {group.name: {user.name for user in group.users} for group in db.query(orm.Group)}
        assert found == {"sampan-7b-teachers": {"tia"}, "sampan-7b-learners": {"ada"}, "choir": {"ada"}}
        assert orm.APIToken.find(db, tokens["ada"]) is not None
        assert orm.APIToken.find(db, tokens["eve"]) is None
    finally:
        engine = db.get_bind()
        db.close()
        engine.dispose()
