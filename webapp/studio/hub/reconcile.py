"""The Hub's database after a change of the roster: JupyterHub itself only adds people, members of groups and administrators.

Without this, who has left the class could still log in, and who no longer teaches would keep the teachers' pages.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from jupyterhub import orm

from studio.identity import group

from .roster import Person, named


def reconcile(database: Path, class_name: str, people: Iterable[Person]) -> list[str]:
    """Removes from the Hub's database what the roster does not say, before the Hub starts; returns who was removed, with
    their tokens and sessions. Does nothing if there is no database yet."""
    if not database.exists():
        return []
    everyone = list(people)
    members = {person.name for person in everyone}
    wanted = {
        group(class_name, "teacher"): set(named(everyone, "teacher")),
        group(class_name, "learner"): set(named(everyone, "learner")),
    }
    admins = set(named(everyone, "admin"))
    sessions = orm.new_session_factory(f"sqlite:///{database}")
    db = sessions()
    try:
        removed = [user for user in db.query(orm.User) if user.name not in members]
        names = sorted(user.name for user in removed)
        for user in removed:
            db.delete(user)
        for user in db.query(orm.User):
            if user.name not in admins:
                user.admin = False
                user.roles = [role for role in user.roles if role.name != "admin"]
        for found in db.query(orm.Group):
            found.users = [user for user in found.users if user.name in wanted.get(found.name, members)]
        db.commit()
    finally:
        engine = db.get_bind()
        db.close()
        engine.dispose()
    return names
