"""Marks and verdicts of exercises that are in another notebook of the course now: they move with their exercise.

A class that has released a notebook itself is graded by the version that it has released; nothing moves there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Table, insert, select, update

from studio.grading.release import check_id
from studio.moved import moves

from .classroom import COURSE, Classroom
from .outcomes import TABLE


def settle(connection: Connection, classroom: Classroom) -> None:
    """Brings a gradebook up to date, in the caller's transaction. No-op if nothing has to be moved."""
    for (old, new), slots in moves().items():
        if not (classroom.folder("source", COURSE) / f"{old}.ipynb").is_file():
            _move(connection, old, new, slots)


def _move(connection: Connection, old: str, new: str, slots: Iterable[str]) -> None:
    from nbgrader.api import Base

    tables = Base.metadata.tables
    names = {name for slot in slots for name in (check_id(slot), slot.replace(".", "-"))}
    notebook, cell, source = tables["notebook"], tables["base_cell"], tables["source_cell"]
    before = _notebook(connection, tables, old)
    if before is None:
        return
    inside = cell.c.notebook_id == before.id, cell.c.name.in_(names)
    cells = list(connection.scalars(select(cell.c.id).where(*inside)))
    if not cells:
        return
    after = _notebook(connection, tables, new)
    target = after.id if after is not None else uuid4().hex
    if after is None:
        told = {"id": target, "name": new, "assignment_id": before.assignment_id}
        connection.execute(insert(notebook).values(**told, kernelspec=before.kernelspec))
    connection.execute(update(cell).where(cell.c.id.in_(cells)).values(notebook_id=target))
    sources = source.c.notebook_id == before.id, source.c.name.in_(names)
    connection.execute(update(source).where(*sources).values(notebook_id=target))
    _submissions(connection, tables, before.id, target, cells)
    _verdicts(connection, tables["submitted_notebook"], before.id, target, new, set(slots))


def _notebook(connection: Connection, tables: Any, name: str) -> Any:
    """The row of a notebook of the course, or None."""
    notebook, assignment = tables["notebook"], tables["assignment"]
    joined = select(notebook).join(assignment, assignment.c.id == notebook.c.assignment_id)
    return connection.execute(
        joined.where(assignment.c.name == COURSE, notebook.c.name == name)
    ).one_or_none()


def _submissions(connection: Connection, tables: Any, before: str, target: str, cells: list[str]) -> None:
    """The marks and comments of each learner, and what a learner has handed in for the new notebook."""
    submitted = tables["submitted_notebook"]
    for row in connection.execute(select(submitted).where(submitted.c.notebook_id == before)).all():
        here = select(submitted.c.id).where(
            submitted.c.notebook_id == target, submitted.c.assignment_id == row.assignment_id
        )
        own = connection.execute(here).scalar()
        if own is None:
            own = uuid4().hex
            told = {**row._mapping, "id": own, "notebook_id": target, "late_submission_penalty": None}
            connection.execute(insert(submitted).values(**told))
        for name in ("grade", "comment"):
            table: Table = tables[name]
            marked = table.c.notebook_id == row.id, table.c.cell_id.in_(cells)
            connection.execute(update(table).where(*marked).values(notebook_id=own))


def _verdicts(
    connection: Connection, submitted: Table, before: str, target: str, new: str, slots: set[str]
) -> None:
    """Divides each verdict; a notebook that has one keeps it."""
    mine = submitted.alias()
    pairs = (
        select(TABLE.c.submitted_notebook, TABLE.c.told, mine.c.id)
        .join(submitted, submitted.c.id == TABLE.c.submitted_notebook)
        .join(mine, mine.c.assignment_id == submitted.c.assignment_id)
        .where(submitted.c.notebook_id == before, mine.c.notebook_id == target)
    )
    has = set(connection.scalars(select(TABLE.c.submitted_notebook)))
    for former, text, own in connection.execute(pairs).all():
        told = json.loads(text)
        moved = [one for one in told["exercises"] if one["id"] in slots]
        if own not in has and moved:
            text = json.dumps({**told, "notebook": new, "exercises": moved}, ensure_ascii=False)
            connection.execute(insert(TABLE).values(submitted_notebook=own, told=text))
        told["exercises"] = [one for one in told["exercises"] if one["id"] not in slots]
        changed = update(TABLE).where(TABLE.c.submitted_notebook == former)
        connection.execute(changed.values(told=json.dumps(told, ensure_ascii=False)))
